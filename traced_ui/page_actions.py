"""An open page during one request: its state, what draws it, and the register of its actions.

The actions are methods of `queue_actions`, `verdict_actions` and `tag_actions`;
features and packages add others.
"""

import functools
import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from markupsafe import Markup
from pydantic import BaseModel, Field, ValidatorFunctionWrapHandler, WrapValidator

from backend.counts import count_of
from backend.datasets.reading.pair_checks import pair_name
from backend.errors import SettingsError, TracedError
from backend.jobs.job_view import JobView
from backend.review.pair import languages_not_read
from backend.review.queue import is_plain
from backend.review.queue_form import START, as_query, clean_fields, from_fields, id_in
from backend.review.views import PairView
from backend.verdict_texts import DECISIONS
from backend.workspace import MOST_COUNTED, QueueFilter, QueuePage, ReviewCounts, Workspace
from traced_ui import overview, queue_panel, review_page
from traced_ui.keyboard import KEYS, Key
from traced_ui.messages import explain_on_page, note
from traced_ui.overview import GridButton
from traced_ui.page_state import MOST_ROWS, PageState
from traced_ui.templates import part, render
from traced_ui.trajectory_chart import steps_list, trajectory_chart
from traced_ui.undo_list import LISTED, list_undoable

PAGE = 30
#: Longest note or typed caption of a request; the store has its own limits.
MOST_CHARACTERS = 100_000
#: Shown with a pair that another curator holds.
OPEN_ELSEWHERE = "A colleague has this pair open; the second to save will be notified."
#: Actions that give a verdict: its name, or accepting a suggestion.
VERDICTS = (*DECISIONS, "suggestion", "enrich")
_IS_OF_ANOTHER_DATASET = (
    "What you did last in another dataset, when this page was leaving it, may not be saved: look "
    "there."
)
#: Actions of a page that shows no dataset yet.
_OPENING = ("visit", "dataset")

#: Parts of the page as HTML, by the names of their places; those left out are unchanged.
Parts = dict[str, str]


class PageAction(BaseModel):
    """A key or a click: what every one says. What else one says is a subclass, which the handler of
    its action names as the type of its parameter (see `act_type`).

    `author`: whose page it comes from ("": not known); `pair`, `version`, `fingerprint` and `name`:
    the pair on the screen, or what has a name (an order, a filter, a saved view)."""

    action: str = Field(max_length=40)
    author: str = Field("", max_length=300)
    pair: int | None = None
    version: int = 0
    fingerprint: str | None = Field(None, max_length=64)
    name: str = Field("", max_length=300)
    #: Of the actions that write: the id of the request, which may arrive twice, and its dataset.
    request: str | None = Field(None, max_length=32)
    dataset: int | None = None


class Target(PageAction):
    """What was clicked: a pair or a suggestion, by its id, or a claim, by where it starts."""

    target: int | None = None


class TypedText(PageAction):
    text: str | None = Field(None, max_length=MOST_CHARACTERS)


class Judgement(TypedText):
    """What is said of the pair: `text`, its typed caption; `suggestion`, the accepted one; `claim`,
    the characters of the claim that it is about; `meant`, whether a question was answered yes."""

    suggestion: int | None = None
    note: str = Field("", max_length=MOST_CHARACTERS)
    meant: bool = False
    claim: tuple[int, int] | None = None


class SelectedCard(NamedTuple):
    """A card of the grid, as it was on the screen."""

    pair: int
    version: int
    fingerprint: str = ""


class Selection(PageAction):
    """Something about the `pairs` that are selected in the grid."""

    pairs: list[SelectedCard] = Field(default_factory=list, max_length=1000)


class FilledForm(Selection):
    """A form for many pairs, as filled in; `filter`: the queue that it is for."""

    edit: dict[str, str | bool] = Field(default_factory=dict)
    filter: dict[str, str] = Field(default_factory=dict)


