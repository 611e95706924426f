import importlib.util
import os
from pathlib import Path

import gradio
from gradio import component_meta

from tests.fixtures import programs
from traced_ui import type_stubs

#: A component like those of `traced_ui`, in a separate file.
COMPONENT = """
import gradio
class Picture(gradio.Image):
    EVENTS = ["change"]
"""
PROGRAM = "import sys; sys.path[:0] = sys.argv[1:]; import traced_ui; import component"


def test_gradio_writes_no_stub_beside_a_component(tmp_path: Path) -> None:
    (tmp_path / "component.py").write_text(COMPONENT)
    status, _, reported = programs.run(["-c", PROGRAM, str(tmp_path)], os.environ)
    assert status == 0, reported
    assert not (tmp_path / "component.pyi").exists()


def test_only_the_writer_of_stubs_is_replaced() -> None:
    spec = type_stubs._ImportHook().find_spec(type_stubs.WRITER, gradio.__path__)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.create_or_modify_pyi.__module__ == "traced_ui.type_stubs"
    assert vars(module).keys() == vars(component_meta).keys()
    assert type_stubs._ImportHook().find_spec("gradio.blocks", gradio.__path__) is None
