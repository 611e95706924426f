"""Simulated verdicts: which pairs a policy shows, and the lines of the table."""

from pathlib import Path

import numpy as np
import pytest

from backend.engine.detection.features import NAMES
from research.evaluation import verdict_simulation
from research.evaluation.verdict_simulation import Policy, kind_of, outcomes, simulate, table
from research.evaluation.verdict_worlds import World, saved_worlds

PAIRS = 300


@pytest.fixture(scope="module")
def world() -> World:
    """Errors are likelier for longer captions, which the cold start does not know."""
    rng = np.random.default_rng(0)
    features = np.zeros((PAIRS, len(NAMES)))
    features[:, NAMES.index("words")] = rng.normal(size=PAIRS)
    odds = rng.normal(size=PAIRS)
    wrong = rng.random(PAIRS) < 1 / (1 + np.exp(-odds - 2 * features[:, NAMES.index("words")]))
    return World("seed-1 noun 20", features, 1 / (1 + np.exp(-odds)), wrong)


def test_a_policy_shows_each_pair_once_and_says_which_were_drawn(world: World) -> None:
    rows, drawn = Policy("", 5, first=10).select_pairs(world, 60, np.random.default_rng(0))
    assert len(set(rows.tolist())) == 60
    assert drawn[:10].all()
    assert np.flatnonzero(drawn[10:]).tolist() == list(range(4, 50, 5))
    head, none = Policy("", 0).select_pairs(world, 20, np.random.default_rng(0))
    assert head.tolist() == np.argsort(-world.p_error, kind="stable")[:20].tolist()
    assert not none.any()
    uncertain, _ = Policy("", 0, uncertain=True).select_pairs(world, 1, np.random.default_rng(0))
    assert uncertain[0] == np.abs(world.p_error - 0.5).argmin()


def test_pairs_drawn_at_random_teach_and_the_head_alone_moves_no_order(world: World) -> None:
    learnt = simulate(world, Policy("", 1), 150, 0)
    assert learnt.auc > 0.05
    assert learnt.is_order == 1
    head = simulate(world, Policy("", 0), 60, 0)
    assert (head.auc, head.is_order) == (0, 0)
    assert head.errors == world.wrong[np.argsort(-world.p_error)[:60]].sum()


def test_saved_worlds_make_one_row_for_each_policy_and_number(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verdict_simulation, "COUNTS", (30,))
    world.save(tmp_path)
    (read,) = saved_worlds(tmp_path)
    np.testing.assert_array_equal(read.features, world.features)
    assert kind_of(read) == "noun 20"
    by_kind = outcomes([read], tmp_path, draws=1)
    assert len(by_kind) == len(verdict_simulation.POLICIES)
    monkeypatch.setattr(verdict_simulation, "simulate", None)
    again = outcomes([read], tmp_path, draws=1)
    assert list(table(again)) == list(table(by_kind))
    lines = list(table(by_kind))
    assert len(lines) == 2 + len(verdict_simulation.POLICIES)
    assert len({line.count("|") for line in lines}) == 1
