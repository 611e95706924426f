"""The guard is calibrated on people's captions, once for each model, dataset and classifier."""

import shutil
from pathlib import Path

import pytest

from backend.engine.correction.doubting import DEFAULT, Weighed
from backend.engine.correction.suggestion import CorrectionContext
from backend.engine.english.phrases import phrases_of
from backend.jobs.correct_queue import PairCorrector
from backend.jobs.picture_doubts import PictureDoubts
from backend.settings import MODELS, load_settings
from backend.workspace import QueueFilter, Workspace
from db.queries import pair_queue as queue_queries
from db.queries.pair_queue import QueueRow
from research.scenes.labelled_bags import scene_bags
from research.scenes.labelled_scenes import DIRECTORIES
from research.scenes.renderer import render
from tests.datasets.folders import image_folder
from tests.fixtures.sizes import Sizes

SCENES = 16
#: So few captions have fewer phrases than the default minimum for fitting a rule.
LEAST = 10


def opened(state: Path) -> Workspace:
    given = {"data_directory": str(state), "kind": "clip", "detector": "logistic",
             "model": str(MODELS / DIRECTORIES["clip"])}  # fmt: skip
    return Workspace(load_settings(given, {}))


@pytest.fixture(scope="module")
def scored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    base = tmp_path_factory.mktemp("doubts")
    made = scene_bags(SCENES, 6)
    rows = [{"id": str(i), "file_name": f"{i}.png", "caption": made.captions["ordinary"][i]}
            for i in range(SCENES)]  # fmt: skip
    image_folder(base / "pairs", rows, ())
    for i, scene in enumerate(made.scenes):
        render(scene, 128).save(base / "pairs" / f"{i}.png")
    workspace = opened(base / "state")
    workspace.jobs.score(workspace.find_or_import(str(base / "pairs")), suggestions=False)
    workspace.store.close()
    return base / "state"


@pytest.fixture
def workspace(scored: Path, tmp_path: Path, sizes: Sizes) -> Workspace:
    sizes(LEAST_PHRASES=LEAST)
    shutil.copytree(scored, tmp_path / "state")
    return opened(tmp_path / "state")


def doubts_of(workspace: Workspace) -> PictureDoubts:
    corrector = PairCorrector(workspace.store, workspace.engine, 1, None)
    return PictureDoubts(workspace.store, workspace.engine, corrector, 1, scale=20.0)


def own_caption(row: QueueRow) -> list[str]:
    return [row.caption]


def contexts(workspace: Workspace) -> list[tuple[CorrectionContext, str]]:
    corrector = PairCorrector(workspace.store, workspace.engine, 1, None)
    with workspace.store.reading() as session:
        rows = queue_queries.page(session, QueueFilter(1, order="position"), None, 2).rows
    return [
        (context, row.caption)
        for row, context in corrector.contexts(rows)
        if isinstance(context, CorrectionContext)
    ]


def test_the_rule_is_stored_with_the_run_and_fitted_once(
    workspace: Workspace,
) -> None:
    first = doubts_of(workspace)
    assert first.rule == DEFAULT
    rule = first.calibrate(own_caption)
    assert isinstance(rule, Weighed)
    assert rule.phrases >= 2 * LEAST
    resumed = doubts_of(workspace)
    assert resumed.rule == rule


def test_evidence_is_the_same_for_captions_in_a_batch_and_alone(workspace: Workspace) -> None:
    doubts = doubts_of(workspace)
    requests = [(context, text, phrases_of(text)) for context, text in contexts(workspace)]
    together = doubts.evidence([*requests, (requests[0][0], "A dog.", [])])
    assert together[-1] == []
    for (context, text, phrases), expected in zip(requests, together[:-1], strict=True):
        alone = doubts.of(context)(text, phrases)
        assert [(d.start, d.end) for d in alone] == [(p.start, p.end) for p in phrases]
        for single, joint in zip(alone, expected, strict=True):
            assert single.support == pytest.approx(joint.support, abs=1e-3)
            assert single.suspect == pytest.approx(joint.suspect, abs=1e-3)
            assert single.drop == pytest.approx(joint.drop, abs=1e-3)
