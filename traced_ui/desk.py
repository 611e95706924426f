"""What each key and click on the review page does.

A verdict for a pair that is no longer on the page is not written: nobody has judged a pair that
they have not seen.
"""

from typing import Any, NamedTuple

import gradio as gr

from backend.errors import SettingsError, TracedError, VerdictConflict
from backend.pipeline.queue_fields import LIKENESS, START, cleaned, from_fields
from backend.views import DECISIONS, DatasetSummary, PairView
from backend.workspace import MOST_COUNTED, QueueFilter, Workspace
from traced_ui import review_page
from traced_ui.abstractness import explained_abstractness
from traced_ui.figures import trajectory_figure
from traced_ui.messages import explained, note
from traced_ui.seats import Seat, Seats
from traced_ui.steps import steps_list

PAGE = 30
_TOLD = {
    "correct": "Correct.",
    "correction": "Corrected.",
    "drop": "Wrong: dropped.",
    "abstract": "Abstract.",
    "unsure": "Unsure.",
}

#: What "more like this" sets: the field, and for a search what is compared.
_ALIKE = {
    "same-word": ("suspect_word", ""),
    "same-kind": ("suspect_kind", ""),
    "same-picture": ("like", "image"),
    "near-duplicates": ("like", "duplicate"),
    "same-caption": ("like", "caption"),
}
_STAYS = gr.skip()


class Drawn(NamedTuple):
    """What a key changes on the page, by component; the others stay as they are."""

    queue: Any = _STAYS
    stage: Any = _STAYS
    chart: Any = _STAYS
    steps: Any = _STAYS
    toast: Any = _STAYS
    check: Any = _STAYS


def _chart(figure: Any) -> gr.Plot:
    """The chart, or nothing at all: an empty frame says nothing to anybody."""
    return gr.Plot(figure, visible=figure is not None)


