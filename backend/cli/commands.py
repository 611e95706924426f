"""From options to commands: Typer reads a function's parameters; a model's fields become these."""

import inspect
import types
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin

import typer
from pydantic.fields import FieldInfo

from backend.cli.output import emit, open_workspace, progress, report_errors
from backend.operations.common_options import Common, Dataset, Source
from backend.operations.operation import Operation
from backend.options import CommandLine, Options, command_line, is_model, model_in, typed_names
from backend.progress import Progress
from backend.settings import load_settings

if TYPE_CHECKING:
    from backend.store import Store
    from backend.workspace import Workspace


@dataclass(frozen=True)
class CommandVariant:
    """More options of a command, and what it does with them.

    `run(command, arguments, options)`: `arguments`: those of the command's function by their names,
    which it may replace; `command()` does what the command does without these options. Both return
    the exit status, or None for 0."""

    command: str
    options: type[Options]
    run: Callable[[Callable[[], int | None], dict[str, Any], Any], int | None]


#: What is left to do after scoring; returns its report.
Continuation = Callable[[Progress], Any]


@dataclass(frozen=True)
class EarlyReport:
    """Nothing is scored: the command prints this report."""

    report: Any


@dataclass(frozen=True)
class ScoreStep:
    """What the command `score` does after scoring, if its options say so.

    `name`: of its report in --json. `begin(workspace, dataset, options)`: before scoring, checks
    what can be checked by then; returns the rest of the work, None if the options ask for none, or
    what to print instead of scoring.
    """

    name: str
    title: str
    options: type[Options]
    begin: Callable[["Workspace", int, Any], Continuation | EarlyReport | None]


@dataclass(frozen=True)
class ScoreFile:
    """What the command `score` writes to a file of another ending than its tables have.

    `name`: of its report in --json, null where none is written; `about`: what is in it, for the
    help. `write(store, dataset, out)`: after scoring; returns a report that says itself in words.
    `check(store, dataset, steps)`: before it, what can be checked by then; `steps`: the names of
    the score steps that follow."""

    name: str
    ending: str
    about: str
    write: "Callable[[Store, int, Path], Any]"
    check: "Callable[[Store, int, Collection[str]], None] | None" = None


@dataclass(frozen=True)
class Finding:
    """`state`: ok, warning or problem. `advice`: what to do, empty for ok."""

    what: str
    state: str
    message: str
    advice: str = ""


@dataclass(frozen=True)
class DoctorCheck:
    """What `doctor` examines besides (plug-ins of the group `checks`): `name`: no other's;
    `examine(options)`: what is found, nothing if the options ask for nothing."""

    name: str
    options: type[Options]
    examine: Callable[[Any], Iterable[Finding]]


def as_command(
    function: Callable[..., int | None],
    variants: Sequence[CommandVariant] = (),
) -> Callable[..., None]:
    """`function` for Typer: a parameter that is a model becomes its fields, and one that is
    annotated as such a field becomes one.

    The first of the `variants` comes first. What the function returns is the exit status; an error
    is printed and ends the program with its own. The help is the function's docstring, or that of
    the first model."""
    own_parameters = inspect.signature(function, eval_str=True).parameters
    models = {name: p.annotation for name, p in own_parameters.items() if is_model(p.annotation)}
    parameters: list[inspect.Parameter] = []
    for parameter in own_parameters.values():
        if parameter.name in models:
            parameters += _parameters(models[parameter.name])
        elif any(isinstance(m, FieldInfo) for m in get_args(parameter.annotation)):
            field = FieldInfo.from_annotation(parameter.annotation)
            if parameter.default is not parameter.empty:
                field = FieldInfo.from_annotated_attribute(parameter.annotation, parameter.default)
            parameters.append(_parameter(parameter.name, field, command_line(field)))
        else:
            parameters.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))

    for variant in variants:
        parameters += _parameters(variant.options)

    def command(**inputs: Any) -> None:
        with report_errors(bool(inputs.get("as_json"))):
            options = {name: model.parse(_values(model, inputs)) for name, model in models.items()}
            arguments = {name: options.get(name, inputs.get(name)) for name in own_parameters}
            run: Callable[[], int | None] = lambda: function(**arguments)  # noqa: E731
            for variant in reversed(variants):
                further = variant.options.parse(_values(variant.options, inputs))
                run = partial(variant.run, run, arguments, further)
            if status := run():
                raise typer.Exit(status)

    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__name__ = function.__name__
    command.__doc__ = function.__doc__ or inspect.getdoc(next(iter(models.values()), function))
    return command


