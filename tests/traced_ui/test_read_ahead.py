"""Verdicts posted by a page: each is saved for the pair that was seen, or returned."""

import threading
from dataclasses import replace
from datetime import timedelta
from typing import Any

import gradio as gr
import pytest
from fastapi.testclient import TestClient
from sqlalchemy import update

from backend.errors import StoreError
from backend.review.views import PairView, SuggestionView
from backend.workspace import Workspace
from db.column_types import now
from db.models import Claim
from tests.engine.detection.made_trajectories import trajectory
from tests.traced_ui.test_review import Page, decisions
from traced_ui.markup import percent
from traced_ui.read_ahead import DEPTH, Batch, Shown, answer, with_later_steps
from traced_ui.review_actions import ReviewActions, drawn_pair
from traced_ui.review_page import stage, suggestion_items
from traced_ui.server import create_app
from traced_ui.steps import steps_list


@pytest.fixture
def actions(workspace: Workspace) -> ReviewActions:
    return ReviewActions(workspace)


class Reader(Page):
    """A page that reads ahead, as its script does."""

    def act(self, view: PairView, action: str, **changed: Any) -> dict[str, Any]:
        seen = {
            "pair": view.pair_id, "version": view.version, "fingerprint": view.fingerprint,
            "name": view.external_id, "action": action,
        }  # fmt: skip
        return {**seen, **changed}

    def post(
        self, *acts: dict[str, Any], shown: int | None, have: Any = None, dataset: int = 1
    ) -> dict[str, Any]:
        batch = Batch.model_validate(
            {"session": "one", "dataset": dataset, "acts": acts, "shown": shown, "have": have or {}}
        )
        return answer(self.actions, self.session, batch)

    def view(self, pair_id: int) -> PairView:
        return self.actions.workspace.review.open_pair(pair_id)


def test_following_pairs_are_drawn_once(actions: ReviewActions) -> None:
    page = Reader(actions)
    first = page.session.pair_id
    ready = page.post(shown=first)
    assert ready["order"]
    assert set(ready["drawn"]) == {str(pair) for pair in ready["order"]}
    for pair in ready["order"]:
        assert f'data-pair="{pair}"' in ready["drawn"][str(pair)]["stage"]
        assert page.view(pair).decision is None
    marks = {pair: ready["drawn"][str(pair)]["mark"] for pair in ready["order"]}
    assert page.post(shown=first, have=marks)["drawn"] == {}
    # A colleague decides one of them: the prefetched pair is outdated.
    decided = ready["order"][0]
    actions.workspace.review.decide(decided, 0, "correct")
    assert decided not in page.post(shown=first, have=marks)["order"]


def test_verdicts_go_to_the_pairs_that_were_seen(actions: ReviewActions) -> None:
    page = Reader(actions)
    first = page.session.pair_id
    order = page.post(shown=first)["order"]
    assert len(order) <= DEPTH
    acts = [page.act(page.view(first), "correct"), page.act(page.view(order[0]), "drop")]
    done = page.post(*acts, shown=order[1])
    assert "2 verdicts saved" in done["toast"]
    assert not done["returned"]
    assert page.view(first).decision == "correct"
    assert page.view(order[0]).decision == "drop"
    assert page.session.pair_id == order[1]
    assert f'data-target="{order[1]}"' in done["queue"]
    # The same post again, because the response was lost: nothing is written again.
    again = page.post(*acts, shown=order[1])
    assert not again["returned"]
    assert [page.view(pair).version for pair in (first, order[0])] == [1, 1]
    # Keys continue from what is on the page: back through it, and undo.
    page.press("previous")
    assert page.session.pair_id == order[0]
    page.press("undo")
    assert page.view(order[0]).decision is None


