"""What an operation is told, as one model.

The command line, the API and its description, stored jobs, the pages and the reference read names,
descriptions, bounds and defaults here; none of them declares an option again.
"""

import math
import types
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Self, TypeGuard, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from backend.errors import SettingsError


@dataclass(frozen=True)
class CommandLine:
    """How a field is typed on the command line, in its annotation. A field without one is an option
    of its own name. `names`: instead of that name; `is_required`: there, whatever the default;
    `is_typed`: False for what only programs state."""

    names: tuple[str, ...] = ()
    metavar: str | None = None
    is_argument: bool = False
    is_required: bool = False
    is_typed: bool = True


ARGUMENT = CommandLine(is_argument=True)
FOLDER_OR_NAME = CommandLine(metavar="NAME_OR_DIR")
NOT_TYPED = CommandLine(is_typed=False)


@dataclass(frozen=True)
class InputFile:
    """The field names a file that is read, or several: where people log in, they lie where imports
    may. It is text or a path, a tuple or list of them, or None."""


INPUT_FILE = InputFile()


def switch(name: str) -> CommandLine:
    """A field that is also turned off by name: `--strict`, `--no-strict`."""
    return CommandLine(names=(f"--{name}/--no-{name}",))


@dataclass(frozen=True)
class Setting:
    """The field overrides the setting of this name, see `backend.settings`."""

    name: str


class Options(BaseModel):
    """The docstring of a model says what its operation does, that of a field what it means. A field
    that a model does not have is refused: misspelled, it would be ignored."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", allow_inf_nan=False, use_attribute_docstrings=True
    )

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        """Raises TypeError for a field of files whose values `input_files` could not tell."""
        super().__pydantic_init_subclass__(**kwargs)
        for name, field in cls.model_fields.items():
            if _names_files(field) and not _is_of_paths(field.annotation):
                raise TypeError(
                    f"{cls.__name__}.{name} names files, so it is str, Path, None, or a tuple or "
                    f"list of them, not {field.annotation}."
                )

    @classmethod
    def parse(cls, values: Mapping[str, Any]) -> Self:
        """Raises SettingsError, which names each wrong field."""
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            raise SettingsError(" ".join(map(_mistake, error.errors()))) from error

    def settings(self) -> dict[str, Any]:
        """The settings that are overridden, by name; None: not stated."""
        settings: dict[str, Any] = {}
        for name, field in type(self).model_fields.items():
            value = getattr(self, name)
            if isinstance(value, Options):
                settings |= value.settings()
            settings |= {m.name: value for m in field.metadata if isinstance(m, Setting)}
        return settings

    def input_files(self) -> list[str]:
        """The files that are to be read."""
        files: list[str] = []
        for name, field in type(self).model_fields.items():
            value = getattr(self, name)
            for each in value if isinstance(value, tuple | list) else (value,):
                if isinstance(each, Options):
                    files += each.input_files()
                elif each and _names_files(field):
                    files.append(str(each))
        return files


class ComposedOptions(Options):
    """The base of models that `create_model` makes of fields with descriptions: pydantic would look
    for their source in vain, through all modules."""

    model_config = ConfigDict(use_attribute_docstrings=False)


def command_line(field: FieldInfo) -> CommandLine:
    """How the field is typed."""
    return next((m for m in field.metadata if isinstance(m, CommandLine)), CommandLine())


def model_in(field: FieldInfo) -> type[Options] | None:
    """The model that is the field's type, or its type if it is not None; None for a field that is
    not typed."""
    if not command_line(field).is_typed:
        return None
    return next(filter(is_model, (field.annotation, *get_args(field.annotation))), None)


def is_model(kind: Any) -> TypeGuard[type[Options]]:
    return isinstance(kind, type) and issubclass(kind, Options)


def typed_names(model: type[Options]) -> set[str]:
    """The names of the parameters that a command has by this model: its typed fields, and those of
    a model within it in its place."""
    names: set[str] = set()
    for name, field in model.model_fields.items():
        if (inner := model_in(field)) is not None:
            names |= typed_names(inner)
        elif command_line(field).is_typed:
            names.add(name)
    return names


def _names_files(field: FieldInfo) -> bool:
    return INPUT_FILE in field.metadata or _is_marked(field.annotation)


def _is_marked(kind: Any) -> bool:
    """Whether a type within this one, such as `Annotated[str, INPUT_FILE] | None`, names files:
    pydantic keeps only what is said of the whole."""
    is_annotated = get_origin(kind) is Annotated and INPUT_FILE in get_args(kind)[1:]
    return is_annotated or any(map(_is_marked, get_args(kind)))


def _is_of_paths(kind: Any) -> bool:
    if get_origin(kind) is Annotated:
        return _is_of_paths(get_args(kind)[0])
    if get_origin(kind) in (tuple, list, Union, types.UnionType):
        return all(map(_is_of_paths, get_args(kind)))
    return kind in (str, Path, type(None), ...)


def parse_share(text: str) -> float:
    """The share of a dataset's pairs, in (0, 1], from text such as "20%". Raises SettingsError."""
    number = text.strip().removesuffix("%").strip()
    try:
        share = float(number) / 100
    except ValueError:
        share = math.nan
    if not text.strip().endswith("%") or not 0 < share <= 1:
        raise SettingsError(f"'{text}' is not a share of the pairs; give one like 20%.")
    return share


#: What a number has to be, by pydantic's name for the mistake.
_BOUNDS = {
    "greater_than": "above {gt}", "greater_than_equal": "at least {ge}",
    "less_than": "below {lt}", "less_than_equal": "at most {le}",
}  # fmt: skip


def _mistake(error: ErrorDetails) -> str:
    name = str(error["loc"][-1] if error["loc"] else "")[:80]
    value = str(error["input"])[:80].encode(errors="backslashreplace").decode()
    if error["type"] == "literal_error":
        return f"'{value}' is not a choice for {name}; use {error['ctx']['expected']}."
    if error["type"] == "extra_forbidden":
        return f"There is no option '{name}'."
    if bound := _BOUNDS.get(error["type"]):
        return f"{name} is {bound.format_map(error['ctx'])}, not {value}."
    if error["type"] == "string_unicode":
        return f"{name} is not text in UTF-8: '{value}'."
    if error["type"] == "value_error":
        return str(error["ctx"]["error"])
    if error["type"] == "missing":
        return f"{name} is missing."
    return f"{name}: {error['msg']}, not '{value}'."
