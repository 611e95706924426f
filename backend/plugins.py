"""Plug-ins: what other installed packages add, by entry points (docs/extending.md).

Each group holds objects of one type. One that cannot be imported or is of another type is named in
the log and by `doctor`, and left out. Our own features and the commands of `research` come in by
this door, and half a feature is named in the same way.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, TypeVar

from backend.bundled import IS_CHECKOUT

GROUPS = (
    "scorers", "embedding_scores", "captioners", "chat_models", "measures", "readers", "proposers",
    "formats", "operations", "pages", "criteria", "commands", "command_variants", "score_steps",
    "score_files", "notices", "tables", "export_choices", "export_steps", "mends", "parts",
    "actions", "filters", "pair_parts", "names", "endpoints", "similarity_kinds", "checks",
    "suggestion_sources", "row_forms", "tar_descriptions",
)  # fmt: skip
_PREFIX = "traced_curator."
#: The folder of the features, each with a `feature.py` that names what it adds.
FEATURES = Path(__file__).parent / "features"
_RESEARCH = EntryPoint("research", "research.commands:COMMANDS", f"{_PREFIX}commands")
#: Beside the product in a checkout only.
RESEARCH_FOLDER = Path(__file__).resolve().parents[1] / "research"

T = TypeVar("T")
log = logging.getLogger(f"traced.{__name__}")


@dataclass(frozen=True)
class Plugin:
    """`package`: that installed it, "" if it is ours; `problem`: why it is left out. `group` "": a
    feature of ours as a whole."""

    group: str
    name: str
    package: str
    value: Any = None
    problem: str = ""


def load(group: str, kind: type[T], join: Callable[[T], None] = lambda _: None) -> tuple[T, ...]:
    """The objects of a group, ours first, then by name; those of another type than `kind`, and
    those for which `join` raises, are left out. A group is imported once."""
    if group not in _LOADED:
        _LOADED[group] = tuple(_import(group, entry, kind, join) for entry in entries_of(group))
    return tuple(plugin.value for plugin in _LOADED[group] if not plugin.problem)


def entries_of(group: str) -> tuple[EntryPoint, ...]:
    """What a group names, not imported: our own first, then by name."""
    entries = [entry for entry in _of_features() if entry.group == _PREFIX + group]
    if group == "commands" and IS_CHECKOUT and RESEARCH_FOLDER.is_dir():
        entries.append(_RESEARCH)
    others = sorted(_of_packages()[group], key=lambda entry: entry.name)
    return (*entries, *others)


def are_offered() -> bool:
    """Whether any other package offers a plug-in."""
    return any(_of_packages().values())


@cache
def _of_packages() -> dict[str, list[EntryPoint]]:
    """What all installed packages offer, by group: one look at them is enough."""
    offered = entry_points()
    return {group: list(offered.select(group=_PREFIX + group)) for group in GROUPS}


def load_plugins() -> list[Plugin]:
    """The plug-ins of other packages, faulty ones included, as far as they were asked for."""
    return [plugin for group in _LOADED.values() for plugin in group if plugin.package]


def faulty_features() -> list[Plugin]:
    """What is wrong with our features: a part that cannot be imported, as far as it was asked for,
    or that is not there, as in a folder that was half deleted."""
    faulty = {(plugin.group, plugin.name): plugin for plugin in _features()[1]}
    for entry in _of_features():
        if not (FEATURES.parents[1] / f"{entry.module.replace('.', '/')}.py").is_file():
            group = entry.group.removeprefix(_PREFIX)
            problem = f"There is no {entry.module}: the folder is incomplete."
            faulty[group, entry.name] = Plugin(group, entry.name, "", problem=problem)
    for plugin in (plugin for group in _LOADED.values() for plugin in group):
        if plugin.problem and not plugin.package:
            faulty.setdefault((plugin.group, plugin.name), plugin)
    return list(faulty.values())


def _of_features() -> tuple[EntryPoint, ...]:
    """What the features that are there add."""
    return _features()[0]


def own_options(group: str) -> set[str]:
    """The options of `export` that our features add by this group, which is not imported for it: as
    their `feature.py` say, in `OPTIONS_OF_EXPORT`."""
    packages = {".".join(entry.module.split(".")[:3]) for entry in _of_features()}
    by_group = (
        getattr(import_module(f"{package}.feature"), "OPTIONS_OF_EXPORT", {})
        for package in packages
    )
    return {name for options in by_group for name in options.get(group, ())}


@cache
def _features() -> tuple[tuple[EntryPoint, ...], tuple[Plugin, ...]]:
    """What the features that are there add, and those that cannot say it."""
    entries: list[EntryPoint] = []
    faulty: list[Plugin] = []
    for feature in sorted(path.parent.name for path in FEATURES.glob("*/feature.py")):
        try:
            groups = import_module(f"backend.features.{feature}.feature").ENTRY_POINTS
            entries += [
                EntryPoint(name, value, _PREFIX + group)
                for group, values in groups.items()
                for name, value in values.items()
            ]
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
            faulty.append(Plugin("", feature, "", problem=problem))
            log.warning("the feature '%s' is left out: %s", feature, problem)
    return tuple(entries), tuple(faulty)


def _import(group: str, entry: EntryPoint, kind: type[T], join: Callable[[T], None]) -> Plugin:
    package = f"{entry.dist.name} {entry.dist.version}" if entry.dist is not None else ""
    plugin = Plugin(group, entry.name, package)
    try:
        value = entry.load()
        if isinstance(value, kind):
            join(value)
            plugin = replace(plugin, value=value)
        else:
            problem = f"It is a {type(value).__name__}, not a {kind.__name__}."
            plugin = replace(plugin, problem=problem)
    except Exception as error:  # of whatever its author wrote
        plugin = replace(plugin, problem=f"{type(error).__name__}: {error}")
    if plugin.problem:
        log.warning(
            "the plug-in '%s' (%s) is left out: %s", entry.name, package or "ours", plugin.problem
        )
    return plugin


#: What was imported, by group.
_LOADED: dict[str, tuple[Plugin, ...]] = {}
