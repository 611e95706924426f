"""The Datasets page has a field for every option that a refused import asks for."""

import json
from pathlib import Path
from typing import Any

import fastapi
import gradio as gr
import pytest
from fastapi.testclient import TestClient
from PIL import Image

from backend.jobs.job_view import JobView
from backend.workspace import Workspace
from tests.traced_ui.pages import Page
from traced_ui import dataset_settings, datasets, queue_panel, transfers
from traced_ui.dataset_jobs import DatasetJobs, imported_note
from traced_ui.import_form import (
    HIDE,
    INSIDE,
    LABELS,
    TAKE,
    TICKS,
    UNCAPTIONED,
    element,
    import_options,
)
from traced_ui.jobs import job_html
from traced_ui.messages import note
from traced_ui.page_dataset import PageDataset

#: A table from Windows that could be in any of several encodings.
TABLE = 'image,caption\na.png,"A café by the sea"\n'.encode("latin-1")


@pytest.fixture
def client(workspace: Workspace) -> TestClient:
    app = fastapi.FastAPI()
    transfers.add_routes(app, workspace)
    return TestClient(app)


def ended(workspace: Workspace, job_id: int) -> JobView:
    assert workspace.jobs.background.wait(250)
    return workspace.jobs.job(job_id)


def captions(workspace: Workspace, dataset_id: int) -> list[str]:
    filter = workspace.review.filter_of(dataset_id, {"review": "all", "order": "position"})
    return [row.caption for row in workspace.review.queue_page(filter).rows]


def folder_of(path: Path, table: bytes = TABLE) -> Path:
    path.mkdir(exist_ok=True)
    Image.new("RGB", (30, 20), "red").save(path / "a.png")
    (path / "captions.csv").write_bytes(table)
    return path


def upload(client: TestClient, folder: Path) -> str:
    name = str(client.post("/uploads").json()["upload"])
    for file in folder.iterdir():
        place = {"path": f"{folder.name}/{file.name}"}
        assert client.put(f"/uploads/{name}", params=place, content=file.read_bytes()).is_success
    return name


def test_the_options_of_an_upload_are_validated(client: TestClient, tmp_path: Path) -> None:
    name = upload(client, folder_of(tmp_path / "windows"))
    for given, message in (
        ({"encodign": "latin-1"}, "There is no field 'encodign'. There are: name"),
        ({"id_column": "id", "no_id_column": "yes"}, "“Column with ids” or tick “No column"),
        ({"subset": "a\0"}, "“Subset” cannot be used"),
    ):
        refused = client.post(f"/uploads/{name}/import", params=given)
        assert refused.status_code == 400
        assert message in refused.json()["detail"]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, {}),
        ({"name": "  Mine ", "delimiter": " ; "}, {"name": "Mine", "delimiter": ";"}),
        ({"no_id_column": True}, {"id_column": ""}),
        ({"captions_inside": "yes", "no_id_column": ""}, {"caption_from": "metadata"}),
        ({"subset": "en", "encoding": None}, {"subset": "en"}),
        ({"uncaptioned": True}, {"uncaptioned": True}),
        ({"take_changes": True, "hide_gone": "yes"}, {"update": "take", "gone": "hide"}),
    ],
)
def test_fields_become_options(given: dict[str, Any], expected: dict[str, Any]) -> None:
    nothing = dict.fromkeys((*LABELS, "caption_from")) | {
        "captions_per_line": False, "uncaptioned": False, "update": "keep", "gone": "keep",
    }  # fmt: skip
    assert import_options(given) == {**nothing, **expected}


def page_of(workspace: Workspace) -> gr.Blocks:
    with gr.Blocks() as blocks:
        dataset = PageDataset("1")
        datasets.build(workspace, dataset)
        dataset_settings.build(workspace, dataset)
    return blocks


def click_of(workspace: Workspace, button: str) -> Any:
    """What a click on this button calls, with its inputs."""
    blocks = page_of(workspace)
    (block,) = [b for b in blocks.blocks.values() if getattr(b, "elem_id", "") == button]
    (function,) = [
        function for function in blocks.fns.values() if (block._id, "click") in function.targets
    ]
    return function


def begin_on_page(workspace: Workspace, path: str, **entered: Any) -> int:
    """The job that a click on *Import* with these fields begins."""
    function = click_of(workspace, "import-start")
    by_id = {component.elem_id: component for component in function.inputs}
    fields = {element(name): value for name, value in {"path": path, **entered}.items()}
    job, *_ = function.fn(*(fields.get(id, by_id[id].value) for id in by_id))
    return int(job)


