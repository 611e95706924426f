"""What a page says about one dataset does not stay when another is chosen."""

from collections.abc import Callable
from typing import Any

import gradio as gr
import pytest

from backend.workspace import Workspace
from traced_ui import export, retrain


@pytest.mark.parametrize(
    ("build", "messages"),
    [(retrain.build, {"train-status"}), (export.build, {"export-status", "export-card"})],
)
def test_messages_end_with_their_dataset(
    workspace: Workspace, build: Callable[..., Any], messages: set[str]
) -> None:
    with gr.Blocks() as blocks:
        dataset = gr.Dropdown([1, 2], value=1)
        build(workspace, dataset)
    cleared = set()
    for event in blocks.fns.values():
        names = [getattr(output, "elem_id", None) for output in event.outputs]
        if (dataset._id, "change") in event.targets and messages & set(names):
            values = event.fn(*[None] * len(event.inputs))
            cleared |= {name for name, value in zip(names, values, strict=True) if value == ""}
            assert [v.active for v in values if isinstance(v, gr.Timer)] == [False]
    assert messages <= cleared
