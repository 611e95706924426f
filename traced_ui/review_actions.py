"""Actions of the keys and clicks on the review page.

A verdict for a pair that is no longer on the page is not written: curators must not judge pairs
that they have not seen.
"""

import itertools
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import gradio as gr
from markupsafe import Markup

from backend.engine.bulk_edit import BulkEdit
from backend.engine.captions import Caption
from backend.errors import SettingsError, TracedError, VerdictConflict
from backend.jobs.reports import JobView
from backend.review.queue_form import LIKENESS, START, cleaned, from_fields, id_in
from backend.review.views import PairView
from backend.verdicts import DECISIONS, saved_text
from backend.workspace import (
    MOST_COUNTED,
    QueueFilter,
    QueuePage,
    ReviewCounts,
    VerdictRow,
    Workspace,
)
from traced_ui import review_page
from traced_ui.abstractness import explained_abstractness
from traced_ui.messages import explained, note
from traced_ui.page_sessions import PageSession, PageSessions
from traced_ui.steps import steps_list
from traced_ui.templates import render
from traced_ui.trajectory_chart import trajectory_chart

PAGE = 30
#: Maximum number of captions that a page edits synchronously.
MOST_EDITED = 100_000
#: URL parameters of this page other than those of the queue.
_OTHER_PARAMETERS = ("dataset", "pair", "tab")
#: The filter set by "more like this": the field and, for searches, what is compared.
_SIMILAR = {
    "same-word": ("suspect_word", ""),
    "same-kind": ("suspect_kind", ""),
    "same-picture": ("like", "image"),
    "near-duplicates": ("like", "duplicate"),
    "same-caption": ("like", "caption"),
    "confused": ("like", "confused"),
}
_STAYS = gr.skip()


class Drawn(NamedTuple):
    """New content of the page's components; those left out are unchanged."""

    queue: Any = _STAYS
    stage: Any = _STAYS
    chart: Any = _STAYS
    steps: Any = _STAYS
    toast: Any = _STAYS
    check: Any = _STAYS


def _many(verdict: VerdictRow) -> str:
    return f", {verdict.together} verdicts at once" if verdict.together > 1 else ""


def _now(verdict: VerdictRow) -> str:
    return saved_text(verdict.decision, verdict.enriches)


def drawn_pair(
    view: PairView,
    step: int = 0,
    next_ids: Sequence[int] = (),
    scoring: Callable[[int], JobView | None] | None = None,
) -> Drawn:
    """Stage, chart and steps of a pair at a step. `next_ids`: pairs whose pictures to prefetch;
    `scoring`: the newest scoring job of a dataset, asked about a pair without scores."""
    stage = review_page.stage(view, step, view.suggestions, next_ids)
    if view.trajectory is None:
        waiting = review_page.not_scored(scoring(view.dataset_id) if scoring is not None else None)
        below = review_page.guidelines(view) + waiting + review_page.beside(view)
        return Drawn(stage=stage, chart="", steps=below)
    chart = trajectory_chart(view.trajectory, step)
    steps = steps_list(view.trajectory, step)
    below = review_page.guidelines(view) + steps + review_page.beside(view)
    return Drawn(stage=stage, chart=chart, steps=below)


#: Handler of an action: (review actions, action name, data from the browser, session).
Handler = Callable[["ReviewActions", str, dict[str, Any], PageSession], Drawn]
#: Handlers of all keys and clicks, by action. Add one as a method decorated with `@on`.
ACTIONS: dict[str, Handler] = {}


def on(*actions: str) -> Callable[[Handler], Handler]:
    """Register the method as the handler of these actions."""

    def register(handler: Handler) -> Handler:
        ACTIONS.update(dict.fromkeys(actions, handler))
        return handler

    return register


#: Shown with a pair that is claimed by another curator.
OPEN_ELSEWHERE = "A colleague has this pair open; the second to save will be notified."
#: Actions that give a verdict: its name, or accepting a suggestion.
_VERDICTS = (*DECISIONS, "suggestion", "enrich")


