"""`evaluate boosting` counts each claim."""

from collections import Counter
from dataclasses import replace

from backend.settings import MODELS
from research.bags_and_recall import Recall
from research.evaluation import boosted_captions
from research.evaluation.boosted_captions import BoostingFigures, Claimed, Strikes
from research.evaluation.specificity import RecallRow
from research.scenes.caption_reading import claims_of


def recalls(size: int = 3, **hits: int) -> list[RecallRow]:
    return [RecallRow(10, kind, "mined", size, Recall(n, 100)) for kind, n in hits.items()]


FIGURES = BoostingFigures(
    seed=10,
    pictures=100,
    recall=recalls(original=80, blend=86, holistic=90),
    claimed={
        "original": Claimed(100, 400, 0, 0),
        "visual, raw": Claimed(100, 900, 40, 25),
        "blend": Claimed(90, 540, 0, 0),
        "holistic": Claimed(80, 560, 6, 5),
    },
    strikes=[Strikes("colour", 10, 7, 20, 3), Strikes("thing", 20, 14, 20, 4)],
    outcomes={"offered": 80},
    offered={"blend": 80, "holistic": 70},
    human=0,
    others=0,
    too_long=2,
    refused=9,
    requests=300,
    asked_twice=0,
)


def test_a_mark_is_reached_only_if_every_training_reaches_it() -> None:
    assert all(mark.reached for mark in boosted_captions.marks([FIGURES]))
    worse = replace(
        FIGURES,
        strikes=[Strikes("colour", 10, 5, 20, 6)],
        human=1,
        others=1,
        asked_twice=1,
        recall=recalls(original=80, blend=82, holistic=83),
    )
    missed = [mark.what for mark in boosted_captions.marks([FIGURES, worse]) if not mark.reached]
    assert missed == [
        "R@1 #3: blend - original",
        "R@1 #3: holistic - blend",
        "false claims removed by the guard",
        "true new claims removed by the guard",
        "claims of the caption itself lost after the guard",
        "claims of other people removed because of conflict or picture",
        "questions sent twice",
    ]


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