def test_a_verdict_that_cannot_be_saved_is_returned_with_its_pair(
    actions: ReviewActions, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = Reader(actions)
    first = page.session.pair_id
    view = page.view(first)
    order = page.post(shown=first)["order"]
    actions.workspace.review.decide(first, 0, "unsure")  # a colleague
    other = page.view(order[0])
    returned = page.post(
        page.act(view, "drop"),
        page.act(other, "drop", fingerprint="another pair"),
        page.act(page.view(order[1]), "become administrator"),
        page.act(page.view(order[2]), "correct"),
        shown=order[3],
    )
    assert "decided in the meantime" in returned["returned"]
    assert "no longer in the database" in returned["returned"]
    assert "is not a verdict" in returned["returned"]
    assert returned["returned"].count("<li ") == 3
    assert f'data-target="{first}"' in returned["returned"]
    assert page.view(first).decision == "unsure"
    assert page.view(order[0]).decision is None
    assert page.view(order[2]).decision == "correct"

    def full(*_: Any, **__: Any) -> None:
        raise StoreError("The disk is full.")

    monkeypatch.setattr(actions.workspace.review, "decide", full)
    returned = page.post(page.act(page.view(order[3]), "drop"), shown=order[3])
    assert "The disk is full" in returned["returned"]
    assert (
        "<script"
        not in page.post(
            page.act(page.view(order[3]), "<script>", name="<script>"), shown=order[3]
        )["returned"]
    )


def test_a_typed_correction_is_posted_like_any_verdict(actions: ReviewActions) -> None:
    page = Reader(actions)
    first = page.session.pair_id
    order = page.post(shown=first)["order"]
    typed = page.act(page.view(first), "correction", text="  A lighthouse at <dusk>. ")
    assert "Corrected." in page.post(typed, shown=order[0])["toast"]
    assert page.view(first).corrected_caption == "A lighthouse at <dusk>."
    # Again, because the response was lost: the same text is the same verdict.
    assert not page.post(typed, shown=order[0])["returned"]
    # A colleague was first: the text is returned with its pair, to be read and copied.
    view = page.view(order[0])
    actions.workspace.review.decide(order[0], 0, "unsure")
    late = page.act(view, "correction", text="A lighthouse at <dusk>.")
    returned = page.post(late, shown=order[1])["returned"]
    assert "A lighthouse at &lt;dusk&gt;." in returned
    assert f'data-returned="{order[0]}"' in returned
    assert page.view(order[0]).decision == "unsure"
    # An empty text is not a correction.
    empty = page.act(page.view(order[1]), "correction", text=" ")
    assert "caption is empty" in page.post(empty, shown=order[1])["returned"]


def test_a_restarted_server_saves_and_says_so(actions: ReviewActions) -> None:
    page = Reader(actions)
    first = page.session.pair_id
    view = page.view(first)
    restarted = ReviewActions(actions.workspace)
    batch = Batch.model_validate(
        {"session": "one", "dataset": 1, "acts": [page.act(view, "drop")], "shown": first}
    )
    reply = answer(restarted, restarted.sessions.at("one", ""), batch)
    assert reply["is_unknown"]
    assert not reply["returned"]
    assert page.view(first).decision == "drop"


def test_posting_verdicts_for_all_pairs_ends_the_queue(actions: ReviewActions) -> None:
    page = Reader(actions)
    pair, total = page.session.pair_id, len(decisions(actions.workspace))
    for left in range(total, 0, -1):
        ready = page.post(shown=pair)
        assert bool(ready["order"]) == (left > 1)
        assert ready["more"] == (left - 1 > DEPTH)
        following = ready["order"][0] if ready["order"] else pair
        page.post(page.act(page.view(pair), "unsure"), shown=following)
        pair = following
    assert decisions(actions.workspace) == ["unsure"] * total
    assert "last pair" in page.press("end")


class Colleague(Reader):
    """A `Reader` with login."""

    def __init__(self, actions: ReviewActions, curator: str) -> None:
        self.actions, self.dataset_id = actions, 1
        self.request = gr.Request(username=curator, session_hash="one", query_params={})
        self.shown = actions.open(1, self.request)


def test_no_pair_is_prefetched_for_two_people(actions: ReviewActions) -> None:
    ada, ben = Colleague(actions, "Ada"), Colleague(actions, "Ben")
    shown = {page: page.session.pair_id for page in (ada, ben)}
    ready = {page: page.post(shown=shown[page])["order"] for page in (ada, ben)}
    assert len(ready[ada]) == DEPTH
    assert ready[ben]
    of_ada, of_ben = {shown[ada], *ready[ada]}, {shown[ben], *ready[ben]}
    assert of_ada == ada.session.held
    assert not of_ada & of_ben
    # A verdict releases its pair, and another one is claimed at the end of the prefetched pairs.
    first, second = shown[ada], ready[ada][0]
    done = ada.post(ada.act(ada.view(first), "drop"), shown=second)
    assert not done["returned"]
    assert ada.session.held == {second, *done["order"]}
    assert first not in ada.session.held
    assert not ada.session.held & of_ben
    # Redraws by the server keep the prefetched pairs; going elsewhere releases them.
    before = ada.session.held
    ada.press("next")
    assert ada.session.held == before
    ada.press("open", target=first)
    assert ada.session.held == {first}
    assert ben.post(shown=shown[ben])["order"], "what is not ready any more is for others"


def test_a_pair_that_a_colleague_has_taken_meanwhile_is_reported(actions: ReviewActions) -> None:
    """Claims expire after a long break."""
    ada = Colleague(actions, "Ada")
    shown = ada.session.pair_id
    ready = ada.post(shown=shown)["order"]
    team = actions.workspace.accounts
    with actions.workspace.store.writing() as session:
        session.execute(update(Claim).values(expires_at=now() - timedelta(seconds=1)))
    assert team.claim_each([shown, ready[0]], "Ben") == [shown, ready[0]]
    back = ada.post(shown=shown)
    assert "A colleague has this pair open" in back["toast"]
    assert ready[0] not in back["order"]


def test_a_post_is_checked_before_anything_is_done(workspace: Workspace) -> None:
    client = TestClient(create_app(workspace, 1))
    assert client.post("/review/acts", json={"session": "x"}).status_code == 422
    act = {"pair": 1, "version": 0, "fingerprint": "", "action": "drop"}
    many = {"session": "x", "dataset": 1, "acts": [act] * 51, "shown": 1}
    assert client.post("/review/acts", json=many).status_code == 422
    foreign = {"Origin": "http://evil.example", "Sec-Fetch-Site": "cross-site"}
    post = {"session": "x", "dataset": 1, "acts": [act], "shown": 1}
    assert client.post("/review/acts", json=post, headers=foreign).status_code == 403
    reply = client.post("/review/acts", json=post).json()
    assert "no longer in the database" in reply["returned"]
    assert decisions(workspace).count("drop") == 0


def test_later_steps_of_the_pair_are_computed_without_the_page_lock(
    actions: ReviewActions, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = Reader(actions)
    pair = page.session.pair_id
    assert pair is not None
    shown = Shown(session="one", pair=pair)
    nothing = {"chart": None, "steps": None, "suggestions": None}
    assert with_later_steps(actions, page.session, shown) == nothing

    free: list[bool] = []

    def try_lock() -> None:
        free.append(page.session.lock.acquire(timeout=5))
        page.session.lock.release()

    def complete(pair_id: int) -> bool:
        verdict = threading.Thread(target=try_lock)
        verdict.start()
        verdict.join()
        return True

    monkeypatch.setattr(actions.workspace.review, "complete", complete)
    drawn = with_later_steps(actions, page.session, shown)
    assert free == [True], "a verdict would have to wait"
    assert drawn["steps"] == drawn_pair(page.view(pair)).steps
    assert drawn["chart"] is not None
    gone = Shown(session="one", pair=2**40)
    assert with_later_steps(actions, page.session, gone)["steps"] is None

    scored = replace(page.view(pair), trajectory=trajectory("a red dog", [0.1, -0.2, 0.1], 0.5))
    monkeypatch.setattr(actions, "view_of", lambda *_: scored)
    known = {**nothing, "suggestions": suggestion_items(scored, scored.suggestions)}
    assert with_later_steps(actions, page.session, shown) == known, (
        "its trajectory is whole already"
    )


def test_corrections_without_a_probability_are_marked_for_the_page(actions: ReviewActions) -> None:
    page = Reader(actions)
    assert page.session.pair_id is not None
    view = page.view(page.session.pair_id)
    judged = SuggestionView(1, "A red dog", "guided infill", 0.1, 0.4, 0.9, 0.2, 1, 0.8)
    waiting = replace(judged, id=2, p_after=None)
    assert "data-unjudged" not in stage(view, 0, [judged], ())
    drawn = stage(view, 0, [judged, waiting], ())
    assert "data-unjudged" in drawn
    assert suggestion_items(view, [judged, waiting]) in drawn
    assert drawn.count(f"p {percent(0.9)} → ") == 1
    # Nothing can be computed without a classifier.
    assert "data-unjudged" not in stage(view, 0, [replace(waiting, p_before=None)], ())


def test_the_page_says_that_only_the_first_step_is_known() -> None:
    whole = trajectory("a red dog", [0.1, -0.2, 0.1], 0.5)
    assert "Only the first step" in steps_list(whole.first_step())
    assert "Only the first step" not in steps_list(whole)
