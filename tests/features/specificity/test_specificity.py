"""Specificity of captions, measured on a real store with the embedded models."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from backend.datasets.safe_files import images
from backend.engine.scoring.protocol import logit_scale_of
from backend.engine.unit_vectors import NEAR_DUPLICATE
from backend.errors import NotScored, SettingsError
from backend.features.specificity import measuring as job
from backend.features.specificity import queries
from backend.features.specificity.retrieval import NEIGHBOURS
from backend.jobs import export_scores
from backend.jobs.export_choice import ExportChoice
from backend.review.queue_form import clean_fields, from_fields
from backend.settings import EMBEDDED_SCORER
from backend.workspace import QueueFilter, Workspace
from tests.checkpoints import drawn_folder
from tests.db.building import watching
from tests.fixtures.features import needs
from tests.fixtures.interrupting import stop_at
from tests.fixtures.sizes import Sizes
from tests.jobs.opening import VECTORS, OpenWorkspace, score_pairs
from traced_ui.api import Caller, open_pair

PAIRS = 28


@pytest.fixture(scope="module")
def scored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The state of a workspace that has scored drawn pairs with CLIP: each picture has a caption,
    the first ones two, and the last picture is a copy of the first."""
    base = tmp_path_factory.mktemp("specificity")
    folder = drawn_folder(base / "pairs", PAIRS, seed=8)
    shutil.copy(folder / "0.png", folder / f"{PAIRS - 1}.png")
    with (folder / "metadata.jsonl").open("a") as table:
        for number in range(3):
            row = {"file_name": f"{number}.png", "caption": "A picture of a thing."}
            table.write(json.dumps(row) + "\n")
    return score_pairs(base, **VECTORS)


@pytest.fixture
def workspace(open_workspace: OpenWorkspace, scored: Path) -> Workspace:
    return open_workspace(copy_of=scored, **VECTORS)


def rows_of(workspace: Workspace) -> dict[int, queries.RetrievalRow]:
    with workspace.store.reading() as session:
        stored = [queries.get_retrieval(session, pair) for pair in range(1, PAIRS + 4)]
    return {row.pair_id: row for row in stored if row is not None}


def test_the_column_equals_a_reference_computed_from_the_pictures(
    workspace: Workspace, scored: Path
) -> None:
    report = workspace.jobs.run("specificity", 1)
    rows = rows_of(workspace)
    assert report.measured == len(rows) == PAIRS + 3
    scorer = workspace.engine.scorer
    names = [f"{i}.png" for i in range(PAIRS)]
    pictures = [images.load_image(scored / "pairs" / name) for name in names]
    seen = scorer.image_embeddings(scorer.encode_images(pictures))
    assert seen is not None
    scale = logit_scale_of(scorer, 0.0)
    assert scale == pytest.approx(19.8, abs=0.2)
    for row in rows.values():
        view = workspace.review.open_pair(row.pair_id)
        own_row = names.index(view.picture.name)
        text = scorer.text_embeddings([view.caption])[0]
        near = sorted(
            (i for i in range(PAIRS) if i != own_row and seen[i] @ seen[own_row] < NEAR_DUPLICATE),
            key=lambda i: -float(seen[i] @ seen[own_row]),
        )[:NEIGHBOURS]
        scores = seen[[own_row, *near]] @ text
        expected = float(scale * scores[0] - np.log(np.exp(scale * scores).sum()))
        assert row.specificity == pytest.approx(expected, abs=0.02)
        assert row.of == len(near) + 1
        assert row.rank == len(row.better) + 1
        assert abs(row.rank - 1 - int((scores[1:] >= scores[0]).sum())) <= 1  # float16 ties
        assert row.likeness == pytest.approx(float((seen[near] @ seen[own_row]).mean()), abs=2e-3)


def test_a_stopped_measurement_resumes_with_the_same_result(
    workspace: Workspace, sizes: Sizes
) -> None:
    sizes(BATCH=10)
    whole = workspace.jobs.run("specificity", 1)
    expected = rows_of(workspace)
    workspace.store.write(queries.keep_only, 1, -1)
    with pytest.raises(KeyboardInterrupt):
        workspace.jobs.run("specificity", 1, stop_at(20))
    assert len(rows_of(workspace)) == 20
    again = workspace.jobs.run("specificity", 1)
    assert again.run_id == whole.run_id
    assert rows_of(workspace) == expected


def test_many_pictures_are_sampled_and_the_page_says_so(
    workspace: Workspace,
) -> None:
    first = workspace.jobs.run("specificity", 1)
    report = job.measure_specificity(workspace.store, workspace.engine, 1, pool=25)
    assert (report.pool, report.pictures) == (25, PAIRS)
    assert report.run_id != first.run_id
    rows = rows_of(workspace)
    assert len(rows) == PAIRS + 3
    assert {row.run_id for row in rows.values()} == {report.run_id}
    view: Any = workspace.review.open_pair(1).parts["specificity"]
    assert (view.pool, view.pictures) == (25, PAIRS)