def test_a_refused_import_names_the_field_of_its_subsets(
    workspace: Workspace, tmp_path: Path
) -> None:
    folder = folder_of(tmp_path / "hub", b"image,caption\na.png,A dog\n")
    card = {"configs": [{"config_name": c, "data_files": "captions.csv"} for c in ("en", "de")]}
    (folder / "README.md").write_text(f"---\n{json.dumps(card)}\n---\n")
    refused = ended(workspace, begin_on_page(workspace, str(folder)))
    assert f"“{LABELS['subset']}”" in str(job_html(refused))


def test_pictures_without_captions_are_imported_where_that_is_ticked(
    workspace: Workspace, tmp_path: Path
) -> None:
    folder = folder_of(tmp_path / "d", b"image,caption\na.png,\n")
    done = ended(workspace, begin_on_page(workspace, str(folder), uncaptioned=True))
    assert captions(workspace, done.result["dataset_id"]) == [""]
    (folder / "captions.csv").unlink()
    refused = ended(workspace, begin_on_page(workspace, str(folder)))
    for tick in (UNCAPTIONED, INSIDE):
        assert f"“{TICKS[tick]}”" in str(job_html(refused))
    update = DatasetJobs(workspace).watch(refused.id, None, "")
    assert update.options.open  # the fold with the tick


def test_a_moved_dataset_is_given_its_new_folder(workspace: Workspace, tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "d", b"image,caption\na.png,A dog\n")
    (done,) = [ended(workspace, begin_on_page(workspace, str(folder / "captions.csv")))]
    dataset = done.result["dataset_id"]
    folder.rename(tmp_path / "moved")
    click = click_of(workspace, "relocate-start").fn
    for place in ("", str(tmp_path / "d")):
        _, message = click(dataset, place, gr.Request())
        assert "error" in message
    _, message = click(dataset, str(tmp_path / "moved"), gr.Request())
    assert "1 of 1 pictures" in message
    assert workspace.summary(dataset).root == str(tmp_path / "moved")


def test_a_dataset_is_deleted_only_by_its_name(workspace: Workspace, tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "d", b"image,caption\na.png,A dog\n")
    dataset = ended(workspace, begin_on_page(workspace, str(folder))).result["dataset_id"]
    name, before = workspace.summary(dataset).name, len(workspace.datasets())
    click = click_of(workspace, "delete-start").fn
    for typed in ("", name.upper(), None):
        _, message = click(dataset, typed, gr.Request())
        assert "error" in message
        assert len(workspace.datasets()) == before
    Page(workspace, dataset)
    assert queue_panel._draw_row.cache_info().currsize
    opened, message = click(dataset, f" {name} ", gr.Request())
    assert not queue_panel._draw_row.cache_info().currsize, "none of its captions"
    assert not queue_panel._draw_closed_filters.cache_info().currsize
    rest = [each.id for each in workspace.datasets()]
    assert "good" in message
    assert dataset not in rest
    assert opened == rest[0]


def test_a_changed_source_is_told_and_taken_where_that_is_ticked(
    workspace: Workspace, tmp_path: Path
) -> None:
    def source(*rows: str) -> str:
        lines = "".join(f"{row}\n" for row in ("image,caption,id", *rows))
        folder = folder_of(tmp_path / "d", lines.encode())
        return str(folder / "captions.csv")

    def imported(path: str, **ticked: bool) -> tuple[str, list[str]]:
        done = ended(workspace, begin_on_page(workspace, path, **ticked))
        return str(imported_note(done.result)), captions(workspace, done.result["dataset_id"])

    imported(source("a.png,A dog,1", "a.png,A cat,2"))
    edited = source("a.png,A wolf,1")
    message, stored = imported(edited)
    assert "0 new, 1 changed, 0 moved, 1 gone, 0 same" in message
    assert all(f"“{TICKS[tick]}”" in message for tick in (TAKE, HIDE))
    assert stored == ["A dog", "A cat"]
    assert imported(edited, take_changes=True, hide_gone=True)[1] == ["A wolf"]


def test_the_steps_below_a_failed_import_are_hidden() -> None:
    """They are of the dataset before."""
    failed = str(note("There is no file.", "error"))
    assert [step.visible for step in datasets.steps_below(failed, 1)] == [False] * 3
    assert [step.visible for step in datasets.steps_below("", 1)] == [True] * 3
    assert datasets.steps_below(str(note("Reading")), 1) == [gr.skip()] * 3


def test_what_finding_errors_will_do_is_said_before(workspace: Workspace, tmp_path: Path) -> None:
    jobs = DatasetJobs(workspace)
    folder = folder_of(tmp_path / "d", b"image,caption\na.png,A dog\n")
    dataset = ended(workspace, begin_on_page(workspace, str(folder))).result["dataset_id"]

    def plan(dataset: int | None, model: str) -> str:
        return jobs.cards_and_plan(dataset, model)[1]

    assert plan(None, "") == ""
    assert "downloads 605 MB" in plan(dataset, "fast")
    assert "download" not in plan(dataset, "embedded")
    assert "data-unscored" in plan(dataset, "embedded")