class Desk:
    """Everything a page can ask for."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.seats = Seats(workspace.settings.author)

    def open(self, dataset_id: int | None, request: gr.Request) -> Drawn:
        """A page has been opened or has changed its dataset; `?pair=` names a pair to open at, and
        the filter's fields the queue that it is in."""
        seat = self.seats.of(request)
        with seat.lock:
            seat.dataset_id, seat.step, seat.pages = dataset_id, 0, [None]
            asked = dict(request.query_params)
            if not seat.linked:
                seat.linked = True
                self._follow(asked, seat)
            wanted = "" if seat.waiting else str(asked.get("pair", ""))
            seat.waiting = False
            seat.pair_id = None
            try:
                if wanted.isdigit() and dataset_id is not None:
                    view = self.workspace.open_pair(int(wanted))
                    seat.pair_id = view.pair_id if view.dataset_id == dataset_id else None
            except Exception:
                seat.pair_id = None  # a link to a pair that has gone opens the queue
            try:
                if seat.pair_id is None and dataset_id is not None:
                    seat.pair_id = self._first(seat)
                return self._all(seat, "")
            except Exception as error:
                return self._message(note(explained(error), "error"))

    def why_abstract(self, request: gr.Request) -> str:
        """The words that make the caption on the page abstract; nothing for one that is not."""
        seat = self.seats.of(request)
        pair_id = seat.abstract
        if pair_id is None or pair_id != seat.pair_id or seat.grid:
            return ""
        try:
            found = self.workspace.why_abstract(pair_id)
        except TracedError:
            return ""  # the page has said already what is wrong with the pair or the model
        if found is None:
            return '<div class="abstractness"><small>The models are busy.</small></div>'
        return explained_abstractness(found)

    def _follow(self, asked: dict[str, str], seat: Seat) -> None:
        """Set the queue that an address names; one that makes no sense is no queue."""
        fields = cleaned(asked)
        try:
            from_fields(0, fields)
        except (ValueError, SettingsError):
            return
        seat.filter = fields

    def refresh(self, dataset_id: int | None, request: gr.Request) -> Drawn:
        """A job has come further. A page that waited for scores opens at the head of the queue once
        there are some; one that is being read stays where it is, with new numbers."""
        seat = self.seats.of(request)
        with seat.lock:
            if seat.pair_id is None or seat.dataset_id != dataset_id:
                return self.open(dataset_id, request)
            try:
                if seat.waiting and self.workspace.open_pair(seat.pair_id).p_error is not None:
                    return self.open(dataset_id, request)
                return self._all(seat, "")
            except Exception as error:
                return self._message(note(explained(error), "error"))

    def act(self, event: dict[str, Any], dataset_id: int | None, request: gr.Request) -> Drawn:
        """One key or click."""
        seat = self.seats.of(request)
        if event.get("action") == "check":
            return self._check(event)  # models may take their time: keys must not wait for them
        with seat.lock:
            if seat.dataset_id != dataset_id or dataset_id is None:
                return self.open(dataset_id, request)
            if seat.pair_id is None and isinstance(event.get("pair"), int):
                seat.pair_id = int(event["pair"])  # the server was restarted under an open page
            try:
                return self._do(str(event.get("action", "")), event, seat)
            except Exception as error:
                return self._message(note(explained(error), "error"))

    # ------------------------------------------------------------------ actions

    def _do(self, action: str, event: dict[str, Any], seat: Seat) -> Drawn:
        if seat.grid and (action in DECISIONS or action.startswith("suggestion-")):
            return self._message(note("Select pairs first: click them, or all with Ctrl+A."))
        if action in DECISIONS or action.startswith("suggestion-"):
            return self._decide(action, event, seat)
        if action in ("undo", "redo"):
            return self._undo(action, seat)
        if action in ("next", "previous") and seat.grid:
            return self._turn("next-page" if action == "next" else "first-page", seat)
        if action in ("next", "previous"):
            return self._go(action, seat)
        if action in ("step", "step-forward", "step-back"):
            return self._step(action, event, seat)
        if action == "open":
            seat.grid = False
            wanted = self.workspace.open_pair(int(event.get("target") or 0))
            if wanted.dataset_id != seat.dataset_id:
                raise SettingsError("That pair belongs to another dataset.")
            seat.pair_id, seat.step = wanted.pair_id, 0
            return self._all(seat, "")
        if action == "filter":
            return self._refilter(dict(event.get("filter") or {}), seat)
        if action == "grid":
            seat.grid = not seat.grid
            return self._all(seat, "")
        if action == "many":
            return self._decide_many(event, seat)
        if action == "mark-word":
            return self._mark(event, seat)
        if action in ("view", "save-view", "delete-view"):
            return self._view(action, " ".join(str(event.get("name", "")).split()), seat)
        if action in ("first-page", "next-page"):
            return self._turn(action, seat)
        if action == "clear-search":
            return self._back(seat)
        if action == "suggest" and seat.pair_id is not None:
            found = self.workspace.suggest(seat.pair_id)
            told = "" if found else note("No edit that we know improves the match.", "info")
            return self._all(seat, told)
        if action in _ALIKE:
            return self._alike(action, seat)
        return self._message("")

    def _decide(self, action: str, event: dict[str, Any], seat: Seat) -> Drawn:
        if seat.pair_id is None or event.get("pair") != seat.pair_id:
            return self._message(note("That key was for the pair before; nothing was written."))
        decision, text, suggestion = action, None, None
        if action.startswith("suggestion-"):
            offers = self.workspace.open_pair(seat.pair_id).suggestions
            place = int(action.removeprefix("suggestion-"))
            if place > len(offers):
                raise SettingsError(f"There is no suggestion {place} for this pair.")
            decision, suggestion = "correction", offers[place - 1].id
        elif action == "correction":
            text = str(event.get("text", ""))
        # Asked before the verdict: the pair may leave the queue by it.
        following = self._beside(seat, "next")
        seen = int(event.get("version") or 0)
        try:
            decided = self.workspace.decide(
                seat.pair_id, seen, decision, text, suggestion, author=seat.author
            )
        except VerdictConflict as problem:
            # Whoever is told to look again must see the pair as it is now.
            return self._all(seat, note(explained(problem), "warning"))
        told = f"{_TOLD[decision]} Saved: {decided.external_id[:60]}. Z takes it back."
        if following is None:
            following = self._first(seat)
            if following == seat.pair_id:
                following = None
        seat.step = 0
        if following is None:
            told += " That was the last pair of this queue."
        else:
            seat.pair_id = following
        return self._all(seat, note(told, "good"))

    def _decide_many(self, event: dict[str, Any], seat: Seat) -> Drawn:
        """One verdict for all that is selected in the grid."""
        decision = str(event.get("decision", ""))
        seen = [(int(pair), int(version)) for pair, version in list(event.get("pairs") or [])]
        done = self.workspace.decide_many(seen, decision, author=seat.author)
        told = f"{_TOLD[decision]} {len(done.written)} pairs saved. Z takes them all back."
        if done.passed_over:
            told += (
                f" {len(done.passed_over)} had been decided in the meantime and were left alone."
            )
        seat.pages = [None]
        seat.pair_id = self._first(seat) or seat.pair_id
        return self._all(seat, note(told, "good"))

    def _undo(self, action: str, seat: Seat) -> Drawn:
        assert seat.dataset_id is not None
        act = self.workspace.undo if action == "undo" else self.workspace.redo
        view = act(seat.dataset_id, author=seat.author)
        if view is None:
            return self._message(note(f"There is nothing to {action}."))
        seat.pair_id, seat.step = view.pair_id, 0
        now = _TOLD[view.decision] if view.decision else "Undecided again."
        done = "Taken back" if action == "undo" else "Done again"
        many = f", {view.together} verdicts at once" if view.together > 1 else ""
        return self._all(seat, note(f"{done}{many}. {now}", "good"))

    def _go(self, action: str, seat: Seat) -> Drawn:
        if seat.pair_id is None:
            return self._message("")
        target = self._beside(seat, action)
        if target is None:
            where = "last" if action == "next" else "first"
            return self._message(note(f"This is the {where} pair of this queue."))
        seat.pair_id, seat.step = target, 0
        return self._all(seat, "")

    def _step(self, action: str, event: dict[str, Any], seat: Seat) -> Drawn:
        if seat.pair_id is None:
            return self._message("")
        view = self._view_of(seat, seat.pair_id)
        if view.trajectory is None:
            return self._message("")
        wanted = {
            "step": int(event.get("step") or 0),
            "step-forward": seat.step + 1,
            "step-back": seat.step - 1,
        }[action]
        seat.step = min(max(wanted, 0), view.trajectory.steps)
        return self._pair(view, seat)

    def _refilter(self, values: dict[str, str], seat: Seat) -> Drawn:
        before = seat.filter
        # The form knows nothing of what the pairs have in common: that has a line of its own.
        seat.filter = cleaned(values)
        try:
            self._filter(seat)
        except (ValueError, SettingsError) as problem:
            seat.filter = before
            return self._message(note(str(problem), "warning"))
        seat.pages, seat.step = [None], 0
        seat.pair_id = self._first(seat) or seat.pair_id
        return self._all(seat, "")

    def _alike(self, action: str, seat: Seat) -> Drawn:
        """Pairs that have something in common with the one on the page; again: all pairs."""
        if seat.pair_id is None:
            return self._message("")
        if any(seat.filter.get(key) for key in LIKENESS):
            return self._back(seat)
        alike = self._view_of(seat, seat.pair_id).likeness
        key, way = _ALIKE[action]
        value = f"{way}:{seat.pair_id}" if way else getattr(alike, key.removeprefix("suspect_"))
        if not value:
            return self._message(note("No word of this caption is suspect."))
        seat.came_from = (seat.filter, seat.pair_id)
        return self._refilter({key: value, "review": "all", "order": "p_error"}, seat)

    def _back(self, seat: Seat) -> Drawn:
        """From pairs with something in common to the queue, and the pair, from which one came."""
        plain = {key: value for key, value in seat.filter.items() if key not in LIKENESS}
        fields, pair_id = seat.came_from or (plain, seat.pair_id)
        seat.came_from = None
        seat.filter, seat.pages, seat.step = fields, [None], 0
        seat.pair_id = pair_id
        return self._all(seat, "")

    def _mark(self, event: dict[str, Any], seat: Seat) -> Drawn:
        if seat.pair_id is None or event.get("pair") != seat.pair_id:
            return self._message(note("That click was for the pair before; nothing was written."))
        self.workspace.mark_word(seat.pair_id, int(event.get("word", -1)), author=seat.author)
        view = self._view_of(seat, seat.pair_id)
        return Drawn(stage=self._pair(view, seat).stage)

    def _view(self, action: str, name: str, seat: Seat) -> Drawn:
        """Open, keep or forget a queue with a name."""
        assert seat.dataset_id is not None
        if action == "save-view":
            self.workspace.save_view(seat.dataset_id, name, seat.filter)
            return self._all(
                seat, note(f"Saved as '{name}', for everybody on this dataset.", "good")
            )
        if action == "delete-view":
            self.workspace.delete_view(seat.dataset_id, name)
            return self._all(seat, note(f"The view '{name}' is gone."))
        return self._refilter(self._views(seat.dataset_id).get(name, START), seat)

    def _views(self, dataset_id: int) -> dict[str, dict[str, str]]:
        return {view.name: cleaned(view.fields) for view in self.workspace.saved_views(dataset_id)}

    def _turn(self, action: str, seat: Seat) -> Drawn:
        if action == "first-page":
            seat.pages = [None]
        else:
            page = self.workspace.queue_page(self._filter(seat), seat.pages[-1], PAGE)
            if page.next_cursor is not None:
                seat.pages.append(page.next_cursor)
        rows = self.workspace.queue_page(self._filter(seat), seat.pages[-1], PAGE).rows
        seat.pair_id, seat.step = (rows[0].pair_id if rows else seat.pair_id), 0
        return self._all(seat, "")

    def _check(self, event: dict[str, Any]) -> Drawn:
        """The curator's own edit, scored while it is written."""
        text, pair_id = str(event.get("text", "")), event.get("pair")
        if not text.strip() or not isinstance(pair_id, int):
            return Drawn(check="")
        try:
            view = self.workspace.open_pair(pair_id)
            found = self.workspace.check_caption(pair_id, text)
        except Exception as error:
            return Drawn(check=note(explained(error), "error"))
        return Drawn(check=review_page.checked(view, found))

    # ------------------------------------------------------------------ drawing

    def _filter(self, seat: Seat) -> QueueFilter:
        """The seat's filter for the store; SettingsError or ValueError if it makes no sense."""
        dataset_id, fields = int(seat.dataset_id or 0), seat.filter
        among = self.workspace.search(dataset_id, fields.get("meaning", ""), fields.get("like", ""))
        filter = from_fields(dataset_id, fields, among)
        return self.workspace.handed(filter, seat.author) if seat.team else filter

    def _told_count(self, filter: QueueFilter, summary: DatasetSummary) -> str:
        """How many pairs are in the queue; of very many only that, so that no key waits for it."""
        if filter == QueueFilter(summary.id, "unreviewed", order=filter.order,
                                 descending=filter.descending):  # fmt: skip
            return f"{summary.total - summary.reviewed:,}"
        count = self.workspace.queue_count(filter, MOST_COUNTED + 1)
        return f"{count:,}" if count <= MOST_COUNTED else f"more than {MOST_COUNTED:,}"

    def _view_of(self, seat: Seat, pair_id: int) -> PairView:
        return self.workspace.open_pair(pair_id, seat.author if seat.team else None)

    def _first(self, seat: Seat) -> int | None:
        """The head of the queue: the first pair that nobody else has on their screen."""
        if not seat.team:
            return self.workspace.first_pair(self._filter(seat))
        found = self.workspace.team.claim_first(self._filter(seat), seat.author, seat.held)
        seat.held = found or seat.held
        return found

    def _beside(self, seat: Seat, way: str) -> int | None:
        """The next or the previous pair that nobody else has on their screen."""
        filter, found = self._filter(seat), seat.pair_id
        while found is not None:
            before, after = self.workspace.neighbours(filter, found)
            found = after if way == "next" else before
            if found is None or self._hold(seat, found):
                return found
        return None

    def _hold(self, seat: Seat, pair_id: int) -> bool:
        """Claim the pair for this page and give back the one before; False: somebody has it."""
        if not seat.team:
            return True
        if not self.workspace.team.claim(pair_id, seat.author, seat.held):
            return False
        seat.held = pair_id
        return True

    def _all(self, seat: Seat, toast: str) -> Drawn:
        if seat.dataset_id is None:
            told = review_page.empty(
                "No dataset yet", "Bring one in on the Datasets page, or by: python app.py import"
            )
            return Drawn("", told, _chart(None), "", toast, "")
        filter = self._filter(seat)
        summary = self.workspace.summary(seat.dataset_id)
        page = self.workspace.queue_page(filter, seat.pages[-1], PAGE)
        if seat.pages[-1] is not None and seat.pair_id not in [r.pair_id for r in page.rows]:
            seat.pages = [None]
            page = self.workspace.queue_page(filter, None, PAGE)
        view = self._view_of(seat, seat.pair_id) if seat.pair_id is not None else None
        if view is not None and not self._hold(seat, view.pair_id):
            toast += note("A colleague has this pair open; who decides last is told so.")
        left = review_page.queue(
            page.rows, seat.pair_id, summary, seat.filter, self._told_count(filter, summary),
            page.next_cursor is not None, len(seat.pages) == 1,
            self._views(seat.dataset_id),
        )  # fmt: skip
        if view is None:
            if summary.total and summary.reviewed == summary.total:
                told = review_page.empty("All reviewed", "Go on to Retrain, or to Export.")
            else:
                told = review_page.empty("Nothing to show", "No pair fits these filters.")
            return Drawn(left, told, _chart(None), "", toast, "")
        if seat.grid:
            picks = review_page.grid(page.rows)
            return Drawn(left, picks, _chart(None), review_page.GRID_HELP, toast, "")
        shown = self._pair(view, seat, [r.pair_id for r in page.rows])
        return shown._replace(queue=left, toast=toast, check="")

    def _pair(self, view: PairView, seat: Seat, listed: list[int] | None = None) -> Drawn:
        """Stage, chart and steps."""
        following = (listed or [])[:]
        if view.pair_id in following:
            following = following[following.index(view.pair_id) + 1 :]
        stage = review_page.stage(view, seat.step, view.suggestions, following[:3])
        if view.limits:
            stage += note(view.limits, "warning")
        seat.waiting = view.p_error is None
        seat.abstract = view.pair_id if view.looks_abstract else None
        if view.trajectory is None:
            waiting = review_page.empty("Not scored yet", "Scores appear when the job is done.")
            return Drawn(stage=stage, chart=_chart(None), steps=waiting + review_page.beside(view))
        chart = _chart(trajectory_figure(view.trajectory, seat.step))
        steps = steps_list(view.trajectory, seat.step)
        return Drawn(stage=stage, chart=chart, steps=steps + review_page.beside(view))

    def _message(self, toast: str) -> Drawn:
        return Drawn(toast=toast)
