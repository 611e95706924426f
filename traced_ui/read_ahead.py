"""Prefetch the next pairs, and save verdicts in the background.

The browser (`read_ahead.js`) has the next pairs of its queue, shows one as soon as a verdict is
given, and posts verdicts in the order in which they were given. Each names the pair, the version
and the fingerprint of what was on the screen, so that it is written to that pair or not at all.
Posting a verdict twice writes it once; a browser that got no answer posts again. Verdicts that
cannot be saved are returned with a reason, which the browser shows until it is acknowledged.

With login enabled, the pairs prefetched by a page are claimed for its curator, like the one on the
screen: nobody else gets them.
"""

import functools
from typing import Any

import fastapi
from pydantic import BaseModel, Field

from backend.errors import SettingsError, TracedError
from backend.review.queue_form import as_query
from backend.verdicts import DECISIONS, ENRICHMENT, TEXTS, saved_text
from traced_ui.login import curator_of
from traced_ui.messages import explained, note
from traced_ui.page_sessions import PageSession
from traced_ui.review_actions import OPEN_ELSEWHERE, ReviewActions, drawn_pair
from traced_ui.review_page import suggestion_items
from traced_ui.templates import render

#: Number of prefetched pairs: at 500 ms per response, enough for ten verdicts a second.
DEPTH = 5
#: Maximum number of acts in one post; the browser sends more in the next one.
MOST_ACTS = 50
#: Longest note or typed caption.
MOST_CHARACTERS = 100_000
#: The action that leaves a pair without a verdict.
_LEAVES = "next"


class Act(BaseModel):
    """A verdict as it was given, or a skipped pair (`action`: "next"). `name`: the pair's name on
    the page; `text`: the caption of a correction that was typed."""

    pair: int
    version: int
    fingerprint: str = Field(max_length=64)
    action: str = Field(max_length=40)
    name: str = Field("", max_length=300)
    suggestion: int | None = None
    text: str | None = Field(None, max_length=MOST_CHARACTERS)
    note: str = Field("", max_length=MOST_CHARACTERS)


class Batch(BaseModel):
    """A page's actions since its last post. `shown`: the pair that it shows now; `have`: the
    marks (versions) of its prefetched pairs, by pair id."""

    session: str = Field(max_length=200)
    dataset: int
    acts: list[Act] = Field(default_factory=list, max_length=MOST_ACTS)
    shown: int | None = None
    have: dict[int, str] = Field(default_factory=dict, max_length=100)


class Shown(BaseModel):
    """The pair that a page shows."""

    session: str = Field(max_length=200)
    pair: int = Field(ge=0, lt=2**63)


def add_routes(app: fastapi.FastAPI, actions: ReviewActions) -> None:
    """Add /review/acts, which takes verdicts and returns what to show next, and
    /review/later-steps, which completes what is known about the pair on the page."""

    @app.post("/review/acts")
    def acts(batch: Batch, request: fastapi.Request) -> dict[str, Any]:
        session = actions.sessions.at(batch.session, curator_of(request) or "")
        with session.lock:
            return answer(actions, session, batch)

    @app.post("/review/later-steps")
    def later_steps(shown: Shown, request: fastapi.Request) -> dict[str, Any]:
        session = actions.sessions.at(shown.session, curator_of(request) or "")
        return with_later_steps(actions, session, shown)


def with_later_steps(actions: ReviewActions, session: PageSession, shown: Shown) -> dict[str, Any]:
    """Compute what is deferred until the pair on the page is opened: its later steps, and the
    probabilities of its corrections; return the new parts of its chart, steps and corrections.

    Without the session's lock, so that no verdict waits for it. The first step stays on the page
    if the models are busy, or if they, the pair or its picture cannot be used.
    """
    nothing: dict[str, Any] = {"chart": None, "steps": None, "suggestions": None}
    try:
        before = actions.view_of(session, shown.pair)
        if before.dataset_id != session.dataset_id:
            return nothing
        if not actions.workspace.review.complete(shown.pair):
            return nothing
        step = session.step if session.pair_id == shown.pair else 0
        view = actions.view_of(session, shown.pair)
        parts = drawn_pair(view, step)
    except TracedError:
        return nothing
    known = {**nothing, "suggestions": suggestion_items(view, view.suggestions)}
    if before.trajectory is not None and before.trajectory.whole:
        return known  # the page already has chart and steps
    return {**known, "chart": parts.chart, "steps": parts.steps}


