"""`evaluate boosting` counts each claim."""

from collections import Counter

from backend.settings import MODELS
from research.evaluation import boosted_captions
from research.scenes.caption_reading import claims_of


def test_strikes_are_counted_by_kind_except_for_what_people_wrote() -> None:
    def read(text: str) -> frozenset[str]:
        return claims_of(text) or frozenset()

    counts: dict[str, Counter[str]] = {}
    boosted_captions._count_strikes(
        counts,
        before=read("A red dog and a kite in a park."),
        after=read("A dog in a park."),
        true=read("A brown dog and a kite in a park."),
        human=read("A dog in a park."),
    )
    assert counts["colour"] == {"false": 1, "false struck": 1}
    assert counts["thing"] == {"new": 1, "new struck": 1}
    assert "place" not in counts


def test_the_real_boost_runs_over_http() -> None:
    report = boosted_captions.evaluate_boosting(boosted_captions.LEAST, 1, 3, [MODELS])
    (figures,) = report.results
    assert sum(figures.outcomes.values()) == boosted_captions.LEAST
    assert figures.requests > 0
    assert figures.asked_twice == 0
    assert figures.human == 0
    # Six pictures: no bags of seven, and all the others instead of 99.
    assert {(row.captions, row.size) for row in figures.recall} == {
        (kind, size) for kind in ("original", "blend", "holistic") for size in (3, 5, 100)
    }
    assert figures.claimed["original"].false == figures.claimed["blend"].false == 0