def _name_of(action: str) -> str:
    """The registered name of an action, without the index of a suggestion.

    >>> _name_of("suggestion-12"), _name_of("same-word")
    ('suggestion', 'same-word')
    """
    return re.sub(r"-[0-9]+$", "", action)


class ReviewActions:
    """All actions of the page."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.sessions = PageSessions(workspace.settings.author)
        #: Numbers the responses to all pages, so that a page recognises one that arrives late;
        #: after a restart of the server they are higher.
        self.numbers = itertools.count(time.time_ns() // 1000)

    def open(self, dataset_id: int | None, request: gr.Request) -> Drawn:
        """Open the page, or switch its dataset. In the URL, `?pair=` names the pair to open, and
        the filter's fields its queue."""
        session = self.sessions.of(request)
        with session.lock:
            session.dataset_id, session.step, session.pages = dataset_id, 0, [None]
            session.visited = []
            parameters = dict(request.query_params)
            toast = ""
            if not session.linked and not self._names_another(parameters, dataset_id):
                session.linked = True
                toast = self._follow(parameters, session)
            try:
                self._check_filter(session)
            except Exception as problem:  # the filter was made for the previous dataset
                session.filter = dict(START)
                toast += note(f"{explained(problem)} The filters were cleared.", "warning")
            wanted = "" if session.waiting else str(parameters.get("pair", ""))
            session.waiting = False
            session.pair_id = None
            try:
                if (pair_id := id_in(wanted)) is not None and dataset_id is not None:
                    view = self.workspace.review.open_pair(pair_id)
                    session.pair_id = view.pair_id if view.dataset_id == dataset_id else None
            except Exception:
                session.pair_id = None  # a link to a deleted pair opens the queue
            try:
                if session.pair_id is None and dataset_id is not None:
                    session.pair_id = self._first(session)
                return self._all(session, toast)
            except Exception as error:
                return self._message(note(explained(error), "error"))

    def why_abstract(self, request: gr.Request) -> str:
        """The words that make the caption on the page abstract; empty if it is not abstract."""
        session = self.sessions.of(request)
        pair_id = session.abstract
        if pair_id is None or pair_id != session.pair_id or session.grid:
            return ""
        try:
            abstractness = self.workspace.review.why_abstract(pair_id)
        except TracedError:
            return ""  # the page already shows what is wrong with the pair or the model
        if abstractness is None:
            return render("models_busy.html")
        return explained_abstractness(abstractness)

    def _follow(self, parameters: dict[str, str], session: PageSession) -> str:
        """Set the queue named in a URL. An invalid one is ignored, and the returned note says
        why."""
        other_keys = {
            key for key in parameters if key in _OTHER_PARAMETERS or key.startswith("__")
        }  # __: Gradio's
        before = session.filter
        try:
            session.filter = cleaned(parameters, other_keys)
            self._check_filter(session)
        except Exception as problem:
            session.filter = before
            return note(f"{explained(problem)} The address was ignored.", "warning")
        return ""

    def _names_another(self, parameters: dict[str, str], dataset_id: int | None) -> bool:
        """Whether a URL names another dataset, to which the page will change: the URL is evaluated
        then."""
        named = id_in(parameters.get("dataset", ""))
        if named is None or named == dataset_id:
            return False
        try:
            self.workspace.guidelines(named)
        except TracedError:
            return False  # it has been deleted
        return True

    def _check_filter(self, session: PageSession) -> None:
        """Raises TracedError if the queue cannot be shown in the session's dataset."""
        if session.dataset_id is None:
            from_fields(0, session.filter)
        else:
            self.filter_of(session)

    def refresh(self, dataset_id: int | None, request: gr.Request) -> Drawn:
        """Update the page after progress of a job. A page waiting for scores opens at the head of
        the queue once there are some; any other stays where it is, with new numbers."""
        session = self.sessions.of(request)
        with session.lock:
            if session.pair_id is None or session.dataset_id != dataset_id:
                return self.open(dataset_id, request)
            try:
                if (
                    session.waiting
                    and self.workspace.review.open_pair(session.pair_id).p_error is not None
                ):
                    return self.open(dataset_id, request)
                return self._same(session)
            except Exception as error:
                return self._message(note(explained(error), "error"))

    def act(self, event: dict[str, Any], dataset_id: int | None, request: gr.Request) -> Drawn:
        """Handle one key or click."""
        session = self.sessions.of(request)
        with session.lock:
            if session.dataset_id != dataset_id or dataset_id is None:
                return self.open(dataset_id, request)
            try:
                return self._do(str(event.get("action", "")), event, session)
            except Exception as error:
                return self._message(note(explained(error), "error"))

    # ------------------------------------------------------------------ actions

    def _do(self, action: str, event: dict[str, Any], session: PageSession) -> Drawn:
        if session.grid and _name_of(action) in _VERDICTS:
            return self._message(note("Select pairs first: click them, or all with Ctrl+A."))
        if action == "meant" and session.unconfirmed is not None:
            event, session.unconfirmed = {**session.unconfirmed, "meant": True}, None
            action = str(event["action"])
        session.unconfirmed = None
        handler = ACTIONS.get(_name_of(action))
        return self._message("") if handler is None else handler(self, action, event, session)

    @on("open")
    def _open(self, action: str, event: dict[str, Any], session: PageSession) -> Drawn:
        session.grid = False
        wanted = self.workspace.review.open_pair(int(event.get("target") or 0))
        if wanted.dataset_id != session.dataset_id:
            raise SettingsError("That pair belongs to another dataset.")
        session.leave()
        session.pair_id, session.step = wanted.pair_id, 0
        return self._all(session, "")

    @on("grid")
    def _grid(self, action: str, event: dict[str, Any], session: PageSession) -> Drawn:
        session.grid = not session.grid
        return self._all(session, "")

    @on("suggest")
    def _suggest(self, action: str, event: dict[str, Any], session: PageSession) -> Drawn:
        if session.pair_id is None:
            return self._message("")
        suggestions = self.workspace.review.suggest(session.pair_id)
        message = "" if suggestions else note("No known edit improves the match.", "info")
        return self._all(session, message)

    @on("richer")
    def _richer(self, action: str, event: dict[str, Any], session: PageSession) -> Drawn:
        if session.pair_id is None:
            return self._message("")
        outcome = self.workspace.jobs.enrich(session.pair_id)
        message = "" if outcome == "offered" else note(f"No richer caption: {outcome}.", "info")
        return self._all(session, message)

    @on(*_VERDICTS)
    def _decide(self, action: str, event: dict[str, Any], session: PageSession) -> Drawn:
        if session.pair_id is None or event.get("pair") != session.pair_id:
            return self._message(
                note("That key was meant for the previous pair; nothing was written.")
            )
        if not event.get("meant") and (question := self._question(action, event, session)):
            return self._message(question)
        decision, text, suggestion = action, None, None
        if action.startswith(("suggestion-", "enrich-")):
            kind = "boost" if action.startswith("enrich-") else "correction"
            suggestions = self.workspace.review.suggestions(session.pair_id, kind)
            place = int(action.rpartition("-")[2])
            if place > len(suggestions):
                raise SettingsError(f"There is no suggestion {place} for this pair.")
            decision, suggestion = "correction", suggestions[place - 1].id
        elif action == "correction":
            text = str(event.get("text", ""))
        # Queried before the verdict, which may remove the pair from the queue.
        filter = self.filter_of(session)
        following = self._neighbour(session, "next", filter)
        seen = int(event.get("version") or 0)
        try:
            verdict = self.workspace.review.decide(
                session.pair_id, seen, decision, text, suggestion, author=session.author,
                note=str(event.get("note") or ""),
            )  # fmt: skip
        except VerdictConflict as problem:
            # A curator who is asked to check again must see the current state of the pair.
            return self._all(session, note(explained(problem), "warning"))
        # no name: the server was restarted
        saved = [{"verdict": _now(verdict), "name": session.name or f"pair {session.pair_id}"}]
        if following is None:
            following = self._first(session)
            if following == session.pair_id:
                following = None
        session.step, session.undone = 0, []
        message = render("review/saved.html", saved=saved, is_last=following is None)
        if following is not None:
            session.leave()
            session.pair_id = following
        return self._all(session, message, filter)

    @on("many")
    def _decide_many(self, action: str, event: dict[str, Any], session: PageSession) -> Drawn:
        """Record one verdict for all pairs selected in the grid."""
        decision = str(event.get("decision", ""))
        seen = [(int(pair), int(version)) for pair, version in list(event.get("pairs") or [])]
        done = self.workspace.review.decide_many(
            seen, decision, author=session.author, note=str(event.get("note") or "")
        )
        message = f"{saved_text(decision, False)} {len(done.written)} pairs saved."
        message += " Press Z to undo them all."
        if done.passed_over:
            message += (
                f" {len(done.passed_over)} had been decided in the meantime and were left alone."
            )
        session.pages, session.undone = [None], []
        session.pair_id = self._first(session)
        return self._all(session, note(message, "good"))

    @on("save-note")
    def _annotate(self, action: str, event: dict[str, Any], session: PageSession) -> Drawn:
        """Save the note with the pair's existing verdict."""
        if session.pair_id is None or event.get("pair") != session.pair_id:
            return self._message(
                note("That note was meant for the previous pair; nothing was written.")
            )
        try:
            self.workspace.review.annotate(
                session.pair_id, int(event.get("version") or 0), str(event.get("note") or ""),
                author=session.author,
            )  # fmt: skip
        except VerdictConflict as problem:
            return self._all(session, note(explained(problem), "warning"))
        session.undone = []
        return self._all(session, note("The note is saved. Press Z to undo.", "good"))

    @on("replace", "edit-preview", "edit-apply")
    def _edit(self, action: str, event: dict[str, Any], session: PageSession) -> Drawn:
        """Edit many captions at once: show the form, preview the edit, or apply it."""
        assert session.dataset_id is not None
        pairs = tuple(int(pair) for pair, _ in list(event.get("pairs") or []))
        if action == "replace":
            return Drawn(check=review_page.bulk_edit({"scope": "selected" if pairs else "queue"}))
        given = dict(event.get("edit") or {})
        scope = str(given.get("scope"))
        if scope not in review_page.EDIT_SCOPES:
            raise SettingsError(f"There is no '{scope[:40]}' to edit.")
        if scope == "selected" and not pairs:
            raise SettingsError("No pair is selected: choose some in the grid (G).")
        fields = session.filter if scope == "queue" else {"review": "all", "order": "position"}
        filter = self.workspace.review.filter_of(session.dataset_id, fields)
        if scope == "selected":
            filter = replace(filter, among=pairs)
        if self.workspace.review.queue_count(filter, MOST_EDITED + 1) > MOST_EDITED:
            raise SettingsError(
                f"There are more than {MOST_EDITED:,} captions. Narrow the queue with filters, and "
                "edit it in several steps."
            )
        texts = {
            name: str(given.get(name) or "") for name in ("find", "replace", "prefix", "suffix")
        }
        edit = BulkEdit(**texts, is_regex=bool(given.get("regex")),
                        ignore_case=bool(given.get("case")))  # fmt: skip
        author = session.author if action == "edit-apply" else None
        done = self.workspace.review.edit_captions(filter, edit, author)
        if author is None:
            return Drawn(toast="", check=review_page.bulk_edit(given, done))
        session.undone, session.pages = [], [None]
        message = f"{done.changed:,} captions changed. Press Z to undo them all."
        if done.passed_over:
            message += (
                f" {done.passed_over:,} had been decided in the meantime and were left alone."
            )
        return self._all(session, note(message, "good"))

    def _question(self, action: str, event: dict[str, Any], session: PageSession) -> str:
        """Ask before changing a verdict that this queue does not show: a curator going through
        undecided pairs probably meant the next one. "" if there is nothing to ask."""
        if session.pair_id is None or not event.get("version"):
            return ""
        view = self.view_of(session, session.pair_id)
        if view.version != int(event["version"]):
            return ""  # decided by another curator meanwhile: reported as a conflict
        if view.decision is None or self._shows(session, view.pair_id):
            return ""
        session.unconfirmed = dict(event)
        return review_page.question(view, action)

    def _shows(self, session: PageSession, pair_id: int) -> bool:
        filter = self.filter_of(session)
        among = (pair_id,) if filter.among is None or pair_id in filter.among else ()
        return self.workspace.review.queue_count(replace(filter, among=among), 1) > 0

    @on("undo")
    def _undo(self, action: str, event: dict[str, Any], session: PageSession) -> Drawn:
        assert session.dataset_id is not None
        verdict = self.workspace.review.undo(session.dataset_id, author=session.author)
        if verdict is None:
            return self._message(note("There is nothing to undo."))
        session.undone.append(session.pair_id)
        session.pair_id, session.step = verdict.pair_id, 0
        return self._all(session, note(f"Undone{_many(verdict)}. {_now(verdict)}", "good"))

    @on("redo")
    def _redo(self, action: str, event: dict[str, Any], session: PageSession) -> Drawn:
        """Redo the verdict and return to where the curator was: if the page stayed on the decided
        pair, the next key would change its verdict."""
        assert session.dataset_id is not None
        verdict = self.workspace.review.redo(session.dataset_id, author=session.author)
        if verdict is None:
            return self._message(note("There is nothing to redo."))
        session.pair_id, session.step = verdict.pair_id, 0
        before = session.undone.pop() if session.undone else None
        if before is None or before == verdict.pair_id:
            before = self._neighbour(session, "next", self.filter_of(session)) or self._first(
                session
            )
        session.pair_id = before or verdict.pair_id
        name = self.workspace.review.open_pair(verdict.pair_id).external_id[:60]
        return self._all(session, note(f"Redone{_many(verdict)}: {name}. {_now(verdict)}", "good"))

    @on("visit")
    def _visit(self, action: str, event: dict[str, Any], session: PageSession) -> Drawn:
        """Browser back or forward: open the queue and the pair named in the URL."""
        parameters = dict(event.get("address") or {})
        message = self._follow({str(key): str(value) for key, value in parameters.items()}, session)
        wanted = id_in(str(parameters.get("pair", "")))
        view = self.workspace.review.open_pair(wanted) if wanted is not None else None
        is_here = view is not None and view.dataset_id == session.dataset_id
        session.pages, session.step, session.grid = [None], 0, False
        session.pair_id = view.pair_id if view is not None and is_here else self._first(session)
        return self._all(session, message)

    @on("end")
    def _end(self, action: str, event: dict[str, Any], session: PageSession) -> Drawn:
        """The browser has shown all its prefetched pairs: continue from the head of the queue."""
        session.leave()
        session.pages, session.step = [None], 0
        session.pair_id = self._first(session)
        return self._all(session, note("That was the last pair of this queue."))

    @on("next", "previous")
    def _go(self, action: str, event: dict[str, Any], session: PageSession) -> Drawn:
        if session.grid:
            return self._turn("next-page" if action == "next" else "first-page", event, session)
        if session.pair_id is None:
            return self._message("")
        filter = self.filter_of(session)
        back = self._back_through_visited(session) if action == "previous" else None
        target = back or self._neighbour(session, action, filter)
        if target is None:
            where = "last" if action == "next" else "first"
            return self._message(note(f"This is the {where} pair of this queue."))
        if action == "next":
            session.leave()
        session.pair_id, session.step = target, 0
        return self._all(session, "", filter)

    def _back_through_visited(self, session: PageSession) -> int | None:
        """The pair that was on the page before, even if it is no longer in the queue: a pair just
        decided has left a queue of undecided pairs. None if there is none."""
        while session.visited:
            pair_id = session.visited.pop()
            if pair_id != session.pair_id and self._hold(session, pair_id):
                return pair_id
        return None

    @on("redraw")
    def _redraw(self, action: str, event: dict[str, Any], session: PageSession) -> Drawn:
        """Redraw: an older response has overtaken a newer one (`late_answers.js`)."""
        return self._same(session)

    @on("step", "step-forward", "step-back")
    def _step(self, action: str, event: dict[str, Any], session: PageSession) -> Drawn:
        if session.pair_id is None:
            return self._message("")
        view = self.view_of(session, session.pair_id)
        if view.trajectory is None:
            return self._message("")
        wanted = {
            "step": int(event.get("step") or 0),
            "step-forward": session.step + 1,
            "step-back": session.step - 1,
        }[action]
        session.step = min(max(wanted, 0), view.trajectory.steps)
        return self.draw_pair(view, session)

    @on("filter")
    def _set_filter(self, action: str, event: dict[str, Any], session: PageSession) -> Drawn:
        return self._refilter(dict(event.get("filter") or {}), session)

    @on("drop-filter")
    def _drop_filter(self, action: str, event: dict[str, Any], session: PageSession) -> Drawn:
        """Remove one of the active filters."""
        name = str(event.get("name", ""))
        return self._refilter({k: v for k, v in session.filter.items() if k != name}, session)

    def _refilter(self, values: dict[str, str], session: PageSession) -> Drawn:
        before = session.filter
        # The form has no similarity fields, so it clears them: they are shown on a separate line.
        try:
            session.filter = cleaned(values)
            self.filter_of(session)
        except SettingsError as problem:
            session.filter = before
            return self._message(note(str(problem), "warning"))
        session.pages, session.step, session.visited = [None], 0, []
        session.pair_id = self._first(session)
        return self._all(session, "")

    @on(*_SIMILAR)
    def _show_similar(self, action: str, event: dict[str, Any], session: PageSession) -> Drawn:
        """Show pairs similar to the one on the page; pressed again, go back."""
        if any(session.filter.get(key) for key in LIKENESS):
            return self._back(action, event, session)
        if session.pair_id is None:
            return self._message("")
        alike = self.view_of(session, session.pair_id).likeness
        key, way = _SIMILAR[action]
        value = f"{way}:{session.pair_id}" if way else getattr(alike, key.removeprefix("suspect_"))
        if not value:
            return self._message(note("No word of this caption is suspect."))
        session.came_from = (session.filter, session.pair_id)
        return self._refilter({key: value, "review": "all", "order": "p_error"}, session)

    @on("clear-search")
    def _back(self, action: str, event: dict[str, Any], session: PageSession) -> Drawn:
        """Return from similar pairs to the previous queue and pair."""
        plain = {key: value for key, value in session.filter.items() if key not in LIKENESS}
        fields, pair_id = session.came_from or (plain, session.pair_id)
        session.came_from = None
        session.filter, session.pages, session.step = fields, [None], 0
        session.pair_id = pair_id if pair_id is not None else self._first(session)
        return self._all(session, "")

    @on("mark-word")
    def _mark(self, action: str, event: dict[str, Any], session: PageSession) -> Drawn:
        if session.pair_id is None or event.get("pair") != session.pair_id:
            return self._message(
                note("That click was meant for the previous pair; nothing was written.")
            )
        place = int(event.get("word", -1))
        is_marked = self.workspace.review.mark_word(session.pair_id, place, author=session.author)
        view = self.view_of(session, session.pair_id)
        start, end = Caption.parse(view.caption).spans[place]
        message = "is marked as wrong" if is_marked else "is no longer marked"
        toast = note(f"“{view.caption[start:end][:60]}” {message}.", "good")
        return Drawn(stage=self.draw_pair(view, session).stage, toast=toast)

    @on("view", "save-view", "delete-view")
    def _view(self, action: str, event: dict[str, Any], session: PageSession) -> Drawn:
        """Open, save or delete a named queue."""
        name = " ".join(str(event.get("name", "")).split())
        assert session.dataset_id is not None
        if action == "save-view":
            self.workspace.review.save_view(session.dataset_id, name, session.filter)
            return self._all(
                session, note(f"Saved as '{name}' for everyone working on this dataset.", "good")
            )
        if action == "delete-view":
            self.workspace.review.delete_view(session.dataset_id, name)
            return self._all(session, note(f"The view '{name}' was deleted."))
        return self._refilter(self._views(session.dataset_id).get(name, START), session)

    def _views(self, dataset_id: int) -> dict[str, dict[str, str]]:
        return {
            view.name: cleaned(view.fields)
            for view in self.workspace.review.saved_views(dataset_id)
        }

    @on("first-page", "next-page")
    def _turn(self, action: str, event: dict[str, Any], session: PageSession) -> Drawn:
        filter = self.filter_of(session)
        if action == "first-page":
            session.pages = [None]
        else:
            page = self.workspace.review.queue_page(filter, session.pages[-1], PAGE)
            if page.next_cursor is not None:
                session.pages.append(page.next_cursor)
        rows = self.workspace.review.queue_page(filter, session.pages[-1], PAGE).rows
        session.pair_id, session.step = (rows[0].pair_id if rows else None), 0
        return self._all(session, "")

    def check(self, event: dict[str, Any]) -> str:
        """Score the curator's own edit while it is being typed. Needs no session."""
        text, pair_id = str(event.get("text", "")), event.get("pair")
        if not text.strip() or not isinstance(pair_id, int):
            return ""
        try:
            view = self.workspace.review.open_pair(pair_id)
            result = self.workspace.review.check_caption(pair_id, text)
        except Exception as error:
            return note(explained(error), "error")
        return review_page.checked(view, result)

    # ------------------------------------------------------------------ drawing

    def filter_of(self, session: PageSession) -> QueueFilter:
        """The session's filter for the store. Raises SettingsError if it is invalid."""
        filter = self.workspace.review.filter_of(int(session.dataset_id or 0), session.filter)
        return self.workspace.review.handed(filter, session.author) if session.team else filter

    def _queue_size(self, filter: QueueFilter, counts: ReviewCounts) -> str:
        """The number of pairs in the queue, counted only up to a limit so that no key waits."""
        if filter == QueueFilter(counts.dataset_id, "unreviewed", order=filter.order,
                                 descending=filter.descending):  # fmt: skip
            return f"{counts.total - counts.reviewed:,}"
        count = self.workspace.review.queue_count(filter, MOST_COUNTED + 1)
        return f"{count:,}" if count <= MOST_COUNTED else f"more than {MOST_COUNTED:,}"

    def _like(self, filter: dict[str, str]) -> str:
        """The external id of the pair that the similarity search started from; "" if none."""
        pair_id = id_in(filter.get("like", "").partition(":")[2])
        return (
            self.workspace.review.open_pair(pair_id).external_id[:60] if pair_id is not None else ""
        )

    def view_of(self, session: PageSession, pair_id: int) -> PairView:
        return self.workspace.review.open_pair(pair_id, session.author if session.team else None)

    def _first(self, session: PageSession) -> int | None:
        """The head of the queue: the first pair that no other curator has on screen."""
        if not session.team:
            return self.workspace.review.first_pair(self.filter_of(session))
        pair_id = self.workspace.accounts.claim_first(
            self.filter_of(session), session.author, session.held
        )
        if pair_id is not None:
            session.hold(pair_id)
        return pair_id

    def _neighbour(self, session: PageSession, way: str, filter: QueueFilter) -> int | None:
        """The next or the previous pair that no other curator has on screen."""
        step = (
            self.workspace.review.next_pair
            if way == "next"
            else self.workspace.review.previous_pair
        )
        pair_id = session.pair_id
        while pair_id is not None:
            pair_id = step(filter, pair_id)
            if pair_id is None or self._hold(session, pair_id):
                return pair_id
        return None

    def _hold(self, session: PageSession, pair_id: int) -> bool:
        """Claim the pair for this page; False if another curator has it."""
        if not session.team:
            return True
        if not self.workspace.accounts.claim(pair_id, session.author, session.held):
            return False
        session.hold(pair_id)
        return True

    def _all(self, session: PageSession, toast: str, filter: QueueFilter | None = None) -> Drawn:
        """The whole page. `filter`: the result of `filter_of`; if given, the pair is already
        claimed."""
        if session.dataset_id is None:
            message = review_page.empty("No dataset yet", "Import one on the Datasets page.")
            return Drawn("", message, "", "", toast, "")
        is_held = filter is not None
        filter = filter or self.filter_of(session)
        view = self.view_of(session, session.pair_id) if session.pair_id is not None else None
        if view is not None and not is_held and not self._hold(session, view.pair_id):
            toast += note(OPEN_ELSEWHERE)
        if view is not None:
            self.note_shown(view, session)
        left, page, counts = self.draw_queue(session, filter)
        if view is None:
            if counts.total and counts.reviewed == counts.total:
                message = review_page.empty("All reviewed", "Continue with Retrain or Export.")
            else:
                message = review_page.empty("Nothing to show", "No pair fits these filters.")
            return Drawn(left, message, "", "", toast, "")
        if session.grid:
            suspects = self.workspace.review.suspects_of([row.pair_id for row in page.rows])
            picks = review_page.grid(page.rows, suspects)
            return Drawn(left, picks, "", review_page.guidelines(view), toast, "")
        shown = self.draw_pair(view, session, [r.pair_id for r in page.rows])
        return shown._replace(queue=left, toast=toast, check="")

    def draw_queue(
        self, session: PageSession, filter: QueueFilter
    ) -> tuple[Markup, QueuePage, ReviewCounts]:
        """The left column, with the page of pairs and the counts that it shows."""
        assert session.dataset_id is not None
        counts = self.workspace.review.counts(session.dataset_id)
        page = self.workspace.review.queue_page(filter, session.pages[-1], PAGE)
        if session.pages[-1] is not None and session.pair_id not in [r.pair_id for r in page.rows]:
            session.pages = [None]
            page = self.workspace.review.queue_page(filter, None, PAGE)
        left = review_page.queue(
            page.rows, session.pair_id, counts, session.filter, self._queue_size(filter, counts),
            page.next_cursor is not None, len(session.pages) == 1,
            self._views(session.dataset_id), self._like(session.filter), session.key,
            session.limits,
        )  # fmt: skip
        return left, page, counts

    def draw_pair(
        self, view: PairView, session: PageSession, listed: list[int] | None = None
    ) -> Drawn:
        """Stage, chart and steps of the pair that the page shows now."""
        following = (listed or [])[:]
        if view.pair_id in following:
            following = following[following.index(view.pair_id) + 1 :]
        self.note_shown(view, session)
        last = self.workspace.jobs.last_scoring
        return drawn_pair(view, session.step, following[:3], last)

    def note_shown(self, view: PairView, session: PageSession) -> None:
        """Store what later events need to know about the pair."""
        session.name = view.external_id
        session.limits = view.limits
        session.waiting = view.p_error is None
        session.abstract = view.pair_id if view.looks_abstract else None

    def _same(self, session: PageSession) -> Drawn:
        """The whole page again, with new numbers. Its last message, and its message about an edit
        being typed, are kept."""
        drawn = self._all(session, "")
        return drawn._replace(toast=drawn.toast or _STAYS, check=_STAYS)

    def _message(self, toast: str) -> Drawn:
        return Drawn(toast=toast)