#: Returns the parts to replace, or None to draw the whole page.
Handler = Callable[[Any, Any], Parts | None]
#: Handlers of all keys and clicks, by action. Add one as a method decorated with `@on`.
ACTIONS: dict[str, Handler] = {}
#: Those that write something. A page names each request of them by an id, keeps it until it is
#: confirmed and sends it again; the handler writes once (`request_queries.run_idempotent`), or what
#: it writes is guarded by the pair's version.
WRITING: list[str] = []
#: Those that may ask a model for long, and that the server answers itself: the limits of a language
#: model count what one process asks, and the model that searches by meaning is loaded once.
ASKING = ["suggest", "find-meaning"]
#: Those that open a form for many pairs: they are sent with the pairs that are selected, and what
#: is typed meanwhile is for the form.
FORMS: list[str] = []


def on(
    *actions: str, writes: bool = False, opens_form: bool = False
) -> Callable[[Handler], Handler]:
    """Register the method as the handler of these actions. `writes`: see `WRITING`; `opens_form`:
    see `FORMS`."""

    def register(handler: Handler) -> Handler:
        ACTIONS.update(dict.fromkeys(actions, handler))
        WRITING.extend(actions if writes else ())
        FORMS.extend(actions if opens_form else ())
        return handler

    return register


@dataclass(frozen=True)
class AddedActions:
    """Actions of the review page that a feature or a package adds.

    `handlers`: by action, `(PageActions, PageAction) -> Parts | None`, or with one of its
    subclasses, as ours; `writing`, `forms`, `asking`: which are in `WRITING`, `FORMS`, `ASKING`. A
    form is the part "edit"; its fields have `data-edit`, and its button `data-bulk="NAME"` sends
    the action `FORM-NAME`, where `FORM` is its `data-form`; one with a hidden field `of`, the pairs
    that it is about, is closed when the page shows others. `keys`, `buttons` of the grid and
    `queue_buttons` below the queue: what the actions are called by. `scripts`: modules that the
    review page loads, served beside its own (`board/`), which they may import: what happens in the
    browser alone, such as an action by `addLocal` of `keys.js`.
    """

    handlers: Mapping[str, Handler]
    writing: tuple[str, ...] = ()
    forms: tuple[str, ...] = ()
    keys: tuple[Key, ...] = ()
    buttons: tuple[GridButton, ...] = ()
    queue_buttons: tuple[GridButton, ...] = ()
    scripts: tuple[Path, ...] = ()
    asking: tuple[str, ...] = ()


#: Keys, buttons of the grid and of the queue that features and packages add.
ADDED_KEYS: list[Key] = []
ADDED_BUTTONS: list[GridButton] = []
QUEUE_BUTTONS: list[GridButton] = []
#: The review page's own scripts, and those that features and packages add, by file name.
SCRIPTS_FOLDER = Path(__file__).with_name("board")
ADDED_SCRIPTS: dict[str, bytes] = {}


def add_actions(added: AddedActions) -> None:
    """Register them. Raises ValueError for what another action is called or called by, NameError
    for a handler whose types cannot be resolved."""
    taken = {name for key in (*KEYS, *ADDED_KEYS) for name in key.keys}
    for name, handler in added.handlers.items():
        act_type(handler)
        if name in ACTIONS:
            raise ValueError(f"There is an action '{name}' already.")
    for key in added.keys:
        if same := taken.intersection(key.keys):
            raise ValueError(f"The key '{min(same)}' has an action already.")
    for script in added.scripts:
        if not re.fullmatch(r"[a-z][a-z0-9_]*\.js", script.name):
            raise ValueError(f"'{script.name[:80]}' cannot be the name of a script.")
        if script.name in ADDED_SCRIPTS or (SCRIPTS_FOLDER / script.name).exists():
            raise ValueError(f"There is a script '{script.name}' already.")
    scripts = {script.name: script.read_bytes() for script in added.scripts}
    ACTIONS.update(added.handlers)
    WRITING.extend(added.writing)
    FORMS.extend(added.forms)
    ASKING.extend(added.asking)
    ADDED_KEYS.extend(added.keys)
    ADDED_BUTTONS.extend(added.buttons)
    QUEUE_BUTTONS.extend(added.queue_buttons)
    ADDED_SCRIPTS.update(scripts)


def name_of(action: str) -> str:
    """The registered name of an action, without the index of a suggestion.

    >>> name_of("suggestion-12"), name_of("same-word")
    ('suggestion', 'same-word')
    """
    return re.sub(r"-[0-9]+$", "", action)


