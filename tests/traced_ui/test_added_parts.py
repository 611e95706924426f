"""Parts that features and packages add to our pages; one that fails says so in its place."""

import gradio as gr
import pytest

from backend import plugins
from backend.plugins import Plugin
from backend.workspace import Workspace
from traced_ui.page_dataset import PageDataset
from traced_ui.pages import PagePart, build_parts


def counts(workspace: Workspace, dataset: PageDataset, above: gr.HTML) -> None:
    gr.HTML(f"{len(workspace.datasets())} datasets")


def fails(workspace: Workspace, dataset: PageDataset, above: gr.HTML) -> None:
    raise RuntimeError("no such table")


def test_a_part_that_cannot_be_built_says_so_and_the_others_are_there(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = tuple(
        Plugin("parts", build.__name__, "", PagePart("import", build)) for build in (fails, counts)
    )
    monkeypatch.setattr(plugins, "_LOADED", plugins._LOADED | {"parts": parts})
    with gr.Blocks() as blocks:
        build_parts("import", workspace, PageDataset("1"), gr.HTML())
    texts = [str(block.value) for block in blocks.blocks.values() if isinstance(block, gr.HTML)]
    assert [text for text in texts if "This part cannot be shown" in text]
    assert f"{len(workspace.datasets())} datasets" in texts


def test_a_part_of_a_place_that_is_not_there_cannot_be() -> None:
    with pytest.raises(ValueError, match="nowhere"):
        PagePart("nowhere", counts)
