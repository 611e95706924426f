"""The guard is calibrated on people's captions, once for each model, dataset and classifier."""

from pathlib import Path

import pytest

from backend.engine.correction.suggestion import CorrectionContext
from backend.engine.english.phrases import phrases_of
from backend.features.specificity.doubting import DEFAULT, FittedRule
from backend.features.specificity.picture_doubts import PictureDoubts
from backend.jobs.pair_contexts import PairContexts
from backend.workspace import QueueFilter, Workspace
from db.queries import queue_queries
from research.scenes.labelled_bags import scene_bags
from research.scenes.renderer import render
from tests.datasets.folders import image_folder
from tests.fixtures.sizes import Sizes
from tests.jobs.opening import QUICK_CLIP, OpenWorkspace, score_pairs

SCENES = 16
#: So few captions have fewer phrases than the default minimum for fitting a rule.
LEAST = 10


@pytest.fixture(scope="module")
def scored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    base = tmp_path_factory.mktemp("doubts")
    made = scene_bags(SCENES, 6)
    rows = [{"id": str(i), "file_name": f"{i}.png", "caption": made.captions["ordinary"][i]}
            for i in range(SCENES)]  # fmt: skip
    image_folder(base / "pairs", rows, ())
    for i, scene in enumerate(made.scenes):
        render(scene, 128).save(base / "pairs" / f"{i}.png")
    return score_pairs(base, **QUICK_CLIP)


@pytest.fixture
def workspace(open_workspace: OpenWorkspace, scored: Path, sizes: Sizes) -> Workspace:
    sizes(LEAST_PHRASES=LEAST)
    return open_workspace(copy_of=scored, **QUICK_CLIP)


def doubts_of(workspace: Workspace) -> PictureDoubts:
    pairs = PairContexts(workspace.store, workspace.engine, 1)
    return PictureDoubts(workspace.store, workspace.engine, pairs, 1, scale=20.0)


def contexts(workspace: Workspace) -> list[tuple[CorrectionContext, str]]:
    pairs = PairContexts(workspace.store, workspace.engine, 1)
    rows = workspace.store.read(queue_queries.page, QueueFilter(1, order="position"), None, 2).rows
    return [
        (context, row.caption)
        for row, context in pairs.of(rows)
        if isinstance(context, CorrectionContext)
    ]


def test_the_rule_is_stored_with_the_run_and_fitted_once(workspace: Workspace) -> None:
    first = doubts_of(workspace)
    assert first.rule == DEFAULT
    rule = first.calibrate(lambda row: [row.caption])
    assert isinstance(rule, FittedRule)
    assert rule.phrases >= 2 * LEAST
    assert doubts_of(workspace).rule == rule


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
