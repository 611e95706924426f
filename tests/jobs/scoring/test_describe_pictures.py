"""Pictures without a caption: imported on request, described, and exported once accepted."""

import json
import tarfile
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from backend.datasets.read_options import ReadOptions
from backend.errors import DatasetFormatError, SettingsError, UnknownPictures
from backend.jobs.export_dataset import ExportChoice
from backend.review.queue_form import START, from_fields
from backend.review.views import PairView
from backend.workspace import Workspace
from research.scenes import demo
from tests.traced_ui.pages import Page

_ALSO_THESE = ReadOptions(uncaptioned=True)


@pytest.fixture
def drawn(tmp_path: Path) -> Path:
    """Eight drawn scenes, three of them without a caption."""
    folder = tmp_path / "drawn"
    demo.write(folder, 8, 0, 96, seed=9)
    table = folder / "metadata.jsonl"
    rows = [json.loads(line) for line in table.read_text(encoding="utf-8").splitlines()]
    for row, nothing in zip(rows, ("", None, " \n"), strict=False):
        row["caption"] = nothing
    table.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return folder


def _waiting(workspace: Workspace, dataset: int) -> list[PairView]:
    page = workspace.review.queue_page(from_fields(dataset, START), None, 30)
    views = [workspace.review.open_pair(row.pair_id) for row in page.rows]
    return [view for view in views if not view.caption]


def test_they_are_described_and_exported_once_accepted(
    workspace: Workspace, drawn: Path, tmp_path: Path
) -> None:
    dataset = workspace.jobs.import_dataset(drawn, options=_ALSO_THESE).dataset_id
    report = workspace.jobs.score(dataset)
    assert report.scored == 5
    assert workspace.jobs.score(dataset).scored == 0
    lacking = from_fields(dataset, {"review": "all", "where": "captioned = no and not text = dog"})
    assert workspace.review.queue_count(lacking, 9) == 3
    assert dict(workspace.review.queue_values(lacking).words["captioned"])["no"] == 3
    taken, written, removed = waiting = _waiting(workspace, dataset)
    for view in waiting:
        assert (view.s_0, view.p_error, view.icc, view.opinion.looks_abstract) == (
            None,
            None,
            None,
            False,
        )
        (suggestion,) = view.suggestions.corrections
        assert suggestion.caption.split()[0] in ("A", "An", "Two", "Three")
    counts = workspace.jobs.export_counts(dataset, ExportChoice())
    assert (counts.kept, counts.left_out) == (5, {"no caption accepted yet": 3})
    with pytest.raises(SettingsError, match="no caption to judge"):
        workspace.review.decide(taken.pair_id, 0, "correct")
    outcome = workspace.review.decide_many([(view.pair_id, 0) for view in waiting], "abstract")
    assert outcome.written == ()

    suggestion = taken.suggestions.corrections[0]
    workspace.review.decide(taken.pair_id, 0, "correction", suggestion_id=suggestion.id)
    workspace.review.decide(written.pair_id, 0, "correction", corrected_caption="A red dog.")
    workspace.review.decide(removed.pair_id, 0, "drop")
    assert workspace.review.first_pair(lacking) == removed.pair_id
    counts = workspace.review.counts(dataset)
    assert (counts.reviewed, counts.errors_found) == (3, 0)
    left_out = workspace.jobs.export_counts(dataset, ExportChoice()).left_out
    assert left_out == {"decided: removed": 1}
    out = tmp_path / "clean"
    workspace.jobs.export(dataset, ExportChoice(), out, format="jsonl")
    rows = [json.loads(line) for line in (out / "data.jsonl").read_text("utf-8").splitlines()]
    kinds = {row["caption"]: row["caption_kind"] for row in rows if not row["original_caption"]}
    assert kinds == {suggestion.caption: "new", "A red dog.": "new"}
    assert len(rows) == 7


def test_a_folder_of_pictures_alone_is_read_on_request(workspace: Workspace, drawn: Path) -> None:
    (drawn / "metadata.jsonl").unlink()
    (drawn / "truth.jsonl").unlink(missing_ok=True)
    with pytest.raises(DatasetFormatError) as refused:
        workspace.jobs.import_dataset(drawn)
    assert "Take pictures without a caption" in refused.value.remedies["page"]
    dataset = workspace.jobs.import_dataset(drawn, options=_ALSO_THESE).dataset_id
    workspace.jobs.score(dataset)
    views = _waiting(workspace, dataset)
    assert len(views) == 8
    assert all(view.suggestions.corrections for view in views)
    assert workspace.jobs.import_dataset(drawn, options=_ALSO_THESE).added == 0


def test_the_page_says_why_there_is_no_caption(
    workspace: Workspace, drawn: Path, tmp_path: Path
) -> None:
    dataset = workspace.jobs.import_dataset(drawn, options=_ALSO_THESE).dataset_id
    view = _waiting(workspace, dataset)[0]
    page = Page(workspace, dataset)
    assert "With a captioner" in page.send("suggest", pair=view.pair_id)

    strange = tmp_path / "strange"
    strange.mkdir()
    rng = np.random.default_rng(1)
    for number in range(6):
        noise = Image.fromarray(rng.integers(0, 256, (80, 100, 3), np.uint8))
        noise.save(strange / f"{number}.png")
    imported = workspace.jobs.import_dataset(strange, options=_ALSO_THESE)
    assert workspace.jobs.needs_model(imported.dataset_id)
    with pytest.raises(UnknownPictures):
        workspace.jobs.score(imported.dataset_id)
    page = Page(workspace, imported.dataset_id)
    view = _waiting(workspace, imported.dataset_id)[0]
    assert UnknownPictures.title in page.send("suggest", pair=view.pair_id)


def test_pictures_of_a_tar_need_no_text_on_request(
    workspace: Workspace, drawn: Path, tmp_path: Path
) -> None:
    pictures = sorted(path for path in drawn.rglob("*") if path.suffix in (".png", ".webp"))
    shards = tmp_path / "shards"
    shards.mkdir()
    for name, texts in (("00000", {}), ("00001", {pictures[1]: b"Two dogs run."})):
        with tarfile.open(shards / f"{name}.tar", "w") as tar:
            for picture in pictures:
                tar.add(picture, f"{name}-{picture.name}")
                if picture in texts:
                    member = tarfile.TarInfo(f"{name}-{picture.stem}.txt")
                    member.size = len(texts[picture])
                    tar.addfile(member, BytesIO(texts[picture]))
    report = workspace.jobs.import_dataset(shards)
    assert (report.added, report.problems) == (1, 15)
    report = workspace.jobs.import_dataset(shards, options=_ALSO_THESE)
    assert (report.added, report.problems) == (15, 0)


def test_without_the_request_they_are_reported(workspace: Workspace, drawn: Path) -> None:
    report = workspace.jobs.import_dataset(drawn)
    assert (report.added, len(report.first_problems)) == (5, 3)
    assert {problem.kind for problem in report.first_problems} == {"empty caption"}
    report = workspace.jobs.import_dataset(drawn, options=_ALSO_THESE)
    assert (report.added, report.first_problems) == (3, ())
