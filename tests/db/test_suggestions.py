"""Enrichments in the order of their worth; probabilities end with their ranking."""

from typing import Any

from db import Store
from db.queries import ranking_queries, suggestion_queries
from db.queries.suggestion_queries import NewSuggestion
from tests.db.building import add_dataset, start_run


def test_enrichments_are_sorted_by_worth(store: Store) -> None:
    """Those stored without a worth come last, best score first, as before."""
    _, (pair, _) = add_dataset(store, 2)
    worths: list[tuple[str, float, dict[str, Any] | None]] = [
        ("low", 0.9, {"worth": 0.1}), ("old", 0.3, {"boost": "blend"}),
        ("high", 0.1, {"worth": 2.0}), ("older", 0.4, None),
    ]  # fmt: skip
    new = [
        NewSuggestion(pair, "m", caption, 0.1, s, provenance=provenance, kind="boost")
        for caption, s, provenance in worths
    ]
    with store.writing() as session:
        correction = NewSuggestion(pair, "m", "a correction", 0.1, 0.2)
        suggestion_queries.save_suggestions(session, [*new, correction])
    with store.reading() as session:
        for kind in ("boost", None):
            rows = suggestion_queries.list_suggestions(session, pair, kind=kind)
            boosts = [row.caption for row in rows if row.kind == "boost"]
            assert boosts == ["high", "low", "older", "old"]
        assert suggestion_queries.open_enrichments(session, [pair], None)[pair].caption == "high"


def test_the_exported_enrichment_is_the_one_shown_first(store: Store) -> None:
    """Scores of different runs cannot be compared: those of an earlier run are not offered."""
    dataset, (pair, other) = add_dataset(store, 2)
    earlier, run = start_run(store, dataset), start_run(store, dataset, "2")
    offered = [("of another run", 9.0, earlier), ("of this one", 1.0, run), ("of none", 0.5, None)]
    with store.writing() as session:
        suggestion_queries.save_suggestions(
            session,
            [
                NewSuggestion(pair, "m", text, 0.1, 0.2, run_id=of, provenance={"worth": worth},
                              kind="boost")
                for text, worth, of in offered
            ] + [NewSuggestion(other, "m", "old", 0.1, 0.2, run_id=earlier, kind="boost")],
        )  # fmt: skip
    with store.reading() as session:
        for of_run in (run, earlier, None):
            best = suggestion_queries.open_enrichments(session, [pair, other], of_run)
            for pair_id in (pair, other):
                shown = suggestion_queries.list_suggestions(session, pair_id, of_run, kind="boost")
                assert best.get(pair_id) == next(iter(shown), None)
        assert suggestion_queries.open_enrichments(session, [pair, other], run).keys() == {pair}


def test_probabilities_of_suggestions_end_with_the_ranking_they_belong_to(store: Store) -> None:
    """Adopting, restoring and scoring again all end in `use_next`."""
    (dataset, (pair, _)), (_, (other, _)) = add_dataset(store, 2), add_dataset(store, 2, "other")
    with store.writing() as session:
        suggestion_queries.save_suggestions(
            session,
            [
                NewSuggestion(pair, "x", "A cat", 0.1, 0.9, 0.8, 0.2),
                NewSuggestion(pair, "x", "A red cat", 0.1, 0.9, 0.8, 0.3, kind="boost"),
                NewSuggestion(other, "x", "A cow", 0.1, 0.9, 0.8, 0.2),
            ],
        )
        ranking_queries.begin(session, dataset)
        ranking_queries.use_next(session, dataset)
    with store.reading() as session:
        after = {
            (row.pair_id, row.p_before, row.p_after)
            for of in (pair, other)
            for row in suggestion_queries.list_suggestions(session, of, kind=None)
        }
    # `p_before` stays: it says that the suggestion can be judged, when its pair is opened.
    assert after == {(pair, 0.8, None), (other, 0.8, 0.2)}
