"""Where suspect words are in pictures: looked for once, stored, exported, told to programs."""

import json
import shutil
from pathlib import Path

import pytest
from PIL import Image
from pycocotools.coco import COCO

from backend.engine.constants.part import ConstantPart
from backend.engine.detection.localisation import most_suspect
from backend.errors import ImageError, NotScored, SettingsError
from backend.features.regions import boxes, queries, service
from backend.features.regions.finding import RegionsReport, look_in
from backend.features.regions.service import regions
from backend.jobs import export_scores
from backend.jobs.export_choice import ExportChoice
from backend.jobs.scoring.dataset_constants import ConstantChoice, remember_constants
from backend.workspace import QueueFilter, Workspace
from db.models import Pair
from research.scenes.long_captions import paragraphs
from research.scenes.renderer import render
from tests.checkpoints import drawn_folder
from tests.fixtures.interrupting import stop_at
from tests.fixtures.sizes import Sizes
from tests.jobs.opening import QUICK_CLIP, OpenWorkspace, opened
from traced_ui.api import Caller

COUNT = 12
SETTINGS = {**QUICK_CLIP, "captioner": "none"}


@pytest.fixture(scope="module")
def scored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace before words were looked for, to copy."""
    base = tmp_path_factory.mktemp("scored")
    workspace = opened(base / "state", **SETTINGS)
    dataset = workspace.find_or_import(str(drawn_folder(base / "pairs", COUNT, 9)))
    with pytest.raises(NotScored):
        workspace.jobs.run("regions", dataset)
    workspace.jobs.score(dataset, suggestions=False)
    workspace.store.close()
    return base


@pytest.fixture
def workspace(open_workspace: OpenWorkspace, scored: Path) -> Workspace:
    return open_workspace(copy_of=scored, **SETTINGS)


@pytest.fixture(scope="module")
def found(scored: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """That workspace once they were looked for, to copy."""
    base = tmp_path_factory.mktemp("found")
    shutil.copytree(scored / "state", base / "state")
    workspace = opened(base / "state", **SETTINGS)
    workspace.jobs.run("regions", 1)
    workspace.store.close()
    return base


@pytest.fixture
def with_regions(open_workspace: OpenWorkspace, found: Path) -> Workspace:
    return open_workspace(copy_of=found, **SETTINGS)


def top_suspects(workspace: Workspace) -> dict[int, list[tuple[int, int]]]:
    rows = workspace.review.queue_page(QueueFilter(1, "all")).rows
    views = [workspace.review.open_pair(row.pair_id) for row in rows]
    return {
        view.pair_id: [(w.start, w.end) for w in most_suspect(view.caption, view.opinion.suspects)]
        for view in views
    }


def test_every_top_suspect_has_a_region_or_none_in_the_picture(
    workspace: Workspace, tmp_path: Path
) -> None:
    spans = top_suspects(workspace)
    with pytest.raises(NotScored):
        boxes.write(workspace.store, 1, tmp_path / "boxes.json")
    assert not (tmp_path / "boxes.json").exists()
    report: RegionsReport = workspace.jobs.run("regions", 1)
    stored = workspace.store.read(queries.of_dataset, 1, list(spans))
    every = [region for rows in stored.values() for region in rows]
    assert report.words == len(every) == sum(map(len, spans.values())) > 0
    assert report.absent == sum(region.box is None for region in every) < len(every)
    for pair_id, rows in stored.items():
        assert sorted(spans[pair_id]) == [(row.start, row.end) for row in rows]
        width, height = workspace.review.open_pair(pair_id).picture.size or (0, 0)
        for x0, y0, x1, y1 in (row.box for row in rows if row.box):
            assert 0 <= x0 < x1 <= width
            assert 0 <= y0 < y1 <= height
    assert workspace.jobs.run("regions", 1).words == 0, "they are stored"

    export_scores.write(workspace.store, 1, tmp_path / "scores.jsonl")
    export_scores.write(workspace.store, 1, tmp_path / "scores.parquet")
    rows = [json.loads(line) for line in (tmp_path / "scores.jsonl").read_text().splitlines()]
    assert sum(len(row["regions"] or ()) for row in rows) == len(every)
    workspace.jobs.export(1, ExportChoice(), tmp_path / "out")
    lines = (tmp_path / "out" / "train" / "metadata.jsonl").read_text().splitlines()
    assert [json.loads(json.loads(line)["regions"]) for line in lines] == [
        row["regions"] or [] for row in rows
    ]


def test_tools_that_show_boxes_read_them(with_regions: Workspace, tmp_path: Path) -> None:
    workspace, out = with_regions, tmp_path / "boxes.json"
    views = [workspace.review.open_pair(pair) for pair in top_suspects(workspace)]
    rows = workspace.review.queue_page(QueueFilter(1, "all")).rows
    p_errors = {row.pair_id: row.numbers["p_error"] for row in rows}
    stored = workspace.store.read(queries.of_dataset, 1, [view.pair_id for view in views])
    report = boxes.write(workspace.store, 1, out)
    every = [region for rows in stored.values() for region in rows]
    assert report.absent == sum(region.box is None for region in every)
    assert report.boxes == len(every) - report.absent > 0
    assert (report.pictures, report.unreadable) == (len(stored), 0)

    coco = COCO(str(out))
    annotations = {
        (each["pair_id"], each["start"], each["end"]): each
        for each in coco.loadAnns(coco.getAnnIds())
    }
    assert len(annotations) == report.boxes
    assert len({each["name"] for each in coco.loadCats(coco.getCatIds())}) == len(coco.cats)
    for view in views:
        for region in stored.get(view.pair_id, ()):
            each = annotations.get((view.external_id, region.start, region.end))
            assert (each is None) == (region.box is None)
            if each is None or region.box is None:
                continue
            word = view.caption[region.start : region.end]
            assert (each["caption"], each["word"]) == (view.caption, word)
            assert coco.loadCats(each["category_id"])[0]["name"] == word.lower()
            (image,) = coco.loadImgs(each["image_id"])
            assert image["file_name"] == view.picture.name
            assert (image["width"], image["height"]) == view.picture.size
            x, y, width, height = each["bbox"]
            assert (x, y, x + width, y + height) == pytest.approx(region.box, abs=0.02)
            assert each["area"] == pytest.approx(width * height, abs=0.02)
            assert (each["iscrowd"], each["segmentation"]) == (0, [])
            assert each["weight"] == pytest.approx(region.weight, abs=1e-4)
            assert each["p_error"] == pytest.approx(p_errors[view.pair_id], abs=1e-6)


def test_pictures_that_cannot_be_opened_have_no_boxes(
    with_regions: Workspace, tmp_path: Path
) -> None:
    """Nor has one that is another picture now, whose pixels the boxes are not about."""
    workspace, out, root = with_regions, tmp_path / "boxes.json", tmp_path / "pictures"
    shutil.copytree(workspace.summary(1).root, root)
    workspace.relocate_dataset(1, root)
    before = boxes.write(workspace.store, 1, out)
    names = [image["file_name"] for image in json.loads(out.read_text())["images"]]
    for name in names[:4]:
        (root / name).unlink()  # the first is missing
    (root / names[1]).write_bytes(b"no picture")
    (root / names[2]).mkdir()
    Image.new("RGB", (30, 20)).save(root / names[3])
    report = boxes.write(workspace.store, 1, out)
    document = json.loads(out.read_text())
    assert (report.pictures, report.unreadable) == (before.pictures - 4, 4)
    assert [image["file_name"] for image in document["images"]] == names[4:]
    ids = {image["id"] for image in document["images"]}
    assert ids
    assert all(each["image_id"] in ids for each in document["annotations"])
    assert len(document["annotations"]) == report.boxes


def test_a_stopped_job_goes_on_where_it_stopped(workspace: Workspace, sizes: Sizes) -> None:
    total = sum(map(len, top_suspects(workspace).values()))
    sizes(BATCH=3)
    with pytest.raises(KeyboardInterrupt):
        workspace.jobs.run("regions", 1, stop_at(2))
    ids = list(top_suspects(workspace))
    before = sum(map(len, workspace.store.read(queries.of_dataset, 1, ids).values()))
    assert 0 < before < total
    assert workspace.jobs.run("regions", 1).words == total - before


def test_programs_ask_for_the_regions_of_a_pair(workspace: Workspace) -> None:
    caller = Caller(workspace)
    pair_id, spans = next((pair, spans) for pair, spans in top_suspects(workspace).items() if spans)
    suspects = regions(caller, pair_id)
    assert [(region.start, region.end) for region in suspects] == spans
    caption = workspace.review.open_pair(pair_id).caption
    end = len(caption)
    (whole,) = regions(caller, pair_id, 0, end)
    assert whole.word == caption
    assert whole.picture_size == workspace.review.open_pair(pair_id).picture.size
    stored = workspace.store.read(queries.of_dataset, 1, [pair_id])[pair_id]
    assert {(row.start, row.end) for row in stored} == {(0, end), *spans}
    with pytest.raises(SettingsError):
        regions(caller, pair_id, 3)
    with pytest.raises(SettingsError):
        regions(caller, pair_id, 0, len(caption) + 1)


def test_a_key_that_may_only_read_stores_no_region(workspace: Workspace) -> None:
    pair_id = next(pair for pair, spans in top_suspects(workspace).items() if spans)
    before = workspace.store.read(queries.of_dataset, 1, [pair_id])
    assert regions(Caller(workspace, may_write=False), pair_id, 0, 3)
    assert workspace.store.read(queries.of_dataset, 1, [pair_id]) == before


def test_a_picture_that_cannot_be_read_is_counted(workspace: Workspace) -> None:
    spans = top_suspects(workspace)
    pair_id = next(pair for pair, words in spans.items() if words)
    root = Path(workspace.summary(1).root)
    image = root / workspace.review.open_pair(pair_id).picture.name
    content = image.read_bytes()
    image.write_bytes(b"no picture")
    try:
        with pytest.raises(ImageError):
            regions(Caller(workspace), pair_id)
        assert workspace.jobs.run("regions", 1).unreadable == 1
    finally:
        image.write_bytes(content)


def test_programs_are_told_whether_a_word_is_where_the_source_states_it(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    pair_id = next(pair for pair, spans in top_suspects(workspace).items() if spans)
    caption = workspace.review.open_pair(pair_id).caption
    (word, *_) = [word for word in caption.rstrip(".").lower().split() if len(word) > 3]
    start = caption.lower().index(word)
    caller = Caller(workspace)
    (plain,) = regions(caller, pair_id, start, start + len(word))
    assert (plain.stated_box, plain.is_inside) == (None, None)
    with workspace.store.writing() as session:
        pair = session.get_one(Pair, pair_id)
        element = {"desc": f"A {word}.", "bbox": [0, 0, 1000, 500]}
        pair.extra = {**pair.extra, "elements": [element]}
    width, height = plain.picture_size or (0, 0)
    for place, expected in (((0.0, 0.0, 9.0, 9.0), True), ((width - 9.0, 0.0, width, 9.0), False)):
        row = queries.RegionRow(start, start + len(word), place, 1.0)
        monkeypatch.setattr(service, "regions_of_pair", lambda *_, row=row: (row,))
        (region,) = regions(caller, pair_id, start, start + len(word))
        assert region.stated_box == [0, 0, width // 2, height]
        assert region.is_inside is expected


def test_words_of_a_text_that_is_tried_are_where_they_are_without_its_constant_parts(
    workspace: Workspace,
) -> None:
    part = ConstantPart(("ohwx", "style"), "begin", 30, 30)
    workspace.store.write(remember_constants, 1, ConstantChoice(), (part,))
    (drawn,) = paragraphs(1, 42, sentences=(1,), errors=(1,), pronouns=0.0, vague=0.0)
    picture, before, engine = render(drawn.scene, 96), "Ohwx style, ", workspace.engines.of_pair(1)
    start = len(drawn.text.split()[0]) + 1
    span, moved = (
        (first + start, first + start + len(drawn.text.split()[1])) for first in (0, len(before))
    )
    (plain,) = look_in(workspace.store, engine, picture, drawn.text, [span], 1)
    (there,) = look_in(workspace.store, engine, picture, before + drawn.text, [moved], 1)
    assert (there.box, there.weight) == (plain.box, plain.weight)
