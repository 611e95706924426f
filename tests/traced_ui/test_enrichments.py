"""Requesting and accepting a richer caption on the page: the original caption was correct."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from backend.review.pair import view_of
from backend.review.views import SuggestionView
from backend.workspace import Workspace
from db.blobs import encode_integers
from db.queries import run_queries, suggestion_queries
from db.queries.statements import set_columns
from db.queries.suggestion_queries import NewSuggestion
from tests.fixtures.features import needs
from tests.traced_ui.pages import Page
from traced_ui.api import Caller, decide, open_pair
from traced_ui.review_page import side_panel
from traced_ui.support import enrichments


def view_with(*richer: SuggestionView) -> Any:
    return SimpleNamespace(caption="A dog", suggestions=SimpleNamespace(enrichments=richer))


def test_richer_captions_are_listed_apart_from_corrections() -> None:
    suggestion = SuggestionView(
        7, "A red dog <b>", "vlm · blend v1", 0.2, 0.3, 0.1, 0.12, 1, 0.9, (), (3, 1, 21),
        ("the picture does not show 'a kite'",), (0.5, 0.75), ("the model reads 32 of 41 words",),
    )  # fmt: skip
    view = view_with(suggestion)
    message = str(enrichments(view))
    assert 'data-action="enrich-1"' in message
    assert "3rd → 1st of 21" in message
    assert "does not show" in message
    assert "concreteness 0.50 → 0.75" in message
    assert "the model reads 32 of 41 words" in message
    assert "<b>" not in message.replace("<kbd>", "")
    assert "<ins>red" in message
    # A description from scratch is not shown as an edit: two interleaved texts are unreadable.
    afresh = replace(suggestion, caption="On a bench at the lake, two men in red.")
    view = view_with(afresh)
    assert "On a bench at the lake, two men in red." in str(enrichments(view))
    assert enrichments(view_with()) is None


def suggest(workspace: Workspace, pair_id: int) -> dict[str, int]:
    """Two enrichments of different worth and a correction; their ids, by caption."""
    with workspace.store.writing() as session:
        suggestion_queries.save_suggestions(
            session,
            [
                NewSuggestion(pair_id, name, f"a {name}", 0.1, s_after, kind=kind, provenance=worth)
                for name, s_after, kind, worth in (
                    ("correction", 0.9, "correction", None),
                    ("longer", 0.5, "boost", {"boost": "blend", "worth": 0.3}),
                    ("longest", 0.2, "boost", {"boost": "holistic", "worth": 0.9}),
                )
            ],
        )
    suggestions = workspace.store.read(suggestion_queries.list_suggestions, pair_id, kind=None)
    return {suggestion.caption: suggestion.id for suggestion in suggestions}


def verdict(workspace: Workspace, pair_id: int) -> tuple[str | None, bool, str | None, int]:
    """(decision, enriches, caption from now on, errors of the dataset)."""
    view = workspace.review.open_pair(pair_id)
    errors = workspace.summary(view.dataset_id).errors_found
    return view.verdict.decision, view.verdict.enriches, view.verdict.corrected_caption, errors


@pytest.fixture
def page(workspace: Workspace) -> Page:
    return Page(workspace)


def test_the_accepted_enrichment_is_the_one_with_that_number_on_the_page(page: Page) -> None:
    workspace, first = page.workspace, page.pair
    suggest(workspace, first)
    assert "There is no suggestion 3" in page.press("enrich-3")
    view = page.view(first)
    assert [shown.caption for shown in view.suggestions.enrichments] == ["a longest", "a longer"]
    assert "Enriched. Saved" in page.press("enrich-1")
    assert verdict(workspace, first) == ("correction", True, "a longest", 0)
    assert page.pair != first
    assert "Undone. Undecided again." in page.press("undo")
    assert verdict(workspace, first) == (None, False, None, 0)
    redone = page.press("redo")
    assert "Enriched." in redone
    assert "Corrected." not in redone
    page.press("undo")
    page.press("enrich-2")
    assert verdict(workspace, first) == ("correction", True, "a longer", 0)
    page.press("undo")
    assert "Corrected. Saved" in page.press("suggestion-1")  # corrections are numbered separately
    assert verdict(workspace, first) == ("correction", False, "a correction", 1)


def test_the_api_reports_whether_a_verdict_enriches(page: Page) -> None:
    workspace, first = page.workspace, page.pair
    ids = suggest(workspace, first)
    caller = Caller(workspace)
    answers = [
        decide(caller, first, open_pair(caller, first).etag, "correction", suggestion=ids[caption])
        for caption in ("a longest", "a correction")
    ]
    assert [answer.enriches for answer in answers] == [True, False]
    assert open_pair(caller, first).etag == answers[-1].etag
    assert not open_pair(caller, first).enriches


def test_an_enrichment_accepted_in_a_post_is_not_an_error(page: Page) -> None:
    workspace, first = page.workspace, page.pair
    ids = suggest(workspace, first)
    order = page.post(shown=first)["ahead"]["order"]
    without = page.post(page.verdict(first, "enrich-1"), shown=order[0])
    assert "is not a verdict" in without["returned"]
    assert verdict(workspace, first) == (None, False, None, 0)
    act = page.verdict(first, "enrich-1", suggestion=ids["a longest"])
    done = page.post(act, shown=order[0])
    assert not done["returned"]
    assert "Enriched. Saved" in done["parts"]["toast"]
    assert verdict(workspace, first) == ("correction", True, "a longest", 0)
    assert not page.post(act, shown=order[0])["returned"]  # posted again: written once
    assert page.view(first).verdict.version == 1
    # An enrichment of another pair is not accepted for this one.
    other = page.post(
        page.verdict(order[0], "enrich-1", suggestion=ids["a longer"]), shown=order[1]
    )
    assert "<li " in other["returned"]
    assert "✎ enriched" in other["returned"]
    assert page.view(order[0]).verdict.decision is None


@needs("specificity")
def test_a_button_is_shown_only_while_enrichment_is_possible(page: Page) -> None:
    from backend.features.specificity.tables import Retrieval

    workspace, first = page.workspace, page.pair
    assert 'data-action="richer"' not in side_panel(workspace.review.open_pair(first))
    with workspace.store.writing() as session:
        run = run_queries.start_run(
            session, kind="specificity", dataset_id=1, scorer_kind="clip", model="m", revision="1",
            explorer="none", code_version="0.1",
            parameters={"neighbours": 20, "scale": 1.0, "pool": 3, "pictures": 3, "by": "clip"},
        )  # fmt: skip
        session.add(
            Retrieval(
                pair_id=first, run_id=run.id, rank=2, of=3, likeness=0.6, better=encode_integers(())
            )
        )
        set_columns(session, {first: {"specificity": -1.0}})
    asking = view_of(workspace.store, first, corrector="folder/longer", settings=workspace.settings)
    assert side_panel(asking).count('data-action="richer"') == 1
    assert 'data-tab="enrichments"' not in side_panel(asking), "an empty tab"
    assert not view_of(
        workspace.store, first, settings=workspace.settings
    ).suggestions.may_enrich  # no model to ask
    suggest(workspace, first)
    assert not view_of(
        workspace.store, first, corrector="folder/longer", settings=workspace.settings
    ).suggestions.may_enrich


@needs("specificity")
@needs("vision_language")
def test_without_a_model_the_answer_leads_to_where_one_is_set_up(page: Page) -> None:
    assert 'data-page="language-model"' in page.press("richer")


def test_enriching_a_caption_agrees_with_calling_it_correct(page: Page) -> None:
    workspace, first = page.workspace, page.pair
    ids = suggest(workspace, first)
    workspace.review.decide(first, 0, "correction", None, ids["a longest"], author="Ada")
    workspace.review.decide(first, 1, "correct", author="Ben")
    team = workspace.accounts.of_dataset(1)
    assert (team.right_or_wrong.pairs, team.right_or_wrong.same) == (1, 1)
    assert (team.by_verdict.pairs, team.by_verdict.same) == (1, 0)
    workspace.review.decide(first, 2, "correction", None, ids["a correction"], author="Ada")
    assert workspace.accounts.of_dataset(1).right_or_wrong.same == 0
