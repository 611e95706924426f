"""Gradio without the type stubs that it writes each time it is imported.

For every component Gradio parses its source, renders a stub of its events and compares it with the
`.pyi` file beside the source, also of subclasses: more than a third of the time that importing it
takes. The stubs that type checkers need are part of its package.
"""

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import ModuleType

#: Gradio's module that writes stubs.
WRITER = "gradio.component_meta"


def _write_none(module: ModuleType) -> None:
    module.__dict__["create_or_modify_pyi"] = lambda *_: None


class _WithoutStubs(SourceFileLoader):
    def exec_module(self, module: ModuleType) -> None:
        super().exec_module(module)
        _write_none(module)


class _ImportHook(MetaPathFinder):
    """For the writer of stubs; all other modules are imported as usual."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != WRITER:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.origin is not None:
            spec.loader = _WithoutStubs(fullname, spec.origin)
        return spec


def disable() -> None:
    """Call it before Gradio is imported; afterwards it still spares later components."""
    if WRITER in sys.modules:
        _write_none(sys.modules[WRITER])
    else:
        sys.meta_path.insert(0, _ImportHook())
