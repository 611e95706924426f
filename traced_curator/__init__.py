"""TRACED Curator for programs: everything named here is stable (docs/extending.md).

    from traced_curator import Workspace, load_settings

    workspace = Workspace(load_settings({"data_directory": "curation"}))

Names are imported when they are used.
"""

import importlib
import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from backend.errors import TracedError as TracedError
    from backend.settings import Settings as Settings
    from backend.settings import load_settings as load_settings
    from backend.version import VERSION as VERSION
    from backend.workspace import ExportChoice as ExportChoice
    from backend.workspace import QueueFilter as QueueFilter
    from backend.workspace import Workspace as Workspace

#: Where each name is defined.
_MODULES = {
    "VERSION": "backend.version",
    "Workspace": "backend.workspace",
    "QueueFilter": "backend.workspace",
    "ExportChoice": "backend.workspace",
    "Settings": "backend.settings",
    "load_settings": "backend.settings",
    "TracedError": "backend.errors",
}
_HOME = Path(__file__).resolve().parents[1]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return getattr(importlib.import_module(_MODULES[name]), name)
    if name in _OF_FEATURES:
        return _OF_FEATURES[name].load()
    raise AttributeError(f"module 'traced_curator' has no attribute '{name}'")


def _check_folders() -> None:
    """Raise ImportError if another package takes the place of one of ours, which lie beside this
    one."""
    for name in ("backend", "db", "traced_ui"):
        spec = importlib.util.find_spec(name)
        folder = Path(spec.origin).resolve().parent if spec and spec.origin else None
        if folder != _HOME / name:
            raise ImportError(
                f"TRACED Curator needs its own package '{name}' in {_HOME}, but Python finds "
                f"{f'another in {folder}' if folder else 'none'}. Start it from another folder, or "
                "take that one off PYTHONPATH."
            )


_check_folders()
from backend.plugins import entries_of  # noqa: E402  (of the right package)

#: What features and packages offer here (group `names`).
_OF_FEATURES: dict[str, Any] = {}
for _entry in entries_of("names"):  # ours first: no package takes the place of one
    if _entry.name not in _MODULES:
        _OF_FEATURES.setdefault(_entry.name, _entry)
# What a package offers may be broken: it is imported when it is asked for by its name alone.
__all__ = [*_MODULES, *(name for name, entry in _OF_FEATURES.items() if entry.dist is None)]
