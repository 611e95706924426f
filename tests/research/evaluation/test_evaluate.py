"""The evaluation tests only on unseen data, and is reproducible."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from sklearn.metrics import average_precision_score, brier_score_loss, roc_auc_score

from backend.engine.captions import Caption
from backend.engine.detection.features import feature_matrix
from backend.engine.trajectories.exploring import Exploring
from backend.engine.trajectories.trajectory import Trajectory
from backend.errors import DatasetFormatError, SettingsError
from backend.settings import MODELS
from research.evaluation import evaluate as evaluation
from research.evaluation import fewer_steps, scored
from research.evaluation.evaluate import Plan, summarise
from research.evaluation.labelled import LabelledPairs, from_dataset, from_scenes
from research.evaluation.learning_curve import transfer
from research.evaluation.result_figures import Run, figures_of, judge, test_half
from research.evaluation.result_tables import markdown
from research.evaluation.suspect_hits import OURS, localisation
from tests.checkpoints import drawn_folder, drawn_pairs
from tests.engine.detection.made_trajectories import COLOURS, NOUNS, World, trajectory
from tests.fixtures.sizes import Sizes

RUN = Run("clip", "elimination", "fine-grained", 0)
PLAN = Plan(scorers=("clip",), noises=("fine-grained",), seeds=1, pairs=60, device="cpu")


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def pairs() -> LabelledPairs:
    return from_scenes(60, "fine-grained", 0)


@pytest.fixture(scope="module")
def trajectories(cache: Path, pairs: LabelledPairs) -> list[Trajectory]:
    plan = replace(PLAN, cache=cache)
    scorer = evaluation.load(plan, "clip", MODELS)
    what = {"dataset": "scenes", "noise": "fine-grained", "seed": 0, "scorer": "clip"}
    return scored.trajectories_of(cache, what, scorer, Exploring(), pairs)


def test_the_halves_split_by_image_and_depend_on_the_seed(pairs: LabelledPairs) -> None:
    several = replace(pairs, groups=[i // 3 for i in range(300)])
    test = test_half(several, 0)
    assert test.sum() == 150
    assert all(len(set(test[i : i + 3].tolist())) == 1 for i in range(0, 300, 3))
    assert (test != test_half(several, 1)).any()
    assert (test == test_half(several, 0)).all()
    test_rows = np.arange(300) % 7 == 0
    assert (test_half(replace(several, test=test_rows), 0) == test_rows).all()


def test_selection_and_calibration_never_see_the_test_half(
    pairs: LabelledPairs, trajectories: list[Trajectory]
) -> None:
    features = feature_matrix(trajectories)
    test = test_half(pairs, 0)
    lied = np.where(test, ~pairs.wrong, pairs.wrong)
    honest = judge(features, pairs.captions, pairs.wrong, pairs.groups, test, 0)
    fooled = judge(features, pairs.captions, lied, pairs.groups, test, 0)
    for name in ("p_error", "s_0", "s_0_and_length", "text_only"):
        np.testing.assert_array_equal(getattr(honest, name), getattr(fooled, name))
    # Other test rows do not change a row's probability.
    moved = features.copy()
    moved[np.flatnonzero(test)[1:]] = 0.0
    again = judge(moved, pairs.captions, pairs.wrong, pairs.groups, test, 0)
    assert again.p_error[0] == honest.p_error[0]


def test_figures_are_computed_on_the_test_half(
    pairs: LabelledPairs, trajectories: list[Trajectory]
) -> None:
    figures = figures_of(pairs, trajectories, RUN, detector="nine signs")
    test = test_half(pairs, 0)
    features, wrong = feature_matrix(trajectories), pairs.wrong[test]
    judged = judge(features, pairs.captions, pairs.wrong, pairs.groups, test, 0, "nine signs")
    assert figures.auc == pytest.approx(roc_auc_score(wrong, judged.log_odds))
    s_0 = np.array([trajectory.scores[0] for trajectory in trajectories])[test]
    assert figures.auc_single_score == pytest.approx(roc_auc_score(wrong, -s_0))
    assert figures.brier == pytest.approx(brier_score_loss(wrong, judged.p_error))
    precision = average_precision_score(wrong, judged.log_odds)
    assert figures.average_precision == pytest.approx(precision)
    known = [row for row, changed in enumerate(pairs.changed) if changed]
    chance = [len(pairs.changed[row]) / len(trajectories[row].first_step_scores) for row in known]
    assert figures.localisation_chance == pytest.approx(np.mean(chance))
    assert figures.localisation is not None
    by_kind = figures.localisation.by_kind
    assert {kind: row[OURS].pairs for kind, row in by_kind.items()} == Counter(
        pairs.kinds[row] for row in known
    )
    assert figures.effort["50% of the errors"] < figures.effort["95% of the errors"]


def test_only_changed_words_count_as_hits() -> None:
    """In this world the trajectory reveals which colour or noun is false; nothing else is false."""
    world = World(60, wrong_share=1.0, seed=2, noise=0.02)
    words = [Caption.parse(text).words for text in world.captions]
    false = [
        frozenset(i for i, w in enumerate(line) if w in COLOURS + NOUNS and w not in known)
        for line, known in zip(words, world.truth, strict=True)
    ]
    pairs = LabelledPairs(
        world.captions, world.captions, world.wrong, false, ["noun"] * 60, list(range(60)),
        lambda row: Image.new("RGB", (1, 1)),
    )  # fmt: skip
    hits = localisation(pairs, world.trajectories, test_half(pairs, 0))
    assert hits is not None
    assert hits.by_score[OURS].top1 > 0.95
    assert hits.by_score[OURS].auc > 0.95
    assert hits.by_score["word prior"].top1 < 0.8
    elsewhere = replace(pairs, changed=[frozenset({line.index("park")}) for line in words])
    missed = localisation(elsewhere, world.trajectories, test_half(pairs, 0))
    assert missed is not None
    assert missed.by_score[OURS].top1 < 0.05


@pytest.mark.parametrize(
    ("suspect", "by_word", "by_phrase"), [("brown", 1, 1), ("dog", 0, 1), ("tree", 0, 0)]
)
def test_a_word_in_the_same_phrase_is_a_hit_by_phrase(
    suspect: str, by_word: int, by_phrase: int
) -> None:
    text = "A brown dog near a green tree in the park."
    words = Caption.parse(text).words
    made = trajectory(text, [-0.3 if word == suspect else 0.1 for word in words], 0.4)
    pairs = LabelledPairs(
        [text] * 2, [text] * 2, np.array([True, True]), [frozenset({1})] * 2, ["colour"] * 2,
        [0, 1], lambda row: Image.new("RGB", (1, 1)),
    )  # fmt: skip
    hits = localisation(pairs, [made, made], np.array([True, False]))
    assert hits is not None
    rates = hits.by_score[OURS]
    assert (rates.top1, rates.phrase_top1) == (by_word, by_phrase)
    assert hits.by_kind["colour"][OURS] == rates
    assert hits.by_score["chance"].top1 < hits.by_score["chance"].phrase_top1 < 0.5


def test_the_summary_contains_means_and_standard_errors(
    pairs: LabelledPairs, trajectories: list[Trajectory]
) -> None:
    figures = figures_of(pairs, trajectories, RUN)
    runs = [replace(figures, seed=seed, auc=auc) for seed, auc in enumerate((0.7, 0.8, 0.9))]
    (row,) = summarise(runs)
    assert row.figures["auc"].mean == pytest.approx(0.8)
    assert row.figures["auc"].standard_error == pytest.approx(0.1 / 3**0.5)
    assert summarise(runs[:1])[0].figures["auc"].standard_error is None
    table = markdown(evaluation.EvaluationReport("scenes", 60, "best", runs, [row]))
    assert "0.800 ± 0.058" in table


def test_a_custom_dataset_can_be_evaluated(tmp_path: Path) -> None:
    made = drawn_pairs(60, seed=9)
    drawn_folder(tmp_path / "own", 60, seed=9)
    pairs = from_dataset(tmp_path / "own", None, 50, "fine-grained", 0)
    assert len(pairs) == 50
    assert pairs.wrong.sum() == 25
    texts = {text for _, text in made}
    for caption, wrong, changed in zip(pairs.captions, pairs.wrong, pairs.changed, strict=True):
        assert (caption in texts) != wrong or not wrong
        assert bool(changed) == bool(wrong)
    assert pairs.picture(0).size == (96, 96)
    swapped = from_dataset(tmp_path / "own", None, 50, "random", 0)
    assert not any(swapped.changed)
    assert swapped.wrong.sum() == 25
    test = test_half(swapped, 0)
    for half in (np.flatnonzero(test), np.flatnonzero(~test)):
        of_half = {swapped.originals[row] for row in half}
        assert {swapped.captions[row] for row in half} <= of_half
    with pytest.raises(DatasetFormatError, match="are needed"):
        from_dataset(tmp_path / "own", None, 5, "random", 0)


@pytest.mark.parametrize("noise", ["random", "noun"])
def test_swaps_stay_within_their_half(noise: str) -> None:
    pairs = from_scenes(80, noise, 41)
    test = test_half(pairs, 41)
    for side in (False, True):
        of_half = {pairs.originals[row] for row in np.flatnonzero(test == side)}
        assert {pairs.captions[row] for row in np.flatnonzero(test == side)} <= of_half


def test_two_generators_corrupt_the_same_pairs(pairs: LabelledPairs) -> None:
    rules = from_scenes(60, "rules", 0)
    assert rules.originals == pairs.originals
    assert rules.captions != pairs.captions
    wrong = np.flatnonzero(rules.wrong).tolist()
    assert len(wrong) > 20
    assert rules.is_true is not None
    for row in wrong:
        assert not rules.is_true(row, rules.captions[row])
        words = Caption.parse(rules.captions[row]).words
        before = Caption.parse(rules.originals[row]).words
        assert {words[i] for i in rules.changed[row]} - set(before)


def test_transfer_trains_on_one_generator_and_tests_on_another(
    cache: Path, pairs: LabelledPairs, trajectories: list[Trajectory]
) -> None:
    """The training half comes from the other generator only, the test half from this one only."""
    settings = (RUN, "rules")
    same = transfer(pairs, trajectories, pairs, trajectories, *settings, detector="nine signs")
    plain = figures_of(pairs, trajectories, RUN, detector="nine signs")
    assert (same.auc, same.auc_single_score) == (plain.auc, plain.auc_single_score)
    test = test_half(pairs, 0)
    inside = replace(pairs, wrong=np.where(test, ~pairs.wrong, pairs.wrong))
    turned = [trajectories[-1] if t else s for t, s in zip(test, trajectories, strict=True)]
    again = transfer(pairs, trajectories, inside, turned, *settings, detector="nine signs")
    assert again == same
    outside = replace(pairs, wrong=np.where(test, pairs.wrong, ~pairs.wrong))
    fooled = transfer(pairs, trajectories, outside, trajectories, *settings, detector="nine signs")
    assert fooled.auc < same.auc
    assert fooled.auc_single_score == same.auc_single_score
    with pytest.raises(ValueError, match="same pairs"):
        transfer(
            pairs, trajectories, replace(pairs, originals=pairs.captions), trajectories, *settings
        )


def test_first_steps_are_compared_with_whole_trajectories(
    cache: Path, trajectories: list[Trajectory], sizes: Sizes
) -> None:
    sizes(SPLITS=2)
    plan = replace(PLAN, cache=cache, captioners=("none",))
    report = fewer_steps.evaluate_steps(plan)
    all_captions = {r.way: r for r in report.results if r.words is None}
    first, exact = all_captions[fewer_steps.FIRST], all_captions[fewer_steps.EXACT]
    assert (exact.questions, exact.same) == (1.0, 1.0)
    words = [len(trajectory.first_step_scores) for trajectory in trajectories]
    assert first.questions == pytest.approx(sum(words) / sum(n * (n + 1) / 2 for n in words))
    for figures in (first, exact):
        assert figures.auc is not None
        assert figures.top1 is not None
        assert 0 < figures.auc < 1
    by_length = [r for r in report.results if r.words is not None and r.way == fewer_steps.EXACT]
    assert sum(r.pairs for r in by_length) == first.pairs == PLAN.pairs
    assert "| clip | all | 60 | first step |" in fewer_steps.markdown(report)
    with pytest.raises(SettingsError, match="one kind of noise"):
        fewer_steps.evaluate_steps(replace(plan, noises=("random", "noun")))


def test_captions_are_lengthened_by_true_sentences(pairs: LabelledPairs) -> None:
    longer = fewer_steps.lengthen(pairs, 0)
    assert all(a.startswith(b) for a, b in zip(longer.captions, pairs.captions, strict=True))
    assert {text.count(".") - 1 for text in longer.captions} == {0, 1, 2}
    assert longer.changed == pairs.changed
