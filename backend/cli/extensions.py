"""Commands from outside the product.

An installed package offers them under the entry-point group `traced_curator.commands`: each entry
point is a mapping of command functions by name. A checkout offers those of its `research` folder.
"""

import importlib
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import entry_points
from pathlib import Path

from rich.markup import escape

from backend.bundled import IS_CHECKOUT
from backend.cli.output import console

GROUP = "traced_curator.commands"
RESEARCH = Path(__file__).resolve().parents[2] / "research"

Commands = Mapping[str, Callable[..., None]]


def load_commands() -> dict[str, Callable[..., None]]:
    """Command functions by name. A package that cannot be imported is named and left out."""
    commands: dict[str, Callable[..., None]] = {}
    for name, load in _sources():
        try:
            commands |= load()
        except Exception as error:
            console.print(
                f"The commands of {escape(name)} are left out: {escape(str(error))}",
                highlight=False,
            )
    return commands


def _sources() -> Iterator[tuple[str, Callable[[], Commands]]]:
    if IS_CHECKOUT and RESEARCH.is_dir():
        yield "research", lambda: importlib.import_module("research.commands").COMMANDS
    for entry in entry_points(group=GROUP):
        yield entry.name, entry.load