@functools.cache
def act_type(handler: Handler) -> type[PageAction]:
    """What the handler takes, by the type of its second parameter, as FastAPI reads a body's."""
    taken = list(inspect.signature(handler, eval_str=True).parameters.values())[1].annotation
    is_act = inspect.isclass(taken) and issubclass(taken, PageAction)
    return taken if is_act else PageAction


def _as_its_handler_takes(
    data: object, validate_common: ValidatorFunctionWrapHandler
) -> PageAction:
    act = validate_common(data)
    handler = ACTIONS.get(name_of(act.action))
    return act if handler is None else act_type(handler).model_validate(data)


#: An act in a request, validated as what its handler takes.
AnyAction = Annotated[PageAction, WrapValidator(_as_its_handler_takes)]


def is_verdict(action: str) -> bool:
    """Whether the action gives a verdict."""
    return name_of(action) in VERDICTS


class PageActions:
    """An open page during one request: its state, and the curator (None: login is disabled)."""

    def __init__(self, workspace: Workspace, state: PageState, curator: str | None = None) -> None:
        #: A curator may not see everything: see `Workspace.seen_by`.
        self.workspace = workspace if curator is None else workspace.seen_by(curator)
        self.review, self.state = self.workspace.review, state
        self.author = curator or workspace.settings.author
        self.is_team = curator is not None
        self.toast: str = ""
        #: The filter of these fields, and the pairs held by this request.
        self._filter: tuple[dict[str, str], QueueFilter] | None = None
        self._held: set[int] = set()
        #: What verdicts do not change may have changed.
        self._is_outdated = False

    def check_author(self, author: str) -> None:
        """Raises SettingsError for what comes from another curator's page: somebody else has logged
        in since, in another tab, and nothing may be written under their name."""
        if author and author != self.author:
            raise SettingsError(
                f"This page is {author}'s, and {self.author} is logged in now: nothing was saved. "
                "Log in again, or reload the page."
            )

    def pair_of(self, act: PageAction) -> int:
        """The pair that a question to the models is about. Raises SettingsError."""
        if act.pair is None or self.review.open_pair(act.pair).dataset_id != self.state.dataset:
            raise SettingsError("That pair belongs to another dataset.")
        return act.pair

    def perform(self, act: PageAction) -> Parts:
        """Handle one key or click; returns the parts of the page that change."""
        try:
            self.check_author(act.author)
            if self.state.grid and is_verdict(act.action):
                return message_part(note("Select pairs first: click them, or all with Ctrl+A."))
            handler = ACTIONS.get(name_of(act.action))
            if handler is None or (self.state.dataset is None and act.action not in _OPENING):
                return {}
            if act.request and act.dataset not in (None, self.state.dataset):
                return message_part(note(_IS_OF_ANOTHER_DATASET))
            parts = handler(self, act)
            return self.parts() if parts is None else parts
        except Exception as error:
            return message_part(note(explain_on_page(error), "error"))

    def refresh(self) -> None:
        """Draw the page again after progress of a job. A page waiting for scores opens at the head
        of the queue once there are some; any other stays where it is, with new numbers."""
        state = self.state
        self._is_outdated = True
        if state.dataset is None:
            return
        is_scored = (
            state.waiting
            and state.pair is not None
            and self.review.open_pair(state.pair).p_error is not None
        )
        if state.pair is None or is_scored:
            state.after = None
            state.pair = self._first()

    def _clear_outdated_filter(self) -> None:
        """Clear a filter by what the dataset does not have, or no longer."""
        self._filter = None
        try:
            self._check_filter()
        except TracedError as problem:
            self.state.filter = dict(START)
            self.say(f"{explain_on_page(problem)} The filters were cleared.", "warning")

    def _check_filter(self) -> None:
        """Raises TracedError if the queue cannot be shown in the dataset."""
        if self.state.dataset is None:
            from_fields(0, self.state.filter)
        else:
            self.filter()

    def _open_pair(self, pair: int) -> PairView:
        """The pair, with the claim that is selected on the page."""
        claim = self.state.claim
        is_selected = claim is not None and claim.pair == pair
        return self.review.open_pair(
            pair, claim.start if claim is not None and is_selected else None
        )

    def _shows(self, pair: int) -> bool:
        filter = self.filter()
        among = (pair,) if filter.among is None or pair in filter.among else ()
        return self.review.queue_count(replace(filter, among=among), 1) > 0

    def filter(self) -> QueueFilter:
        """The filter for the store. Raises SettingsError if it is invalid."""
        fields = {"": str(self.state.dataset), **self.state.filter}
        if self._filter is None or self._filter[0] != fields:
            filter = self.review.filter_of(int(self.state.dataset or 0), self.state.filter)
            # What others have on their screens is left out of what is to be decided, not of lists.
            if self.is_team and self.state.filter.get("review") not in ("decided", "all"):
                filter = replace(filter, reader=self.author)
            self._filter = fields, filter
        filter, skipped = self._filter[1], tuple(self.state.skipped)
        if self.state.found:
            filter = _among(filter, tuple(self.state.found))
        if self.state.shows_skipped:
            return _among(filter, skipped)
        return replace(filter, without=skipped) if skipped else filter

    def queue_of(self, act: FilledForm) -> dict[str, str]:
        """The queue that was shown when the act was sent: the page may have been left since."""
        return act.filter or self.state.filter

    def check_queue(self) -> None:
        """Raises SettingsError where the page lists pairs that were skipped or found: what is done
        to a whole queue would reach all that its filters let through."""
        if self.state.shows_skipped or self.state.found:
            raise SettingsError(
                "This list is no queue of its own. Select its pairs in the grid (G, then Ctrl+A), "
                "or go back to all pairs."
            )

    def bring_skipped_back(self) -> None:
        """Pairs that were skipped are in their queue again, before something is done to all of it:
        it reaches them too."""
        if self.state.skipped:
            number = len(self.state.skipped)
            self.state.skipped = []
            self.say(
                f"{count_of(number, 'skipped pair')} came back: what is done to the whole queue "
                f"reaches {'it' if number == 1 else 'them'} too."
            )

    def _count_skipped(self) -> int:
        """How many pairs of the queue are put aside."""
        if not self.state.skipped:
            return 0
        skipped = tuple(self.state.skipped)
        return self.review.queue_count(replace(_among(self.filter(), skipped), without=()))

    def _turn_at_the_end(self) -> None:
        """At the end of the queue those come back that were put aside; at the end of these, the
        queue."""
        state = self.state
        was_aside = state.shows_skipped
        if state.skipped:
            state.shows_skipped = not was_aside
            state.pair = self._first()
            if state.pair is None:
                state.shows_skipped = False
            elif not was_aside:
                self.say("Only pairs that you skipped are left.")

    def _first(self) -> int | None:
        """The head of the queue: the first pair that no other curator has on screen."""
        if not self.is_team:
            return self.review.first_pair(self.filter())
        # The filter of a list does not leave out what others hold, and that cannot be held.
        filter = replace(self.filter(), reader=self.author)
        pair = self.workspace.accounts.hold_first(filter, self.author, self.state.held)
        if pair is not None:
            self._record_hold(pair)
        return pair

    def open_rest(self) -> None:
        """Show the head of what is left of the queue, after many pairs have been decided."""
        self.state.after = None
        self.state.advance()
        self.state.pair = self._first()

    def _neighbour(self, way: str, stays: bool = False) -> int | None:
        """The next or the previous pair that no other curator has on screen. `stays`: the pair on
        the page is held as well, until the page asks for the following ones."""
        filter, pair = self.filter(), self.state.place
        if pair is None:
            return None
        if not self.is_team:
            step = self.review.next_pair if way == "next" else self.review.previous_pair
            return step(filter, pair)
        on_page = [self.state.pair] if stays and self.state.pair is not None else []
        held = [each for each in self.state.held if each not in on_page]
        found = self.workspace.accounts.hold_neighbour(
            filter, pair, self.author, held, backwards=way == "previous"
        )
        if found is not None:
            self.state.held = held
            self._record_hold(found)
            self.state.held = [*on_page, *self.state.held]
        return found

    def _hold(self, pair: int) -> bool:
        """Hold the pair for this page; False if another curator has it."""
        if not self.is_team or pair in self._held:
            return True
        if not self.workspace.accounts.hold(pair, self.author, self.state.held):
            return False
        self._record_hold(pair)
        return True

    def _record_hold(self, pair: int) -> None:
        self._held.add(pair)
        if pair not in self.state.held:
            self.state.held = [pair]

    def parts(self) -> Parts:
        """The whole page, with the message of this request."""
        state = self.state
        if state.dataset is None:
            stage = review_page.empty(
                "No dataset yet",
                "Everything begins with pictures and captions.",
                part("page_link", "datasets", "Add data"),
            )
            return {"queue": "", "stage": stage, "chart": "", "steps": "", "toast": self.toast}
        if state.pair is None:
            self._turn_at_the_end()
        view = self._open_pair(state.pair) if state.pair is not None else None
        if view is not None:
            if not self._hold(view.pair_id):
                self.say(OPEN_ELSEWHERE)
            state.limits, state.waiting = view.opinion.limits[:2000], view.p_error is None
            state.is_unfamiliar = view.is_unfamiliar
            state.languages_read = sorted(view.languages_read)
        queue, page, counts = self.draw_queue()
        parts: Parts = {"chart": "", "steps": ""}
        if view is None:
            if counts.reviewed and (counts.reviewed == counts.total or is_plain(self.filter())):
                summary = self.workspace.summary(counts.dataset_id)
                stage = review_page.finish(summary, self.review.errors_left(counts))
            else:
                stage = queue_panel.nothing_fits(state.filter)
            parts["stage"] = stage
        elif state.grid:
            ids = [row.pair_id for row in page.rows]
            if state.is_table:
                parts["stage"] = overview.table(
                    page.rows, self.review.extras_of(ids), self.review.tags_of(ids),
                    "" if state.given_order else state.filter["order"],
                    view=f"{as_query(state.filter)} {state.after}",
                    has_more=page.next_cursor is not None and state.rows < MOST_ROWS,
                    leading=self.review.leading_claims(page.rows),
                    is_unfamiliar=state.is_unfamiliar, buttons=ADDED_BUTTONS,
                    unread=languages_not_read(page.rows, frozenset(state.languages_read)),
                )  # fmt: skip
            else:
                suspects, tags = self.review.suspects_of(ids), self.review.tags_of(ids)
                leading = self.review.leading_claims(page.rows)
                parts["stage"] = overview.grid(
                    page.rows, suspects, tags, leading, state.is_unfamiliar, state.filter["order"],
                    ADDED_BUTTONS, languages_not_read(page.rows, frozenset(state.languages_read)),
                )  # fmt: skip
            parts["steps"] = review_page.guidelines(view)
        else:
            is_sampled = view.pair_id in state.sampled
            parts = drawn_pair(view, self.workspace.jobs.last_scoring, is_sampled)
        return {"queue": queue, **parts, "toast": self.toast}

    def draw_queue(self) -> tuple[Markup, QueuePage, ReviewCounts]:
        """The left column, with the page of pairs and the counts that it shows."""
        filter = self.filter()
        with self.workspace.store.snapshot():
            return self._draw_queue(filter)

    def _draw_queue(self, filter: QueueFilter) -> tuple[Markup, QueuePage, ReviewCounts]:
        state = self.state
        counts = self.review.counts(filter.dataset_id)
        page = self.review.queue_page(filter, state.after, self._page_size())
        if state.after is not None and state.pair not in [row.pair_id for row in page.rows]:
            state.after = None
            page = self.review.queue_page(filter, None, self._page_size())
        similar_to = id_in(state.filter.get("like", "").partition(":")[2])
        like = "" if similar_to is None else self.review.open_pair(similar_to).name
        rows = page.rows[:PAGE]
        panel = queue_panel.QueuePanel(
            rows=rows,
            current=state.pair,
            counts=counts,
            filter=state.filter,
            count=self._queue_size(filter, counts),
            has_more=page.next_cursor is not None,
            is_first_page=state.after is None,
            views=self._views(),
            like=like,
            limits=state.limits,
            errors_left=self.review.errors_left(counts, self._is_outdated),
            is_mixed=state.is_mixed,
            is_mixing=state.is_mixed and self.review.is_mixable(filter),
            values=self.review.queue_values(filter) if state.is_filtering else None,
            constants=self.review.constants(filter.dataset_id) if state.is_filtering else (),
            draft=state.groups_draft,
            leading=self.review.leading_claims(rows),
            is_unfamiliar=state.is_unfamiliar,
            unread=languages_not_read(rows, frozenset(state.languages_read)),
            notices=self.review.notices(filter.dataset_id),
            skipped=queue_panel.Skipped(self._count_skipped(), state.shows_skipped),
            undo_list=self._draw_undo_list(filter.dataset_id) if state.shows_history else "",
            can_undo=bool(state.done or counts.reviewed),
            is_pasted=bool(state.found),
            given_order=state.given_order,
            buttons=QUEUE_BUTTONS,
        )
        return panel.draw(), page, counts

    def _draw_undo_list(self, dataset_id: int) -> Markup:
        done = self.state.done[-LISTED:]
        verdicts = self.review.list_undoable(dataset_id, self.author, LISTED)
        of_tags = (change.pairs[0] for step in done for change in step.tags[:1] if change.pairs)
        among = tuple({*of_tags, *(verdict.pair_id for verdict in verdicts)})
        rows = self.review.queue_page(QueueFilter(dataset_id, "all", among=among), None, 2 * LISTED)
        names = {
            row.pair_id: pair_name(row.external_id, row.image_path, row.caption)
            for row in rows.rows
        }
        acts = list_undoable(done, verdicts, names, datetime.now(UTC))
        return render("review/undo_list.html", acts=acts)

    def _views(self) -> dict[str, dict[str, str]]:
        """The saved views by name. One by a measure of a plug-in that is gone stays as it is: the
        message is due when it is opened."""
        views = {}
        for view in self.review.saved_views(int(self.state.dataset or 0)):
            try:
                views[view.name] = clean_fields(view.fields)
            except SettingsError:
                views[view.name] = dict(view.fields)
        return views

    def _page_size(self) -> int:
        return self.state.rows if self.state.grid and self.state.is_table else PAGE

    def _queue_size(self, filter: QueueFilter, counts: ReviewCounts) -> str:
        """The number of pairs in the queue; what has to be counted is counted only up to a limit,
        so that no key waits."""
        if is_plain(filter) and not filter.without:
            remaining = counts.total - counts.reviewed
            return f"{remaining - self.review.count_held_by_others(filter):,}"
        count = self.review.queue_count(filter, MOST_COUNTED + 1)
        return f"{count:,}" if count <= MOST_COUNTED else f"more than {MOST_COUNTED:,}"

    def say_undoable(self, text: str) -> None:
        """With a button, because a form is open and `Z` types into it."""
        self.toast += part("undoable", text)

    def say(self, text: str, kind: str = "info") -> None:
        self.toast += note(text, kind)