def test_a_pair_tells_it_by_one_statement_and_by_none_where_it_was_not_measured(
    workspace: Workspace,
) -> None:
    counts = []
    for is_measured in (False, True):
        if is_measured:
            workspace.jobs.run("specificity", 1)
        workspace.review.open_pair(1)
        with watching(workspace.store.opened) as statements:
            view = workspace.review.open_pair(1)
        assert ("specificity" in view.parts) == is_measured
        counts.append(len(statements))
    assert counts[1] == counts[0] + 1
    record: Any = view.parts["specificity"]
    answer = open_pair(Caller(workspace), 1).specificity
    assert (answer.rank, answer.of, answer.judged_by) == (record.rank, record.of, record.by)
    assert answer.fits_better == list(record.better)


def test_specificity_is_used_by_queue_search_and_export(
    workspace: Workspace, tmp_path: Path
) -> None:
    workspace.jobs.run("specificity", 1)
    rows = rows_of(workspace)
    worst = min(rows.values(), key=lambda row: (row.specificity, row.pair_id))
    page = workspace.review.queue_page(QueueFilter(1, order="specificity", descending=False))
    assert page.rows[0].pair_id == worst.pair_id
    confused = workspace.review.search(1, like=f"confused:{worst.pair_id}")
    assert confused == (worst.pair_id, *worst.better)
    export_scores.write(workspace.store, 1, tmp_path / "scores.jsonl")
    exported = [json.loads(line) for line in (tmp_path / "scores.jsonl").read_text().splitlines()]
    assert [item["specificity"] for item in exported] == [row.specificity for row in rows.values()]
    border = sorted(row.specificity for row in rows.values())[5]
    workspace.jobs.export(1, ExportChoice(specificity_below=border), tmp_path / "out", "jsonl")
    (file,) = (tmp_path / "out").glob("*.jsonl")
    written = [json.loads(line) for line in file.read_text().splitlines()]
    assert sum(row["tags"] == ["generic"] for row in written) == 5
    assert [row["specificity"] for row in written] == [row.specificity for row in rows.values()]


@needs("picture_map")
def test_the_regions_of_the_plane_are_queues_that_partition_the_pairs(workspace: Workspace) -> None:
    from backend.features.picture_map.plane import plane_of
    from backend.features.picture_map.views import map_of

    before = plane_of(workspace.store, 1).regions
    assert [region.name for region in before] == ["wrong", "abstract", "good"]
    workspace.jobs.run("specificity", 1)
    view = plane_of(workspace.store, 1)
    assert [region.name for region in view.regions] == ["wrong", "abstract", "generic", "good"]
    assert sum(region.waiting for region in view.regions) == PAIRS + 3
    plotted = map_of(workspace.store, 1, "specificity")
    assert plotted is not None
    assert len(plotted.pairs) == PAIRS + 3
    for region in view.regions:
        filter = from_fields(1, clean_fields(region.fields))
        assert workspace.review.queue_count(filter) == region.waiting


def test_missing_measurements_and_vectors_are_reported(workspace: Workspace) -> None:
    assert "specificity" not in workspace.review.open_pair(1).parts
    with pytest.raises(SettingsError, match="has not been measured"):
        workspace.review.search(1, like="confused:1")
    for file in (workspace.settings.data_directory / "search").rglob("*.width"):
        file.unlink()
    with pytest.raises(SettingsError, match="cannot be compared"):
        workspace.jobs.run("specificity", 1)


def test_after_scoring_by_itm_specificity_uses_itc_and_says_so(
    open_workspace: OpenWorkspace, scored: Path
) -> None:
    workspace = open_workspace(
        copy_of=scored, kind="blip-itm", model=str(EMBEDDED_SCORER), detector="eight signs"
    )
    with pytest.raises(NotScored, match="was scored with clip"):
        workspace.jobs.run("specificity", 1)
    workspace.jobs.score(1, suggestions=False, trajectories="first-step")
    report = workspace.jobs.run("specificity", 1)
    assert report.measured == PAIRS + 3
    assert (workspace.engine.scorer.info.kind, report.by) == ("blip-itm", "ITC")
    row = rows_of(workspace)[1]
    view = workspace.review.open_pair(1)
    record: Any = view.parts["specificity"]
    assert record.by == "ITC"
    # The share among neighbours is computed from the vectors of ITC with their scale.
    pictures = job.picture_vectors(workspace.store, workspace.engine, 1)
    text = job.texts_of(workspace.engine, [view.caption])[0]
    cosines = job.unit(np.concatenate([pictures.of([1]), pictures.of(list(row.better))])) @ text
    assert (cosines[1:] > cosines[0] - 2e-3).all()