def join_variant(parameters: Mapping[str, set[str]], variant: CommandVariant) -> None:
    """For `plugins.load`: a variant takes no name that its command has. `parameters`: the names by
    command; those of the variant are added."""
    taken, own = parameters.get(variant.command, set()), typed_names(variant.options)
    if clash := sorted(taken & own):
        raise ValueError(f"The command '{variant.command}' has an option '{clash[0]}' already.")
    taken |= own


def command_of(operation: Operation[Any], imports: bool = False) -> Callable[..., None]:
    """For `as_command`: an operation on a dataset that needs no more than its options. `imports`:
    the dataset may be a path, which is imported first."""

    def run(dataset: str, options: Any, common: Common) -> None:
        settings = load_settings({**common.settings(), **options.settings()})
        workspace = open_workspace(settings)
        dataset_id = (workspace.find_or_import if imports else workspace.find)(dataset)
        with progress(operation.title) as update:
            report = operation.run(workspace.jobs, dataset_id, options, update)
        emit(report, common.as_json, report.in_words())

    run.__annotations__ |= {"dataset": Source if imports else Dataset, "options": operation.options}
    run.__doc__ = operation.options.__doc__
    return run


def _parameters(model: type[Options], is_optional: bool = False) -> list[inspect.Parameter]:
    """The typed fields; those of a model within the model stand in its place. `is_optional`: the
    model itself is, so nothing is a default until one of its fields is typed."""
    parameters: list[inspect.Parameter] = []
    for name, field in model.model_fields.items():
        how = command_line(field)
        if (inner := model_in(field)) is not None:
            parameters += _parameters(inner, field.default is None)
        elif how.is_typed:
            parameters.append(_parameter(name, field, how, is_optional))
    return parameters


def _parameter(
    name: str, field: FieldInfo, how: CommandLine, is_optional: bool = False
) -> inspect.Parameter:
    kind = _plain(field.annotation)
    default = inspect.Parameter.empty
    if is_optional:
        default, kind = None, kind | None
    elif not (field.is_required() or how.is_required):
        default = list(field.default) if isinstance(field.default, tuple) else field.default
    about: dict[str, Any] = {
        "help": " ".join((field.description or "").split()),
        "metavar": how.metavar,
    }
    about |= {"min": _first_bound(field, "ge", "gt"), "max": _first_bound(field, "le", "lt")}
    names = how.names or (f"--{name.replace('_', '-')}",)
    info = typer.Argument(**about) if how.is_argument else typer.Option(*names, **about)
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, info]
    )


def _values(model: type[Options], inputs: Mapping[str, Any]) -> dict[str, Any]:
    """What was typed for the model. A model within it that is optional is there if one of its
    fields was typed."""
    values: dict[str, Any] = {}
    for name, field in model.model_fields.items():
        inner = model_in(field)
        if inner is None:
            if name in inputs and command_line(field).is_typed:
                values[name] = inputs[name]
            continue
        of_inner = _values(inner, inputs)
        if field.default is None:
            of_inner = {key: value for key, value in of_inner.items() if value is not None}
            values[name] = of_inner or None
        else:
            values[name] = of_inner
    return values


def _first_bound(field: FieldInfo, *names: str) -> float | None:
    """The first bound of these names; Typer has only inclusive ones, and the model checks again."""
    bounds = (getattr(m, name, None) for m in field.metadata for name in names)
    return next((bound for bound in bounds if bound is not None), None)


def _plain(kind: Any) -> Any:
    """The type as Typer knows it: a choice is text, which the model checks; several values are a
    list.

    >>> _plain(Literal["keep", "hide"] | None), _plain(tuple[int, ...])
    (str | None, list[int])
    """
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Literal:
        return str
    if origin is tuple:
        return list[inner[0]]  # type: ignore[valid-type]
    if origin in (Union, types.UnionType):
        kinds = {_plain(each) for each in inner if each is not type(None)}
        return (Path if Path in kinds else kinds.pop()) | None
    return kind
