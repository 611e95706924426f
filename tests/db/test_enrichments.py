"""An accepted enrichment is no error: one place defines what a verdict means for a caption."""

from db import Store
from db.decisions import ENRICHED, is_wrong
from db.queries import opinion_queries, pair_queries, plot_queries, suggestion_queries
from db.queries.suggestion_queries import NewSuggestion
from tests.db.building import add_dataset, decide, redo, rows_of, set_probabilities, undo


def errors(store: Store, dataset: int) -> set[int]:
    """The number of errors, in which all statistics agree."""
    with store.reading() as session:
        return {
            pair_queries.counts(session, dataset).errors_found,
            plot_queries.review_progress(session, dataset).errors_found,
            sum(
                is_wrong(decision)
                for _, _, _, decision in plot_queries.decided_points(session, dataset)
            ),
        }


def test_an_accepted_correction_is_an_error_and_an_enrichment_is_not(store: Store) -> None:
    dataset, (pair, other, _) = add_dataset(store, 3)
    set_probabilities(store, [pair], [0.2])
    with store.writing() as session:
        new = [NewSuggestion(pair, kind, "a text", 0.1, 0.2, kind=kind)
               for kind in ("boost", "correction")]  # fmt: skip
        suggestion_queries.save_suggestions(session, new)
        (boost,) = suggestion_queries.list_suggestions(session, pair, kind="boost")
        (correction,) = suggestion_queries.list_suggestions(session, pair)

    def judgements() -> list[str | None]:
        with store.reading() as session:
            of_people = [opinion.judgement for opinion in opinion_queries.of_pair(session, pair)]
        return [rows_of(store, [pair])[0].judgement, *of_people]

    assert decide(store, pair, "correction", caption="a text", suggestion_id=boost.id).enriches
    assert (errors(store, dataset), judgements()) == ({0}, [ENRICHED, ENRICHED])
    with store.reading() as session:
        assert pair_queries.counts(session, dataset).by_decision == {ENRICHED: 1}
    decide(store, pair, "correction", caption="a text", suggestion_id=correction.id)
    assert judgements() == ["correction", "correction"]
    undo(store, dataset)  # the enrichment is the verdict again
    assert (errors(store, dataset), judgements()) == ({0}, [ENRICHED, ENRICHED])
    redo(store, dataset)
    assert judgements() == ["correction", "correction"]
    with store.reading() as session:
        assert pair_queries.counts(session, dataset).errors_found == 1
    decide(store, other, "correction", caption="typed")
    with store.reading() as session:
        assert pair_queries.counts(session, dataset).errors_found == 2
