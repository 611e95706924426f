"""Feature rows of fixed length."""

from dataclasses import replace

import numpy as np
import pytest

from backend.engine.captions import Caption
from backend.engine.detection.features import (
    AUXILIARY,
    NAMES,
    PAPER,
    SUMMARY,
    feature_matrix,
    log_odds,
)
from backend.engine.detection.localisation import word_scores
from backend.engine.trajectories.trajectory import AuxiliaryScores, Trajectory
from tests.engine.detection.made_trajectories import trajectory


def value(row: np.ndarray, name: str) -> float:
    return float(row[NAMES.index(name)])


def test_a_row_holds_what_can_be_read_off_the_curves() -> None:
    walked = trajectory("a red dog", [0.0, -0.3, 0.2], start=0.4)
    (row,) = feature_matrix([walked])
    assert value(row, "s_0") == pytest.approx(0.4)
    assert value(row, "log-odds of s_0") == pytest.approx(np.log(0.4 / 0.6), abs=1e-5)
    assert value(row, "gain of the best step") == pytest.approx(0.3)
    assert value(row, "gain of step 1") == pytest.approx(0.3)
    assert value(row, "words removed until the peak") == 1
    assert value(row, "position of the peak") == pytest.approx(1 / 3)
    assert value(row, "gain per word until the peak") == pytest.approx(0.3)
    assert value(row, "largest deletion gain") == pytest.approx(0.3)
    assert value(row, "second largest deletion gain") == pytest.approx(0.0, abs=1e-6)
    assert value(row, "share of words whose deletion helps") == pytest.approx(1 / 3)
    assert value(row, "s at 100% of the steps") == pytest.approx(walked.scores[-1])
    assert value(row, "words") == 3


def test_every_length_gives_a_finite_row() -> None:
    alone = Trajectory(
        Caption.parse("!"), np.array([0.2], np.float32), np.ones(1, np.float32), (),
        np.zeros(0, np.float32),
    )  # fmt: skip
    texts = ["dog", "a dog", "word " * 40, "word " * 75, "word " * 80]
    rows = feature_matrix([alone, *(trajectory(t, [0.01] * len(t.split()), 0.5) for t in texts)])
    assert rows.shape == (6, len(NAMES))
    assert np.isfinite(rows[:, : len(SUMMARY)]).all()
    # The paper's own columns end where the trajectory does.
    papers = rows[:, [NAMES.index(name) for name in PAPER]]
    finite = np.isfinite(papers).sum(1)
    # CLIP reads 75 tokens: 151 values with s_0.
    assert finite.tolist() == [0, 2, 4, 80, 150, 150]
    assert value(rows[4], "s_75") == pytest.approx(value(rows[4], "s at 100% of the steps"))
    assert np.isfinite(np.delete(rows, [NAMES.index(name) for name in PAPER], axis=1)).all()
    assert value(rows[2], "s_2") == pytest.approx(rows[2, NAMES.index("s at 100% of the steps")])
    assert np.isnan(value(rows[2], "c_3"))
    assert feature_matrix([]).shape == (0, len(NAMES))


def test_the_papers_mean_of_c_begins_with_step_1() -> None:
    """Table 4: 1/T of the sum of c_1 to c_T, the same for every length of a constant c."""
    c = np.array([1.0, 0.6, 0.6, 0.6], np.float32)
    short, long = trajectory("a dog", [0.1] * 2, 0.4), trajectory("a red dog", [0.1] * 3, 0.4)
    rows = feature_matrix([replace(short, similarities=c[:3]), replace(long, similarities=c)])
    mean = [value(row, "mean c of steps 1 to T") for row in rows]
    assert mean == pytest.approx([0.6, 0.6])


def test_an_auxiliary_score_has_columns_of_its_own_that_are_0_without_one() -> None:
    plain = trajectory("a red dog", [0.0, -0.3, 0.2], start=0.4)
    auxiliary = AuxiliaryScores(
        np.array([0.1, 0.4, 0.2, 0.0], np.float32), np.array([0.1, 0.3, 0.0], np.float32)
    )
    with_it, without = feature_matrix([replace(plain, auxiliary=auxiliary), plain])
    columns = [NAMES.index(name) for name in AUXILIARY]
    assert not without[columns].any()
    assert (np.delete(with_it, columns)[: len(SUMMARY)] == without[: len(SUMMARY)]).all()
    expected_values = {
        "s_0": 0.1, "gain of the best step": 0.3, "gain of step 1": 0.3, "sum of the rises": 0.3,
        "position of the peak": 1 / 3, "largest deletion gain": 0.2, "smallest deletion gain": -0.1,
        "gain until the peak of s": 0.3, "s at 100% of the steps": 0.0,
        "share of words whose deletion helps": 1 / 3,
    }  # fmt: skip
    for name, expected in expected_values.items():
        assert value(with_it, f"auxiliary score: {name}") == pytest.approx(expected, abs=1e-6)


def test_an_auxiliary_score_influences_the_suspect_words() -> None:
    """The trajectory suspects "red"; an auxiliary score that suspects "dog" halves the lead."""
    plain = trajectory("a red dog", [0.0, -0.3, -0.2], start=0.4)
    auxiliary = AuxiliaryScores(np.zeros(4, np.float32), np.array([0.0, 0.0, 0.3], np.float32))
    both = word_scores(replace(plain, auxiliary=auxiliary))
    alone = word_scores(plain)
    assert alone[1] > alone[2]
    assert both[1] - both[2] < (alone[1] - alone[2]) / 2
    # If no edit raises s, the auxiliary score alone decides.
    calm = trajectory("a red dog", [0.1, 0.1, 0.1], start=0.4)
    assert not word_scores(calm).any()
    assert word_scores(replace(calm, auxiliary=auxiliary)).argmax() == 2


def test_expanded_scores_keep_their_order() -> None:
    scores = np.array([-1, -0.3, -1e-3, 0, 1e-5, 2e-5, 1e-3, 0.3, 0.7, 0.999, 0.9999])
    assert (np.diff(log_odds(scores)) >= 0).all()
    assert np.ptp(log_odds(np.array([2e-5, 1e-3]))) > 3
