"""Figures agree with scikit-learn's, and their intervals hold what they promise."""

import math
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.metrics import f1_score as sklearn_f1

from research.benchmarks import benchmark_figures as figures
from research.benchmarks.benchmark import Comparison, Content, Item
from research.benchmarks.benchmark_figures import Judgement, Sampling, measures_by_kind, measures_of
from research.benchmarks.report import report_of


def items(wrong: np.ndarray, per_group: int = 1, words: bool = False) -> list[Item]:
    return [
        Item(str(n), Path("a.png"), "a red dog", bool(is_wrong), "kind" if n % 2 else "other",
             str(n // per_group), frozenset({1} if is_wrong else ()) if words else None)
        for n, is_wrong in enumerate(wrong)
    ]  # fmt: skip


def ends(estimate: figures.Estimate) -> tuple[float, float]:
    assert estimate.low is not None
    assert estimate.high is not None
    return estimate.low, estimate.high


def test_figures_are_those_of_scikit_learn_for_any_weights() -> None:
    random = np.random.default_rng(1)
    wrong = random.random(200) < 0.3
    scores = np.round(random.normal(size=200) - wrong, 1)  # with ties
    for weights in (np.ones(200), random.integers(0, 4, 200).astype(float)):
        assert figures.auc(wrong, scores)(weights) == pytest.approx(
            roc_auc_score(wrong, -scores, sample_weight=weights)
        )
        assert figures.average_precision(wrong, scores)(weights) == pytest.approx(
            average_precision_score(wrong, -scores, sample_weight=weights)
        )
        predicted = scores < 0
        assert figures.f1(wrong, predicted)(weights) == pytest.approx(
            sklearn_f1(wrong, predicted, sample_weight=weights)
        )


def test_an_interval_covers_the_truth_as_often_as_it_says() -> None:
    """Right and wrong captions one standard deviation apart: AUC Φ(1/√2) = .760."""
    covered = 0
    for seed in range(40):
        random = np.random.default_rng(seed)
        wrong = np.arange(120) % 2 == 0
        scores = random.normal(size=120) - wrong
        content = Content(items(wrong))
        measures = measures_of(content, Judgement("", scores, ""))
        (estimate,) = Sampling([i.group for i in content.items], seed, 200).estimates(
            [measures["AUC"]]
        )
        low, high = ends(estimate)
        covered += low <= 0.7602 <= high
    assert covered >= 34


def test_captions_of_a_group_are_drawn_together() -> None:
    sampling = Sampling([str(n // 4) for n in range(40)], repetitions=50)
    for weights in sampling.weights():
        assert weights.sum() == 40
        assert (weights.reshape(10, 4) == weights.reshape(10, 4)[:, :1]).all()


def test_a_threshold_is_chosen_without_the_captions_that_it_judges() -> None:
    random = np.random.default_rng(0)
    wrong = random.random(400) < 0.5
    noise = random.normal(size=400)
    groups = [str(n) for n in range(400)]
    predicted = figures.called_wrong(wrong, noise + 3 * wrong, groups)
    assert (predicted == wrong).mean() > 0.85
    alone = figures.called_wrong(np.zeros(4, np.bool_), np.arange(4.0), list("abcd"))
    assert not alone.any()


def test_comparisons_need_every_order_and_count_ties_as_misses() -> None:
    content = Content(
        items(np.array([False, False, True, False, True])),
        [Comparison("0", ((0, 2), (1, 2)), "kind"), Comparison("1", ((3, 4),), "kind")],
    )
    scores = np.array([3.0, 2.0, 2.0, 2.0, 1.0])
    measure = measures_of(content, Judgement("", scores, ""))["pairwise accuracy"]
    assert measure(np.ones(5)) == 0.5
    captions, wrong, by_kind = measures_by_kind(content, scores)["kind"]
    assert (captions, wrong, by_kind(np.ones(5))) == (2, 0, 0.5)


def test_the_words_of_a_judge_are_measured_where_they_are_marked() -> None:
    wrong = np.arange(60) % 2 == 0
    content = Content(items(wrong, words=True))
    suspects = [np.array([0.0, 2.0 if w else 0.1, 0.2]) for w in wrong]
    measures = measures_of(content, Judgement("", np.zeros(60), "", suspects))
    assert measures["top suspect word"](np.ones(60)) == 1
    assert measures["F1 by word"](np.ones(60)) == 1
    assert "F1 by word" not in measures_of(Content(items(wrong)), Judgement("", np.zeros(60), ""))


def test_differences_are_paired_and_say_what_would_tell_them_apart() -> None:
    random = np.random.default_rng(3)
    wrong = np.arange(400) % 2 == 0
    common = random.normal(size=400)
    good = Judgement("good", common - 1.5 * wrong, "")
    worse = Judgement("worse", common - 1.0 * wrong, "")
    equal = Judgement("equal", 2 * (common - 1.5 * wrong), "")
    report = report_of("t", "f", Content(items(wrong)), [good, worse, equal], repetitions=200)
    by_pair = {(d.first, d.second): d for d in report.differences}
    clear = by_pair["good", "worse"]
    assert clear.more == 0
    low, high = ends(clear.estimate)
    assert low > 0
    (_, most), (least, _) = (ends(judge.figures["AUC"]) for judge in report.judges[:2])
    assert high - low < most - least
    assert by_pair["good", "equal"].more is None
    few = report_of(
        "t", "f", Content(items(wrong[:20])),
        [Judgement("a", good.scores[:20], ""), Judgement("b", worse.scores[:20], "")],
        repetitions=200,
    )  # fmt: skip
    assert any("20 captions (10 wrong)" in note for note in few.notes)


def test_an_undefined_figure_is_no_number() -> None:
    wrong = np.array([True, False, False])
    only = figures.estimate_of(math.nan, np.array([math.nan, 0.5]))
    assert str(only) == "– [–]"
    assert math.isnan(figures.auc(wrong, np.zeros(3))(np.array([0.0, 1.0, 1.0])))
