"""Disputes on the Team page."""

from backend.accounts.team_accounts import Team
from db import Store
from db.decisions import ENRICHED
from db.queries import dataset_queries, suggestions, verdict_queries
from db.queries.suggestions import NewSuggestion
from tests.db.building import add_dataset
from traced_ui.team import page_html


def test_an_enrichment_is_not_called_a_correction(store: Store) -> None:
    dataset, ids = add_dataset(store, 1)
    boost = NewSuggestion(ids[0], "m", "a boost", 0.1, 0.2, kind="boost")
    with store.writing() as session:
        dataset_queries.set_overlap(session, dataset, 1.0, 2)
        suggestions.save_suggestions(session, [boost])
        (row,) = suggestions.list_suggestions(session, ids[0], kind="boost")
        verdict_queries.add_verdict(
            session, ids[0], 0, "correction", "a boost", row.id, author="Ada"
        )
        verdict_queries.add_verdict(session, ids[0], 1, "correction", "a text", author="Ben")
    view = Team(store).of_dataset(dataset)  # reading needs no more  # pyrefly: ignore[bad-argument-type]
    (dispute,) = view.disputes
    judgements = {opinion.author: opinion.judgement for opinion in dispute.opinions}
    assert judgements == {"Ada": ENRICHED, "Ben": "correction"}
    page = page_html(view)
    assert "<b>Ada</b> ✎ enriched: “a boost”" in page
    assert "<b>Ben</b> ✎ corrected: “a text”" in page
