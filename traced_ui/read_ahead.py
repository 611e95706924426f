"""Prefetch the next pairs, so that a verdict shows the next one at once while it is saved in the
background.

The browser (`read_ahead.js`) has the next pairs of its queue, shows one as soon as a verdict is
given, and posts verdicts in the order in which they were given: each names the pair, the version
and the fingerprint of what was on the screen, so that it goes to that pair or to none. Posting a
verdict twice writes it once; a browser that got no answer posts again. What cannot be saved comes
back with a reason, and the browser shows it until it is acknowledged.

With login enabled, the pairs that a page has ready are claimed for its curator, like the one that
it shows: nobody else gets them.
"""

from typing import Any

import fastapi
from pydantic import BaseModel, Field

from backend.errors import SettingsError
from backend.review.queue_form import as_query
from backend.verdicts import DECISIONS, TEXTS
from traced_ui.login import curator_of
from traced_ui.messages import explained, note
from traced_ui.page_sessions import PageSession
from traced_ui.review_actions import OPEN_ELSEWHERE, ReviewActions, drawn_pair
from traced_ui.templates import render

#: Pairs that a page has ready: with 500 ms for an answer, ten verdicts a second.
DEPTH = 5
#: Acts in one post; the browser sends more in the next one.
MOST_ACTS = 50
#: What leaves a pair without a verdict.
_LEAVES = "next"


class Act(BaseModel):
    """A verdict as it was given, or that the pair was passed by (`action`: "next"). `name`: what
    the page calls the pair."""

    pair: int
    version: int
    fingerprint: str = Field(max_length=64)
    action: str = Field(max_length=40)
    name: str = Field("", max_length=300)
    suggestion: int | None = None
    note: str = Field("", max_length=100_000)


class Batch(BaseModel):
    """What a page has done since its last post. `shown`: the pair that it shows now; `have`: the
    marks of the pairs that it has ready, by pair."""

    session: str = Field(max_length=200)
    dataset: int
    acts: list[Act] = Field(default_factory=list, max_length=MOST_ACTS)
    shown: int | None = None
    have: dict[int, str] = Field(default_factory=dict, max_length=100)


def add_routes(app: fastapi.FastAPI, actions: ReviewActions) -> None:
    """/review/acts: verdicts in, what to show next out."""

    @app.post("/review/acts")
    def acts(batch: Batch, request: fastapi.Request) -> dict[str, Any]:
        session = actions.sessions.at(batch.session, curator_of(request) or "")
        with session.lock:
            return answer(actions, session, batch)


def answer(actions: ReviewActions, session: PageSession, batch: Batch) -> dict[str, Any]:
    """Save what the batch says and draw what follows; the caller holds the session's lock.

    `returned` has the acts that were not saved, as HTML; `of` is the pair that `order` follows on;
    `drawn` has those pairs of `order` that the page has not; `more`: whether there are others.
    """
    saved, returned = [], []
    for act in batch.acts:
        session.left(act.pair)
        if act.action == _LEAVES:
            continue
        try:
            saved.append(_save(actions, session, act))
        except Exception as error:
            said = TEXTS[_decision_of(act.action)].listed if _is_verdict(act.action) else act.action
            returned.append(
                {"pair": act.pair, "name": act.name, "said": said, "reason": explained(error)}
            )
    if saved:
        session.undone = []
    answered: dict[str, Any] = {
        "toast": render("review/saved.html", saved=saved, is_last=False) if saved else "",
        "returned": render("review/returned_pairs.html", returned=returned) if returned else "",
        "is_stale": session.dataset_id != batch.dataset,
        "of": batch.shown,
        "queue": "", "order": [], "drawn": {}, "more": False, "link": None,
    }  # fmt: skip
    if answered["is_stale"] or session.grid or batch.shown is None:
        return answered
    try:
        answered |= _following(actions, session, batch, batch.shown)
        if session.team and batch.shown not in session.held:
            answered["toast"] += note(OPEN_ELSEWHERE)
        return answered
    except Exception as error:  # the verdicts are saved, whatever comes next
        return {**answered, "toast": note(explained(error), "error")}


def _is_verdict(action: str) -> bool:
    return action in DECISIONS or action.startswith(("suggestion-", "enrich-"))


def _decision_of(action: str) -> Any:
    """The verdict that an action gives: to accept a suggestion is to correct.

    >>> _decision_of("suggestion-2"), _decision_of("drop")
    ('correction', 'drop')
    """
    return action if action in DECISIONS else "correction"


def _save(actions: ReviewActions, session: PageSession, act: Act) -> dict[str, str]:
    """Write one verdict; what the page says of it."""
    if not _is_verdict(act.action) or (act.action not in DECISIONS and act.suggestion is None):
        raise SettingsError(f"'{act.action}' is not a verdict.")
    decision = _decision_of(act.action)
    actions.workspace.review.decide(
        act.pair, act.version, decision, None, act.suggestion, author=session.author,
        note=act.note, fingerprint=act.fingerprint,
    )  # fmt: skip
    return {"verdict": TEXTS[decision].saved, "name": act.name}


def _following(
    actions: ReviewActions, session: PageSession, batch: Batch, shown: int
) -> dict[str, Any]:
    """The left side, and the pairs behind the one that the page shows."""
    filter = actions.filter_of(session)
    if shown != session.pair_id:
        view = actions.view_of(session, shown)
        if view.dataset_id != session.dataset_id:
            raise SettingsError("That pair belongs to another dataset.")
        session.pair_id, session.step = shown, 0
        actions.note_shown(view, session)
    left, _, _ = actions.draw_queue(session, filter)
    rows = actions.workspace.review.following(filter, shown, DEPTH + 1)
    has_more, rows = len(rows) > DEPTH, rows[:DEPTH]
    if session.team:
        taken = actions.workspace.accounts.claim_each(
            [shown, *(row.pair_id for row in rows)], session.author, session.held
        )
        session.held = frozenset(taken)
        rows = tuple(row for row in rows if row.pair_id in session.held)
    order, drawn = [], {}
    for row in rows:
        mark = f"{row.verdict_version} {row.p_error} {row.s_0}"
        order.append(row.pair_id)
        if batch.have.get(row.pair_id) != mark:
            parts = drawn_pair(actions.view_of(session, row.pair_id))
            drawn[str(row.pair_id)] = {
                "mark": mark, "stage": parts.stage, "chart": parts.chart, "steps": parts.steps,
            }  # fmt: skip
    return {
        "queue": left,
        "order": order,
        "drawn": drawn,
        "more": has_more,
        "link": as_query(session.filter),  # what is ready for one queue is not for another
    }
