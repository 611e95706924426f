"""The layouts by numbers: the values behind their axes and thresholds."""

import math
import re
from dataclasses import replace

import pytest

import db
from backend.features.picture_map.part import thresholds_html
from backend.features.picture_map.plane import plane_of
from backend.features.picture_map.thresholds import FEWEST
from backend.features.picture_map.views import map_of
from backend.review.queue_form import clean_fields, from_fields
from backend.store import Store
from db.queries import (
    queue_queries,
    signal_queries,
    suggestion_queries,
    verdict_queries,
)
from db.queries.statements import set_columns
from tests.db.building import add_dataset, set_probabilities, start_run

PAIRS = 20


@pytest.fixture
def enriched(store: db.Store) -> tuple[Store, int]:
    """Correct and concrete pairs in order of specificity; people enriched the lower half and called
    the upper half correct."""
    dataset, ids = add_dataset(store, PAIRS)
    run = start_run(store, dataset)
    set_probabilities(store, ids, [0.1] * PAIRS)
    shares = [(n + 1) / (PAIRS + 1) for n in range(PAIRS)]
    with store.writing() as session:
        signal_queries.save_icc(session, dict.fromkeys(ids, 0.9))
        set_columns(
            session, {i: {"support": n / PAIRS, "weakest": 0.0} for n, i in enumerate(ids[1:])}
        )
        set_columns(
            session,
            {i: {"specificity": math.log(share)} for i, share in zip(ids, shares, strict=True)},
        )
        suggestion_queries.save_suggestions(
            session,
            [
                suggestion_queries.NewSuggestion(
                    i, "a", "richer", 0.1, 0.2, run_id=run, kind="boost"
                )
                for i in ids[: PAIRS // 2]
            ],
        )
    for index, pair in enumerate(ids[:-1]):
        with store.writing() as session:
            boost = [
                row.id for row in suggestion_queries.list_suggestions(session, pair, kind="boost")
            ]
            decision = "correction" if boost else "correct"
            richer = "richer" if boost else None
            verdict_queries.add_verdict(
                session, pair, 0, decision, richer, boost[0] if boost else None, author="Ada"
            )
        assert bool(boost) == (index < PAIRS // 2)
    return Store(store), dataset


def test_accepted_enrichments_set_the_threshold_for_generic_captions(
    enriched: tuple[Store, int],
) -> None:
    store, dataset = enriched
    view = plane_of(store, dataset)
    assert view.wrong == view.abstract == ()
    lowest = view.generic[0]
    # Ten enriched pairs are lowest; with two correct ones above them precision is still 80 %.
    assert math.exp(lowest.at) == pytest.approx(12 / (PAIRS + 1))
    assert (lowest.decided, lowest.precision) == (12, pytest.approx(10 / 12))
    strictest = view.generic[-1]
    assert math.exp(strictest.at) == pytest.approx(10 / (PAIRS + 1))
    html = thresholds_html(view, dataset)
    assert "share of 0.57 or less" in html
    fields = clean_fields({"order": "specificity", "specificity_to": f"{lowest.at:.4f}"})
    assert f"specificity_to={lowest.at:.4f}" in html
    assert store.read(queue_queries.count, from_fields(dataset, fields)) == lowest.waiting


def test_why_there_is_no_threshold(enriched: tuple[Store, int]) -> None:
    """Too few verdicts are one reason, a model that is no help the other."""
    store, dataset = enriched
    view = plane_of(store, dataset)
    assert view.decided == {"wrong": PAIRS - 1, "abstract": PAIRS - 1, "generic": PAIRS - 1}
    assert view.wrong == view.abstract == ()
    assert "data-decided" not in thresholds_html(view, dataset)
    few = replace(view, decided={**view.decided, "wrong": FEWEST - 1})
    assert re.findall(r'data-decided="(\d+)"', thresholds_html(few, dataset)) == ["9"]


def test_pairs_are_laid_out_by_their_numbers(enriched: tuple[Store, int]) -> None:
    store, dataset = enriched
    assert map_of(store, dataset) is None, "no map has been drawn"
    by_icc, by_share = (map_of(store, dataset, layout) for layout in ("icc", "specificity"))
    assert by_icc is not None
    assert by_share is not None
    assert by_icc.x.tolist() == by_share.x.tolist() == pytest.approx([0.1] * PAIRS)
    assert by_icc.y.tolist() == pytest.approx([0.9] * PAIRS)
    assert by_share.y.tolist() == pytest.approx([(n + 1) / (PAIRS + 1) for n in range(PAIRS)])
