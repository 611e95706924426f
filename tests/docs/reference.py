"""The documentation's tables, from the program: `python -m tests.docs.reference` writes them.

Each stands between `<!-- generated: NAME -->` and `<!-- end -->` in a page of `docs/`.
"""

import inspect
import re
from collections.abc import Iterator, Sequence
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

import typer

from app import app
from backend import errors
from backend.settings import Settings, setting_names
from traced_ui import api
from traced_ui.keyboard import KEYS

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
_BLOCK = re.compile(r"(<!-- generated: ([\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)
#: `name: type = default  #: comment`, as settings are written.
_SETTING = re.compile(r"^    (\w+): [^\n]*?(?:#: (.+))?$", re.MULTILINE)


def commands() -> Iterator[tuple[str, Any]]:
    """Every command that can be called, by its full name, groups before their members."""

    def walk(name: str, command: Any) -> Iterator[tuple[str, Any]]:
        if name:
            yield name, command
        for part, member in getattr(command, "commands", {}).items():
            yield from walk(f"{name} {part}".strip(), member)

    yield from walk("", typer.main.get_command(app))


def global_options() -> list[str]:
    """The options that are given before the command, such as --quiet."""
    return options(typer.main.get_command(app))


def options(command: Any) -> list[str]:
    """The long names of its options, `--no-…` included."""
    return [
        name
        for parameter in command.params
        for name in (*parameter.opts, *parameter.secondary_opts)
        if name.startswith("--")
    ]


def endpoints() -> list[str]:
    """The names of the API's endpoints."""
    return list(api.TOOLS)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def _keys() -> str:
    return _table(
        ("Key", "Action"),
        [(_key(key.shown), _cell(key.description)) for key in KEYS],
    )


def _key(shown: str) -> str:
    return " or ".join(f"`{name}`" for name in shown.split(" or "))


def _settings() -> str:
    described = dict(_SETTING.findall(inspect.getsource(Settings)))
    rows = []
    for field in fields(Settings):
        if field.name not in setting_names():
            continue
        # Defaults that are paths of this machine are described by the comment alone.
        plain = field.default not in (None, MISSING, ()) and "/" not in str(field.default)
        default = f"`{field.default}`" if plain else ""
        text = (described.get(field.name) or "").replace("None: ", "default: ")
        rows.append((f"`TRACED_{field.name.upper()}`", default, _cell(text)))
    return _table(("Variable", "Default", "Meaning"), rows)


def _exit_statuses() -> str:
    rows = [
        (str(status), meaning[0].upper() + meaning[1:])
        for status, meaning in errors.EXIT_STATUSES.items()
    ]
    return _table(("Status", "Meaning"), rows)


def _commands() -> str:
    parts = []
    for name, command in commands():
        arguments = [p for p in command.params if p.param_type_name == "argument"]
        usage = " ".join([name, *(_named(a) for a in arguments)])
        part = f"### `{name}`\n\n{_cell(command.help or '')}\n\n`python app.py {usage}`\n"
        rows = [(f"`{_named(a)}`", _cell(a.help or "")) for a in arguments]
        for parameter in command.params:
            if parameter.param_type_name == "option":
                names = (*parameter.opts, *parameter.secondary_opts)
                value = (
                    "" if parameter.is_flag else f" {parameter.metavar or parameter.name.upper()}"
                )
                rows.append((f"`{' / '.join(names)}{value}`", _cell(parameter.help or "")))
        parts.append(part + ("\n" + _table(("Option", "Meaning"), rows) if rows else ""))
    return "\n" + "\n".join(parts)


def _named(argument: Any) -> str:
    name = argument.metavar or argument.name.upper()
    return name if argument.required else f"[{name}]"


def _api() -> str:
    rows = []
    for name in endpoints():
        function = getattr(api.Actions, name)
        parameters = [
            p.name if p.default is p.empty else f"{p.name}={p.default!r}"
            for p in inspect.signature(function).parameters.values()
            if p.name not in ("self", "request")
        ]
        summary = (inspect.getdoc(function) or "").split("\n\n")[0]
        rows.append((f"`/{name}`", f"`{', '.join(parameters)}`" if parameters else "",
                     _cell(summary)))  # fmt: skip
    return _table(("Endpoint", "Parameters", "What it does"), rows)


TABLES = {
    "api": _api,
    "commands": _commands,
    "exit-statuses": _exit_statuses,
    "keys": _keys,
    "settings": _settings,
}


def renewed(page: str) -> str:
    """The page with its tables as the program has them now."""
    return _BLOCK.sub(lambda block: block[1] + TABLES[block[2]]() + block[3], page)


def blocks(page: str) -> list[str]:
    """The names of the tables on a page."""
    return [block[2] for block in _BLOCK.finditer(page)]


if __name__ == "__main__":
    for path in sorted(DOCS.glob("*.md")):
        path.write_text(renewed(path.read_text(encoding="utf-8")), encoding="utf-8")
