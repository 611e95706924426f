"""Results by number of labelled pairs, and without labels."""

from collections.abc import Sequence

import numpy as np
import pytest
from PIL import Image

from backend.engine.detection.cold_start import cold_start, drawn_by_image
from backend.engine.trajectories.trajectory import Trajectory
from research.evaluation import evaluate as evaluation
from research.evaluation import result_figures
from research.evaluation.labelled import LabelledPairs
from research.evaluation.learning_curve import learning_curve, without_labels
from research.evaluation.result_tables import markdown
from tests.engine.detection.made_trajectories import World

RUN = result_figures.Run("clip", "elimination", "fine-grained", 7)


def labelled(world: World) -> LabelledPairs:
    count = len(world.captions)
    return LabelledPairs(
        world.captions, world.captions, world.wrong, [frozenset()] * count, [""] * count,
        list(range(count)), lambda row: Image.new("RGB", (1, 1)),
    )  # fmt: skip


def test_a_dataset_is_ranked_without_its_labels() -> None:
    """Each size is a cold start on that many pairs; labels are used only to measure the result."""
    world = World(130, wrong_share=0.3, seed=3)
    pairs = labelled(world)
    requested: list[tuple[int, str]] = []

    def score(requests: Sequence[tuple[int, str]]) -> list[Trajectory]:
        requested.extend(requests)
        return world.score(requests)

    listed = without_labels(pairs, world.trajectories, score, RUN, "nine signs", (40, 130, 999))
    assert [at.pairs for at in listed] == [40, 130]
    few, every = listed
    assert (few.detector, few.seed) == ("nine signs", 7)
    assert every.share_wrong == pytest.approx(world.wrong.mean())
    assert every.auc > every.auc_single_score + 0.1
    assert few.noisy_copies < every.noisy_copies == 3 * 130
    assert every.estimated_share_wrong is not None
    # Copies are scored on the images of the pairs that were drawn.
    drawn = drawn_by_image(pairs.groups, 40, 7)
    first = {row for row, _ in requested[: few.noisy_copies]}
    assert first == set(drawn) != set(range(40))
    world.rng = np.random.default_rng(5)
    plain = cold_start(
        world.captions, world.trajectories, world.score, list(range(130)), seed=7,
        detector="nine signs",
    )  # fmt: skip
    world.rng = np.random.default_rng(5)
    (again,) = without_labels(pairs, world.trajectories, world.score, RUN, "nine signs", (130,))
    order = np.argsort(plain.p_error)
    wrong = pairs.wrong[order]
    below = np.cumsum(~wrong)[wrong].sum()
    assert again.auc == pytest.approx(below / (wrong.sum() * (~wrong).sum()))


def test_the_learning_curve_is_measured_for_every_feasible_size(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = World(260, wrong_share=0.5, seed=4)
    pairs = labelled(world)
    trained: list[int] = []
    choose = result_figures.choose_labelled

    def counted(features: np.ndarray, *others: object, **named: object) -> object:
        trained.append(len(features))
        return choose(features, *others, **named)  # pyrefly: ignore[bad-argument-type]

    monkeypatch.setattr(result_figures, "choose_labelled", counted)
    few, more = learning_curve(
        pairs, world.trajectories, RUN, "nine signs", sizes=(50, 150, 200), splits=3
    )
    assert trained == [50] * 3 + [150] * 3
    assert (few.labelled, few.splits, more.labelled) == (50, 3, 150)
    assert few.auc > few.auc_single_score + 0.1
    assert few.worst_difference <= few.auc - few.auc_single_score
    report = evaluation.EvaluationReport("scenes", 260, "nine signs", [], [], learnt=[few, more])
    assert f"| clip | fine-grained | 7 | 50 | nine signs | {few.auc:.3f} |" in markdown(report)
