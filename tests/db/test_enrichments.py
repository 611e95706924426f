"""An accepted enrichment is no error: one place defines what a verdict means for a caption."""

import pytest

from db import Store
from db.decisions import ENRICHED, is_wrong
from db.queries import opinions, pairs, plots, progress_queries, suggestions, verdict_queries
from db.queries.suggestions import NewSuggestion
from tests.db.building import add_dataset, set_probabilities


@pytest.fixture
def boosted(store: Store) -> tuple[int, list[int], int, int]:
    """A dataset of three pairs; the first has a suggested enrichment and a suggested correction."""
    dataset, ids = add_dataset(store, 3)
    set_probabilities(store, ids, [0.2, 0.3, 0.4])
    with store.writing() as session:
        for kind in ("boost", "correction"):
            new = NewSuggestion(ids[0], kind, f"a {kind}", 0.1, 0.2, kind=kind)
            suggestions.save_suggestions(session, [new])
    with store.reading() as session:
        by_kind = {
            row.kind: row.id for row in suggestions.list_suggestions(session, ids[0], kind=None)
        }
        assert [r.kind for r in suggestions.list_suggestions(session, ids[0])] == ["correction"]
        assert [r.kind for r in suggestions.list_suggestions(session, ids[0], kind="boost")] == [
            "boost"
        ]
    return dataset, ids, by_kind["boost"], by_kind["correction"]


def errors(store: Store, dataset: int) -> tuple[int, int, int, int]:
    """The number of errors as each statistic counts them."""
    with store.reading() as session:
        return (
            pairs.counts(session, dataset).errors_found,
            progress_queries.reached(session, dataset).errors_found,
            sum(is_wrong(decision) for _, decision in progress_queries.decided(session, dataset)),
            sum(is_wrong(decision) for _, _, _, decision in plots.decided(session, dataset)),
        )


def test_an_accepted_correction_is_an_error_and_an_enrichment_is_not(
    store: Store, boosted: tuple[int, list[int], int, int]
) -> None:
    dataset, ids, boost, correction = boosted
    with store.writing() as session:
        act = verdict_queries.add_verdict(
            session, ids[0], 0, "correction", "a boost", boost, author="Ada"
        )
    assert act.enriches
    assert errors(store, dataset) == (0, 0, 0, 0)
    with store.reading() as session:
        pair = pairs.get_pair(session, ids[0])
        assert (pair.decision, pair.judgement) == ("correction", ENRICHED)
        assert pairs.counts(session, dataset).by_decision == {ENRICHED: 1}
        assert [o.judgement for o in opinions.of_pair(session, ids[0])] == [ENRICHED]
    with store.writing() as session:
        verdict_queries.add_verdict(
            session, ids[0], 1, "correction", "a correction", correction, author="Ada"
        )
    assert errors(store, dataset)[0] == 1
    with store.writing() as session:
        verdict_queries.undo_last(session, dataset, "Ada")  # the enrichment is the verdict again
    assert errors(store, dataset)[0] == 0
    with store.reading() as session:
        assert pairs.get_pair(session, ids[0]).judgement == ENRICHED
        assert [o.judgement for o in opinions.of_pair(session, ids[0])] == [ENRICHED]
    with store.writing() as session:
        verdict_queries.redo_last(session, dataset, "Ada")
    assert errors(store, dataset)[0] == 1
    with store.reading() as session:
        assert pairs.get_pair(session, ids[0]).judgement == "correction"


def test_a_typed_text_is_a_correction(
    store: Store, boosted: tuple[int, list[int], int, int]
) -> None:
    dataset, ids, _, _ = boosted
    with store.writing() as session:
        verdict_queries.add_verdict(session, ids[0], 0, "correction", "typed", author="Ada")
    assert errors(store, dataset)[0] == 1
