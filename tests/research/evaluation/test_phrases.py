"""The evaluations of phrases and selection, at a small size: they measure what they claim to."""

import pytest

from backend.engine.scoring.loading import load_scorer
from backend.settings import MODELS
from research.evaluation.composition import drawn_comparisons, evaluate_composition
from research.evaluation.selection import SHARES, evaluate_selection, make_mixture, markdown
from research.evaluation.support import evaluate_support
from research.scenes.caption_reading import claims_of
from research.scenes.truth import facts


def test_the_mixture_has_the_stated_shares_and_truth() -> None:
    mixture = make_mixture(400, 3)
    counts = {sort: mixture.sorts.count(sort) / 400 for sort in SHARES}
    assert counts == pytest.approx(SHARES, abs=0.02)
    for scene, caption, sort in zip(mixture.scenes, mixture.captions, mixture.sorts, strict=True):
        claims = claims_of(caption)
        if sort in ("right", "generic"):
            assert claims is not None
            assert claims <= facts(scene)
        elif sort == "fine":
            assert claims is None or not claims <= facts(scene)
    assert make_mixture(400, 3).captions == mixture.captions


def test_selection_keeps_half_of_the_pairs_and_few_errors() -> None:
    result = evaluate_selection(200, 1, 30, [MODELS])
    kept = {result.rule: result for result in result.results}
    assert {result.count for result in result.results} == {100}
    assert kept["alignment 50"].pool == 140
    assert kept["random 50"].pool == 200
    assert kept["alignment 50"].wrong < kept["random 50"].wrong - 0.08
    few = kept["support, 2 phrases at least"].kept["generic"]
    assert few <= kept["alignment 50"].kept["generic"]
    assert "| worst phrase (ours) |" in markdown(result)


def test_support_finds_changed_phrases() -> None:
    result = evaluate_support(60, 1, 30, [MODELS], ["clip"])
    (figures,) = result.results
    assert result.coverage >= 0.9979
    assert result.drawn_f1 >= 0.98
    assert figures.auc > 0.65
    assert figures.control is not None
    assert figures.auc > figures.control
    assert figures.covered == 1.0
    assert figures.auc_by_basis == figures.auc  # CLIP has no auxiliary score
    assert figures.auc_within > figures.control


def test_drawn_comparisons_are_scored_by_kind() -> None:
    scorer = load_scorer(str(MODELS / "scenes-clip"), "clip", "cpu")
    report = evaluate_composition(scorer, drawn_comparisons(80, 30))
    *kinds, every = report.rows
    assert every.kind == "all"
    assert every.pairs == sum(kind.pairs for kind in kinds) >= 30
    assert every.low < every.accuracy < every.high
    assert every.accuracy > 0.6