def _among(filter: QueueFilter, pairs: tuple[int, ...]) -> QueueFilter:
    """Those of these pairs that are in the queue, in their order."""
    if filter.among is not None:
        pairs = tuple(pair for pair in pairs if pair in filter.among)
    return replace(filter, among=pairs)


def drawn_pair(
    view: PairView,
    scoring: Callable[[int], JobView | None] | None = None,
    is_sampled: bool = False,
) -> Parts:
    """Stage, chart and steps of a pair. `scoring`: the newest scoring job of a dataset, asked about
    a pair without scores. `is_sampled`: it was mixed into the queue at random."""
    parts: Parts = {"stage": review_page.stage(view, is_sampled), "chart": ""}
    if not view.caption:
        middle = review_page.empty(
            "No caption yet", "There is nothing to compare with the picture."
        )
    elif view.claim is not None and view.opinion.trajectory is None:
        middle = review_page.empty("Judged already", "An earlier claim says the same.")
    elif view.opinion.trajectory is None:
        middle = review_page.not_scored(scoring(view.dataset_id) if scoring is not None else None)
    else:
        parts["chart"] = trajectory_chart(view.opinion.trajectory)
        middle = steps_list(view.opinion.trajectory)
    parts["steps"] = middle + review_page.side_panel(view)
    return parts


def changed_meanwhile(count: int) -> str:
    """The end of a message: how many pairs of an act others had changed before it."""
    return f" {count:,} had been changed in the meantime and were left alone." if count else ""


def message_part(message: str) -> Parts:
    return {"toast": message}