def answer(actions: ReviewActions, session: PageSession, batch: Batch) -> dict[str, Any]:
    """Save the batch's verdicts and draw the following pairs; the caller holds the session's lock.

    In the result, `returned` contains the acts that were not saved, as HTML; `order` lists the
    pairs after `of`; `drawn` contains those of `order` that the page does not have yet; `more`:
    whether the queue continues after them; `number`: anything drawn under a lower one is outdated;
    `is_unknown`: this server has not opened the page.
    """
    saved, returned = [], []
    for act in batch.acts:
        session.left(act.pair)
        if act.action == _LEAVES:
            continue
        try:
            saved.append(_save(actions, session, act))
        except Exception as error:
            label = _listed(act.action) if _is_verdict(act.action) else act.action
            returned.append(
                {
                    "pair": act.pair,
                    "name": act.name,
                    "label": label,
                    "text": act.text,
                    "reason": explained(error),
                }
            )
    if saved:
        session.undone = []
    answered: dict[str, Any] = {
        "toast": render("review/saved.html", saved=saved, is_last=False) if saved else "",
        "returned": render("review/returned_pairs.html", returned=returned) if returned else "",
        "number": next(actions.numbers),
        "is_unknown": session.dataset_id is None,
        "of": batch.shown,
        "queue": "", "order": [], "drawn": {}, "more": False, "link": None,
    }  # fmt: skip
    # The page may still show the previous dataset: the response for the next one is on its way.
    if session.dataset_id != batch.dataset or session.grid or batch.shown is None:
        return answered
    try:
        answered |= _following(actions, session, batch, batch.shown)
        if session.team and batch.shown not in session.held:
            answered["toast"] += note(OPEN_ELSEWHERE)
        return answered
    except Exception as error:  # the verdicts are already saved
        return {**answered, "toast": note(explained(error), "error")}


def _is_verdict(action: str) -> bool:
    return action in DECISIONS or action.startswith(("suggestion-", "enrich-"))


def _decision_of(action: str) -> Any:
    """The verdict given by an action; accepting a suggestion is a correction.

    >>> _decision_of("suggestion-2"), _decision_of("drop")
    ('correction', 'drop')
    """
    return action if action in DECISIONS else "correction"


def _listed(action: str) -> str:
    """The label of the verdict that an action would give."""
    enriches = action.startswith("enrich-")
    return (ENRICHMENT if enriches else TEXTS[_decision_of(action)]).listed


def _save(actions: ReviewActions, session: PageSession, act: Act) -> dict[str, str]:
    """Write one verdict; return what the page reports about it."""
    if not _is_verdict(act.action) or (act.action not in DECISIONS and act.suggestion is None):
        raise SettingsError(f"'{act.action}' is not a verdict.")
    decision = _decision_of(act.action)
    verdict = actions.workspace.review.decide(
        act.pair, act.version, decision, act.text, act.suggestion, author=session.author,
        note=act.note, fingerprint=act.fingerprint,
    )  # fmt: skip
    return {"verdict": saved_text(verdict.decision, verdict.enriches), "name": act.name}


def _following(
    actions: ReviewActions, session: PageSession, batch: Batch, shown: int
) -> dict[str, Any]:
    """The left column, and the pairs after the one that the page shows."""
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
    scoring = functools.cache(actions.workspace.jobs.last_scoring)
    for row in rows:
        mark = f"{row.verdict_version} {row.p_error} {row.s_0}"
        if row.p_error is None and (job := scoring(filter.dataset_id)) is not None:
            mark += f" {job.status}"
        order.append(row.pair_id)
        if batch.have.get(row.pair_id) != mark:
            parts = drawn_pair(actions.view_of(session, row.pair_id), scoring=scoring)
            drawn[str(row.pair_id)] = {
                "mark": mark, "stage": parts.stage, "chart": parts.chart, "steps": parts.steps,
            }  # fmt: skip
    return {
        "queue": left,
        "order": order,
        "drawn": drawn,
        "more": has_more,
        "link": as_query(session.filter),  # prefetched pairs are valid for this queue only
    }
