"""Actions of the keys and clicks on the review page.

A verdict names the pair, its version and the fingerprint of what was on the screen, and is written
to that pair or to none: curators must not judge pairs that they have not seen.
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, NamedTuple

from markupsafe import Markup
from pydantic import BaseModel, Field

from backend.engine.bulk_edit import BulkEdit
from backend.engine.captions import Caption
from backend.errors import QueueChanged, SettingsError, TracedError, VerdictConflict
from backend.jobs.reports import JobView
from backend.review.pair_selection import tag_name
from backend.review.queue import is_plain, sampling_of
from backend.review.queue_form import (
    LIKENESS,
    START,
    as_query,
    cleaned,
    from_fields,
    groups_of,
    id_in,
    with_value,
)
from backend.review.queue_groups import Condition, add, text_of
from backend.review.queue_rules import RuleReport
from backend.review.verdicts import edit_captions
from backend.review.views import PairView
from backend.verdict_texts import DECISIONS, saved_text
from backend.workspace import (
    MOST_COUNTED,
    QueueFilter,
    QueuePage,
    ReviewCounts,
    VerdictRow,
    Workspace,
)
from traced_ui import review_page
from traced_ui.highlighting import explained_abstractness
from traced_ui.messages import explained, note
from traced_ui.page_state import (
    LONGEST_DRAFT,
    MOST_ROWS,
    MOST_TAGGED,
    ROWS,
    PageState,
    Return,
    Step,
    TagChange,
    newest,
)
from traced_ui.templates import counted, part, render
from traced_ui.trajectory_chart import steps_list, trajectory_chart

PAGE = 30
#: Maximum number of captions that a page edits synchronously.
MOST_EDITED = 100_000
#: Longest note or typed caption of a request; the store has its own limits.
MOST_CHARACTERS = 100_000
#: Pairs that one request goes on or back by.
MOST_PASSED = 1000
#: URL parameters of this page other than those of the queue.
_OTHER_PARAMETERS = ("dataset", "pair", "grid")
#: The filter set by "more like this": the field and, for searches, what is compared.
_SIMILAR = {
    "same-word": ("suspect_word", ""),
    "same-kind": ("suspect_kind", ""),
    "same-picture": ("like", "image"),
    "near-duplicates": ("like", "duplicate"),
    "same-caption": ("like", "caption"),
    "confused": ("like", "confused"),
}
#: Shown with a pair that is claimed by another curator.
OPEN_ELSEWHERE = "A colleague has this pair open; the second to save will be notified."
#: Actions that give a verdict: its name, or accepting a suggestion.
_VERDICTS = (*DECISIONS, "suggestion", "enrich")
_IS_NOT_DESCRIBED = (
    "Nothing has suggested a caption yet: find errors under Add data, “With a captioner” ticked if "
    "the model has none of its own."
)
_IS_LATE = "That was meant for the previous pair; nothing was written."

#: Parts of the page as HTML, by the names of their places; those left out are unchanged.
Parts = dict[str, str]


class Selected(NamedTuple):
    """A card of the grid, as it was on the screen."""

    pair: int
    version: int
    fingerprint: str = ""


class Act(BaseModel):
    """A key or a click. `author`: whose page it comes from ("": not known); `pair`, `version`,
    `fingerprint` and `name`: the pair on the screen."""

    action: str = Field(max_length=40)
    author: str = Field("", max_length=300)
    pair: int | None = None
    version: int = 0
    fingerprint: str | None = Field(None, max_length=64)
    name: str = Field("", max_length=300)
    #: Of a verdict: the accepted suggestion, the typed caption, and whether it is confirmed.
    suggestion: int | None = None
    text: str | None = Field(None, max_length=MOST_CHARACTERS)
    note: str = Field("", max_length=MOST_CHARACTERS)
    meant: bool = False
    #: The claim that the act is about: its characters.
    claim: tuple[int, int] | None = None
    #: Of the other actions.
    dataset: int | None = None
    address: dict[str, str] = Field(default_factory=dict)
    target: int | None = None
    filter: dict[str, str] = Field(default_factory=dict)
    #: Pairs to go on or back by: keys that were pressed meanwhile count.
    by: int = Field(1, ge=1, le=MOST_PASSED)
    #: What the drawer does with a value: "only", "any" or "none".
    how: str = Field("only", max_length=8)
    word: int = -1
    decision: str = ""
    #: Selected in the grid: pair, version and fingerprint of what was on the screen.
    pairs: list[Selected] = Field(default_factory=list, max_length=1000)
    edit: dict[str, str | bool] = Field(default_factory=dict)


#: Returns the parts to replace, or None to draw the whole page.
Handler = Callable[["OpenPage", Act], Parts | None]
#: Handlers of all keys and clicks, by action. Add one as a method decorated with `@on`.
ACTIONS: dict[str, Handler] = {}


def on(*actions: str) -> Callable[[Handler], Handler]:
    """Register the method as the handler of these actions."""

    def register(handler: Handler) -> Handler:
        ACTIONS.update(dict.fromkeys(actions, handler))
        return handler

    return register


def name_of(action: str) -> str:
    """The registered name of an action, without the index of a suggestion.

    >>> name_of("suggestion-12"), name_of("same-word")
    ('suggestion', 'same-word')
    """
    return re.sub(r"-[0-9]+$", "", action)


def is_verdict(action: str) -> bool:
    """Whether the action gives a verdict."""
    return name_of(action) in _VERDICTS


class OpenPage:
    """An open page during one request: its state, and the curator (None: login is disabled)."""

    def __init__(self, workspace: Workspace, state: PageState, curator: str | None = None) -> None:
        #: A curator may not see everything: see `Workspace.seen_by`.
        self.workspace = workspace if curator is None else workspace.seen_by(curator)
        self.review, self.state = self.workspace.review, state
        self.author = curator or workspace.settings.author
        self.is_team = curator is not None
        self.toast: str = ""
        #: The filter of these fields, and the pairs claimed in this request.
        self._filter: tuple[dict[str, str], QueueFilter] | None = None
        self._claimed: set[int] = set()
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

    def perform(self, act: Act) -> Parts:
        """Handle one key or click; returns the parts of the page that change."""
        try:
            self.check_author(act.author)
            if self.state.grid and is_verdict(act.action):
                return _message(note("Select pairs first: click them, or all with Ctrl+A."))
            handler = ACTIONS.get(name_of(act.action))
            if handler is None or (self.state.dataset is None and act.action not in _OPENING):
                return {}
            parts = handler(self, act)
            return self.parts() if parts is None else parts
        except Exception as error:
            return _message(note(explained(error), "error"))

    # ------------------------------------------------------------------ opening

    @on("visit")
    def _visit(self, act: Act) -> None:
        """Open the dataset, the queue and the pair named in an address, or the first pair of the
        default queue. `act.dataset`: the dataset if the address names none; otherwise the first."""
        state, address = self.state, act.address
        state.author = self.author
        self._is_outdated = True
        known_ids = [summary.id for summary in self.workspace.datasets()]
        named = id_in(address.get("dataset", ""))
        wishes = (named, act.dataset, state.dataset, *known_ids[:1])
        wanted = next((id for id in wishes if id in known_ids), None)
        state.dataset, state.came_from = wanted, None
        state.grid, state.is_table = address.get("grid") == "yes", False
        self._follow(address)
        pair = id_in(address.get("pair", ""))
        if pair is None and wanted is not None and state.filter == START and not self.is_team:
            pair = self.workspace.opening_pair(wanted)
        self._show_or_first(pair)

    @on("dataset")
    def _choose_dataset(self, act: Act) -> None:
        """Switch to another dataset; filters are kept where they fit it."""
        state = self.state
        state.dataset, state.pair, state.after = act.dataset, None, None
        state.visited, state.came_from = [], None
        state.done, state.undone = [], []
        self._clear_outdated_filter()
        state.pair = self._first() if state.dataset is not None else None

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

    def _follow(self, address: dict[str, str]) -> None:
        """Set the queue named in an address; the default one, with a message, if it is invalid."""
        other_keys = {key for key in address if key in _OTHER_PARAMETERS or key.startswith("__")}
        self.state.after = None
        try:
            self.state.filter = cleaned(address, other_keys)  # __: Gradio's
            self._check_filter()
        except TracedError as problem:
            self.state.filter = dict(START)
            self._say(f"{explained(problem)} The address was ignored.", "warning")

    def _show_or_first(self, pair: int | None) -> None:
        """Show the pair, or the head of the queue if the dataset does not contain it."""
        state = self.state
        if state.dataset is None:
            state.pair = None
            return
        try:
            is_here = pair is not None and self.review.open_pair(pair).dataset_id == state.dataset
        except TracedError:  # a link to a deleted pair
            is_here = False
        state.pair = pair if is_here else self._first()

    def _clear_outdated_filter(self) -> None:
        """Clear a filter by what the dataset does not have, or no longer."""
        self._filter = None
        try:
            self._check_filter()
        except TracedError as problem:
            self.state.filter = dict(START)
            self._say(f"{explained(problem)} The filters were cleared.", "warning")

    def _check_filter(self) -> None:
        """Raises TracedError if the queue cannot be shown in the dataset."""
        if self.state.dataset is None:
            from_fields(0, self.state.filter)
        else:
            self.filter()

    @on("open")
    def _open(self, act: Act) -> None:
        self.state.grid = False
        wanted = self.review.open_pair(act.target or 0)
        if wanted.dataset_id != self.state.dataset:
            raise SettingsError("That pair belongs to another dataset.")
        self.state.show(wanted.pair_id)

    @on("grid", "table")
    def _grid(self, act: Act) -> None:
        """Show many pairs as cards or as a table, or go back to one pair."""
        state, is_table = self.state, act.action == "table"
        state.grid = not state.grid or state.is_table != is_table
        state.is_table = is_table

    @on("more-rows")
    def _more_rows(self, act: Act) -> None:
        """Show more rows of the table, whose end is near, or as many as a page may have."""
        self.state.rows = min(self.state.rows + ROWS * act.by, MOST_ROWS)

    @on("sort")
    def _sort(self, act: Act) -> Parts | None:
        return self._refilter({**self.state.filter, "order": act.name})

    @on("edit-caption")
    def _edit_caption(self, act: Act) -> None:
        """Save a caption that was edited in the table, as a correction of its pair."""
        try:
            saved = self.save(act.model_copy(update={"action": "correction"}))
        except TracedError as problem:  # the table is drawn anew, with what is stored
            self._say(f"{explained(problem)} You wrote: {act.text}", "warning")
        else:
            self.toast += render("review/saved.html", saved=[saved], is_last=False)
            if self.state.pair == act.pair and not self._shows(act.pair or 0):
                self.state.pair = self._first()

    # ------------------------------------------------------------------ verdicts

    def save(self, act: Act) -> dict[str, str]:
        """Write a verdict, whatever the page shows now; returns what the page reports about it.
        Raises TracedError, with nothing written."""
        self.check_author(act.author)
        if act.action in review_page.CLAIM_ACTS:
            return self._save_claim(act)
        is_accepted = is_verdict(act.action) and act.action not in DECISIONS
        if act.pair is None or (
            act.suggestion is None if is_accepted else act.action not in DECISIONS
        ):
            raise SettingsError(f"'{act.action}' is not a verdict.")
        decision = "correction" if is_accepted else act.action
        suggestion = act.suggestion if is_accepted else None
        text = (act.text or "") if act.action == "correction" else None
        verdict = self.review.decide(
            act.pair, act.version, decision, text, suggestion, author=self.author, note=act.note,
            fingerprint=act.fingerprint, sampling=self._sampling_of(act.pair),
        )  # fmt: skip
        self.state.advance()
        name = act.name or self.review.open_pair(act.pair).external_id[:60]
        return {"verdict": _now(verdict), "name": name}

    def _save_claim(self, act: Act) -> dict[str, str]:
        """Label a claim of the caption, or take it out; returns what the page reports about it."""
        if act.pair is None or act.claim is None:
            raise SettingsError(f"'{act.action}' names no claim.")
        common: dict[str, Any] = {
            "author": self.author, "fingerprint": act.fingerprint,
            "sampling": self._sampling_of(act.pair),
        }  # fmt: skip
        if act.action == "claim-remove":
            self.review.remove_claim(act.pair, act.version, act.claim, **common)
        else:
            is_right = {"claim-right": True, "claim-wrong": False, "claim-clear": None}[act.action]
            self.review.label_claim(act.pair, act.version, act.claim, is_right, **common)
        self.state.advance()
        name = act.name or self.review.open_pair(act.pair).external_id[:60]
        return {"verdict": review_page.CLAIM_ACTS[act.action], "name": name}

    @on("claim")
    def _select_claim(self, act: Act) -> Parts:
        """Draw the pair with another claim selected."""
        view = self.review.open_pair(self._pair_of(act), act.target)
        scoring = self.workspace.jobs.last_scoring
        return drawn_pair(view, scoring, view.pair_id in self.state.sampled)

    def _opened(self, pair: int) -> PairView:
        """The pair, with the claim that is selected on the page."""
        claim = self.state.claim
        is_selected = claim is not None and claim.pair == pair
        return self.review.open_pair(
            pair, claim.start if claim is not None and is_selected else None
        )

    def _sampling_of(self, pair: int) -> str:
        """How the pair has come to be shown; "": by a link, or in another dataset."""
        if pair not in (self.state.pair, *self.state.visited, *self.state.sampled):
            return ""
        try:
            return sampling_of(self.filter(), pair, self.state.sampled)
        except TracedError:  # a filter that has become invalid
            return ""

    def _suggestion(self, act: Act) -> int | None:
        """The id of an accepted suggestion: named by the page, or the one with that number; None if
        the verdict accepts none."""
        if act.suggestion is not None or act.action in DECISIONS:
            return act.suggestion
        kind, _, number = act.action.rpartition("-")
        view = self._opened(act.pair or 0)
        suggestions = view.enrichments if kind == "enrich" else view.suggestions
        if not 0 < int(number or 0) <= len(suggestions):
            raise SettingsError(f"There is no suggestion {number} for this pair.")
        return suggestions[int(number) - 1].id

    @on(*_VERDICTS)
    def _decide(self, act: Act) -> Parts | None:
        """A verdict after which the server shows the next pair: where the browser has not
        prefetched it, and on pairs that have been decided."""
        state = self.state
        if state.pair is None or act.pair != state.pair:
            return _message(note(_IS_LATE))
        if not act.meant and (question := self._question(act)):
            return _message(question)
        # Queried before the verdict, which may remove the pair from the queue.
        following = self._neighbour("next")
        try:
            saved = self.save(act.model_copy(update={"suggestion": self._suggestion(act)}))
        except VerdictConflict as problem:
            # A curator who is asked to check again must see the current state of the pair.
            self._say(explained(problem), "warning")
            return None
        if following is None:
            following = self._first()
        is_last = following is None or following == state.pair
        self.toast += render("review/saved.html", saved=[saved], is_last=is_last)
        if following != state.pair:
            state.show(following)
        return None

    def _question(self, act: Act) -> str:
        """Ask before changing a verdict that this queue does not show: a curator going through
        undecided pairs probably meant the next one. "" if there is nothing to ask."""
        if self.state.pair is None or not act.version:
            return ""
        view = self.review.open_pair(self.state.pair)
        if view.version != act.version:
            return ""  # decided by another curator meanwhile: reported as a conflict
        if review_page.contradicts_labels(view, act.action):
            return review_page.question(view, act.action)
        if view.decision is None or self._shows(view.pair_id):
            return ""
        return review_page.question(view, act.action)

    def _shows(self, pair: int) -> bool:
        filter = self.filter()
        among = (pair,) if filter.among is None or pair in filter.among else ()
        return self.review.queue_count(replace(filter, among=among), 1) > 0

    @on("many")
    def _decide_many(self, act: Act) -> None:
        """Record one verdict for all pairs selected in the grid."""
        done = self.review.decide_many(
            [(pair, version) for pair, version, _ in act.pairs],
            act.decision,
            author=self.author,
            note=act.note,
            fingerprints={pair: fingerprint for pair, _, fingerprint in act.pairs if fingerprint},
        )
        message = f"{saved_text(act.decision, False, None)} {counted(len(done.written))} saved."
        self._say(
            f"{message} Press Z to undo them all.{_passed_over(len(done.passed_over))}", "good"
        )
        self.state.after = None
        self.state.advance()
        self.state.pair = self._first()

    @on("save-note")
    def _annotate(self, act: Act) -> Parts | None:
        """Save the note with the pair's existing verdict."""
        if self.state.pair is None or act.pair != self.state.pair:
            return _message(note(_IS_LATE))
        try:
            self.review.annotate(self.state.pair, act.version, act.note, author=self.author)
        except VerdictConflict as problem:
            self._say(explained(problem), "warning")
            return None
        self.state.advance()
        self._say("The note is saved. Press Z to undo.", "good")
        return None

    @on("mark-word")
    def _mark(self, act: Act) -> Parts | None:
        if self.state.pair is None or act.pair != self.state.pair:
            return _message(
                note("That click was meant for the previous pair; nothing was written.")
            )
        is_marked = self.review.mark_word(self.state.pair, act.word, author=self.author)
        view = self._opened(self.state.pair)
        start, end = Caption.parse(view.caption).spans[act.word]
        message = "is marked as wrong" if is_marked else "is no longer marked"
        toast = note(f"“{view.caption[start:end][:60]}” {message}.", "good")
        is_sampled = view.pair_id in self.state.sampled
        return {"stage": drawn_pair(view, is_sampled=is_sampled)["stage"], "toast": toast}

    @on("undo")
    def _undo(self, act: Act) -> Parts | None:
        state = self.state
        last = state.done[-1] if state.done else Step()
        if last.tags:
            again = Step(tags=self._change_tags(last.tags, "Undone"), pair=state.pair)
        else:
            verdict = self.review.undo(int(state.dataset or 0), author=self.author)
            if verdict is None:
                return _message(note("There is nothing to undo."))
            again = Step(pair=state.pair)
            state.pair = verdict.pair_id
            self._say(f"Undone{_many(verdict)}. {_now(verdict)}", "good")
        state.done, state.undone = state.done[:-1], newest([*state.undone, again])
        return None

    @on("redo")
    def _redo(self, act: Act) -> Parts | None:
        """Redo the verdict and return to where the curator was: if the page stayed on the decided
        pair, the next key would change its verdict."""
        state = self.state
        last = state.undone[-1] if state.undone else Step()
        back = Step()
        if last.tags:
            back = Step(tags=self._change_tags(last.tags, "Redone"))
        else:
            is_tagged = not state.undone and bool(state.done) and bool(state.done[-1].tags)
            verdict = (
                None if is_tagged
                else self.review.redo(int(state.dataset or 0), author=self.author)
            )  # fmt: skip
            if verdict is None:
                return _message(note("There is nothing to redo."))
            state.pair = verdict.pair_id
            before = verdict.pair_id if verdict.claim is not None else last.pair
            if verdict.claim is None and before in (None, verdict.pair_id):
                before = self._neighbour("next") or self._first()
            state.pair = before or verdict.pair_id
            name = self.review.open_pair(verdict.pair_id).external_id[:60]
            self._say(f"Redone{_many(verdict)}: {name}. {_now(verdict)}", "good")
        state.done, state.undone = newest([*state.done, back]), state.undone[:-1]
        return None

    def _change_tags(self, changes: Sequence[TagChange], verb: str) -> list[TagChange]:
        """Make the changes, and tell them; returns what takes them back."""
        inverse: list[TagChange] = []
        for change in changes:
            pair_ids = self._pairs_here(change.pairs)
            changed_ids = self.review.tag(pair_ids, change.name, self.author, change.remove)
            back = TagChange(name=change.name, pairs=changed_ids, remove=not change.remove)
            inverse.insert(0, back)
        self._say(f"{verb}: the tags of {counted(len(inverse[0].pairs))}.", "good")
        self._clear_outdated_filter()
        return inverse

    # ------------------------------------------------------------------ many captions

    @on("replace")
    def _edit_form(self, act: Act) -> Parts:
        scope = "selected" if act.pairs else "queue"
        return {"edit": review_page.bulk_edit({"scope": scope}, vague=self._vague_claims())}

    @on("edit-preview", "edit-apply")
    def _edit(self, act: Act) -> Parts:
        """Preview an edit of many captions, or apply it."""
        scope = str(act.edit.get("scope"))
        if scope not in review_page.EDIT_SCOPES:
            raise SettingsError(f"There is no '{scope[:40]}' to edit.")
        pairs = tuple(card.pair for card in act.pairs)
        if scope == "selected" and not pairs:
            raise SettingsError("No pair is selected: choose some in the grid (G).")
        fields = self.state.filter if scope == "queue" else {"review": "all", "order": "position"}
        filter = self.review.filter_of(int(self.state.dataset or 0), fields)
        if scope == "selected":
            filter = replace(filter, among=pairs)
        if self.review.queue_count(filter, MOST_EDITED + 1) > MOST_EDITED:
            raise SettingsError(
                f"There are more than {MOST_EDITED:,} captions. Narrow the queue with filters, and "
                "edit it in several steps."
            )
        texts = {
            name: str(act.edit.get(name) or "") for name in ("find", "replace", "prefix", "suffix")
        }
        edit = BulkEdit(**texts, is_regex=bool(act.edit.get("regex")),
                        ignore_case=bool(act.edit.get("case")),
                        remove_vague=bool(act.edit.get("vague")))  # fmt: skip
        author = self.author if act.action == "edit-apply" else None
        done = edit_captions(self.workspace.store, filter, edit, author)
        if author is None:
            form = review_page.bulk_edit(act.edit, done, self._vague_claims())
            return {"toast": "", "edit": form}
        self.state.after = None
        self.state.advance()
        self._say(
            f"{counted(done.changed, 'caption')} changed. Press Z to undo them all."
            + _passed_over(done.passed_over),
            "good",
        )
        return {**self.parts(), "edit": ""}

    def _vague_claims(self) -> int:
        return self.review.claim_counts(int(self.state.dataset or 0)).vague

    @on("rule", "rule-preview", "rule-apply")
    def _rule(self, act: Act) -> Parts:
        """Preview one verdict for all pairs of the queue, or give it: only what was previewed."""
        if act.action == "rule":
            return {"edit": review_page.queue_rule({})}
        dataset, queue = int(self.state.dataset or 0), as_query(self.state.filter)
        decision, replaces = str(act.edit.get("decision")), bool(act.edit.get("replaces"))
        if decision not in review_page.DECISIONS:
            raise SettingsError(f"'{decision[:40]}' cannot be given to many pairs at once.")
        number, _, previewed_rule = str(act.edit.get("seen", "")).partition(" ")
        this_rule = f"{decision} {replaces} {queue}"
        try:
            if act.action == "rule-apply":
                if previewed_rule != this_rule:
                    raise QueueChanged("This is another queue or verdict than you saw: look again.")
                done = self.workspace.decide_all(
                    dataset, queue, decision, id_in(number) or 0, self.author, replaces
                )
                self._say(_decided_all(done), "good")
                self.state.after = None
                self.state.advance()
                self.state.pair = self._first()
                return {**self.parts(), "edit": ""}
        except QueueChanged as problem:
            self._say(explained(problem), "warning")
        plan = self.review.preview_rule(dataset, queue, self.author, replaces)
        form = review_page.queue_rule(act.edit, plan, f"{plan.number} {this_rule}")
        return {"toast": self.toast, "edit": form}

    # ------------------------------------------------------------------ tags

    def _pairs_here(self, pair_ids: list[int]) -> list[int]:
        """Those of the pairs that are in this dataset."""
        among = QueueFilter(int(self.state.dataset or 0), among=tuple(pair_ids[:MOST_TAGGED]))
        return [row.pair_id for row in self.review.queue_page(among, None, MOST_TAGGED).rows]

    @on("tag")
    def _tag_form(self, act: Act) -> Parts:
        pair_ids = [card.pair for card in act.pairs]
        if self.state.grid and not pair_ids:
            raise SettingsError("Select pairs first: click them, or all with Ctrl+A.")
        return {"edit": self._tags_of(pair_ids or [act.pair or 0], {})}

    def _tags_of(self, pair_ids: list[int], entries: dict[str, Any], question: str = "") -> Markup:
        every_tag = list(self.review.tags(int(self.state.dataset or 0)))
        tags = Counter(chain.from_iterable(self.review.tags_of(pair_ids).values()))
        return review_page.tags(pair_ids, tags, every_tag, entries, question)

    @on("tag-add", "tag-remove")
    def _tag(self, act: Act) -> Parts:
        """Tag the pairs that the form names, or take the tag from them."""
        is_removal, name = act.action == "tag-remove", str(act.edit.get("name", ""))
        pair_ids = self._pairs_here(ids_in(str(act.edit.get("of", ""))))
        changed_ids = self.review.tag(pair_ids, name, self.author, is_removal)
        if changed_ids:
            back = TagChange(name=tag_name(name), pairs=changed_ids, remove=not is_removal)
            self.state.advance([back])
        verb = "taken from" if is_removal else "given to"
        self._say_undoable(f"The tag was {verb} {counted(len(changed_ids))}.")
        self._clear_outdated_filter()
        return {**self.parts(), "edit": self._tags_of(pair_ids, {})}

    @on("tag-rename")
    def _rename_tag(self, act: Act) -> Parts:
        """Rename a tag, or merge it into another. What Z cannot take back is asked for first."""
        dataset, entries = int(self.state.dataset or 0), act.edit
        counts, pair_ids = self.review.tags(dataset), ids_in(str(entries.get("of", "")))
        tags = set(chain.from_iterable(self.review.tags_of(pair_ids).values()))
        old = str(entries.get("name", "")) or (tags.pop() if len(tags) == 1 else "")
        if not old:
            raise SettingsError("Which tag? Click it, or type it into the field Tag.")
        name, new = tag_name(old), tag_name(str(entries.get("new", "")))
        is_large = counts.get(name, 0) > MOST_TAGGED
        if is_large and entries.get("meant") != f"{name};{new}":
            question = f"{counts[name]:,} pairs have the tag “{name}”: Z cannot take this back."
            return {"toast": "", "edit": self._tags_of(pair_ids, entries, question)}
        moved_ids, added_ids = self.review.rename_tag(dataset, name, new, self.author)
        can_undo = not is_large and name != new
        if can_undo:
            self.state.advance([
                TagChange(name=new, pairs=added_ids, remove=True),
                TagChange(name=name, pairs=moved_ids, remove=False),
            ])  # fmt: skip
        tell = self._say_undoable if can_undo else self._say
        tell(f"The tag of {counted(len(moved_ids))} is “{new}” now.")
        self.state.filter = with_value(self.state.filter, "tag", name, new)
        self._clear_outdated_filter()
        return {**self.parts(), "edit": self._tags_of(pair_ids, {})}

    # ------------------------------------------------------------------ moving

    @on("end")
    def _end(self, act: Act) -> None:
        """The browser has shown all its prefetched pairs: continue from the head of the queue."""
        self.state.after = None
        self.state.show(self._first())
        self._say("That was the last pair of this queue.")

    @on("next", "previous")
    def _go(self, act: Act) -> Parts | None:
        state, before = self.state, self.state.pair
        if state.grid:
            self._turn(act.model_copy(update={"action": _PAGE_OF[act.action]}))
            return None
        if before is None and not state.visited:
            return {}
        for _ in range(act.by):
            back = self._back_through_visited() if act.action == "previous" else None
            target = back or self._neighbour(act.action)
            if target is None:
                where = "last" if act.action == "next" else "first"
                self._say(f"This is the {where} pair of this queue.")
                break
            if act.action == "next":
                state.leave()
            state.pair = target
        return None if state.pair != before else _message(self.toast)

    @on("next-caption")
    def _next_caption(self, act: Act) -> Parts | None:
        """The next caption of the picture, after the last one the first."""
        state = self.state
        if state.grid or state.pair is None:
            return {}
        captions = self.review.open_pair(state.pair).captions_of_picture
        pairs = [caption.pair_id for caption in captions]
        if len(pairs) < 2:
            return _message(note("This is the only caption of this picture."))
        state.show(pairs[(pairs.index(state.pair) + 1) % len(pairs)])
        return None

    def _back_through_visited(self) -> int | None:
        """The pair that was on the page before, even if it is no longer in the queue: a pair just
        decided has left a queue of undecided pairs. None if there is none."""
        while self.state.visited:
            pair = self.state.visited.pop()
            if pair != self.state.pair and self._hold(pair):
                return pair
        return None

    @on("first-page", "next-page")
    def _turn(self, act: Act) -> None:
        filter, after = self.filter(), None
        if act.action == "next-page":
            after = self.state.after
            for _ in range(act.by):
                page = self.review.queue_page(filter, after, self._page_size())
                if page.next_cursor is None:
                    break
                after = page.next_cursor
        if after != self.state.after:
            self.state.after, self.state.rows = after, ROWS
        rows = self.review.queue_page(filter, after, PAGE).rows
        self.state.pair = rows[0].pair_id if rows else None

    # ------------------------------------------------------------------ queues

    @on("filter")
    def _set_filter(self, act: Act) -> Parts | None:
        return self._refilter(act.filter)

    @on("drop-filter")
    def _drop_filter(self, act: Act) -> Parts | None:
        """Remove one of the active filters, or one part of the groups."""
        filter, (name, _, place) = self.state.filter, act.name.partition(" ")
        rest = {key: value for key, value in filter.items() if key != name}
        if place:
            groups = groups_of(filter)
            parts = [part for i, part in enumerate(groups.parts) if str(i) != place]
            rest["where"] = text_of(replace(groups, parts=tuple(parts)))
        return self._refilter(rest)

    @on("narrow")
    def _narrow(self, act: Act) -> Parts | None:
        """Show only, any or none of the pairs with this value; once more: as before."""
        filter, parts = self.state.filter, groups_of({"where": act.name}).parts
        part = parts[0] if len(parts) == 1 else None
        if act.how not in ("only", "any", "none") or not isinstance(part, Condition):
            raise SettingsError(f"'{act.name}' is not one condition.")
        if act.how != "only":
            where = text_of(add(groups_of(filter), part, act.how))
            return self._refilter({**filter, "where": where})
        is_set = all(filter.get(key) == value for key, value in part.fields.items())
        change = dict.fromkeys(part.fields, "") if is_set else part.fields
        return self._refilter({**filter, **change})

    def _refilter(self, values: dict[str, str]) -> Parts | None:
        before = self.state.filter
        # The form has no similarity fields, so it clears them: they are shown on a separate line.
        try:
            self.state.filter = cleaned(values)
            self.filter()
        except SettingsError as problem:
            self.state.filter = before
            self.state.groups_draft = values.get("where", "")[:LONGEST_DRAFT]
            return _message(note(str(problem), "warning"))
        self.state.groups_draft = ""
        self.state.after, self.state.rows, self.state.visited = None, ROWS, []
        self.state.pair = self._first()
        return None

    @on(*_SIMILAR)
    def _show_similar(self, act: Act) -> Parts | None:
        """Show pairs similar to the one on the page; pressed again, go back."""
        if any(self.state.filter.get(key) for key in LIKENESS):
            self._back(act)
            return None
        if self.state.pair is None:
            return {}
        alike = self.review.open_pair(self.state.pair).likeness
        key, way = _SIMILAR[act.action]
        value = f"{way}:{self.state.pair}" if way else getattr(alike, key.removeprefix("suspect_"))
        if not value:
            return _message(note("No word of this caption is suspect."))
        came_from = Return(self.state.filter, self.state.pair)
        parts = self._refilter({key: value, "review": "all", "order": "p_error"})
        if parts is None:
            self.state.came_from = came_from
        return parts

    @on("clear-search")
    def _back(self, act: Act) -> None:
        """Return from similar pairs to the previous queue and pair."""
        state = self.state
        plain = {key: value for key, value in state.filter.items() if key not in LIKENESS}
        state.filter, pair = state.came_from or Return(plain, state.pair)
        state.filter, state.came_from, state.after = cleaned(state.filter), None, None
        self._show_or_first(pair)

    @on("view", "save-view", "delete-view")
    def _view(self, act: Act) -> Parts | None:
        """Open, save or delete a named queue."""
        dataset, name = int(self.state.dataset or 0), " ".join(act.name.split())
        if act.action == "save-view":
            self.review.save_view(dataset, name, self.state.filter)
            self._say(f"Saved as '{name}' for everyone working on this dataset.", "good")
            return None
        if act.action == "delete-view":
            self.review.delete_view(dataset, name)
            self._say(f"The view '{name}' was deleted.")
            return None
        return self._refilter(self._views().get(name, START))

    def _views(self) -> dict[str, dict[str, str]]:
        """The saved views by name. One by a measure of a plug-in that is gone stays as it is: the
        message is due when it is opened."""
        views = {}
        for view in self.review.saved_views(int(self.state.dataset or 0)):
            try:
                views[view.name] = cleaned(view.fields)
            except SettingsError:
                views[view.name] = dict(view.fields)
        return views

    # ------------------------------------------------------------------ asking the models

    @on("suggest")
    def _suggest(self, act: Act) -> Parts:
        pair = self._pair_of(act)
        if self.review.suggest(pair, act.claim[0] if act.claim is not None else None):
            return _message("")
        if not self.review.open_pair(pair).caption:
            return _message(note(_IS_NOT_DESCRIBED))
        return _message(note("No known edit improves the match."))

    @on("richer")
    def _richer(self, act: Act) -> Parts:
        pair_id = self._pair_of(act)
        dataset_id = self.review.open_pair(pair_id).dataset_id
        report = self.workspace.jobs.run("enrich", dataset_id, pair_id=pair_id)
        outcome = report.stopped or next(iter(report.outcomes), "nothing to enrich")
        return _message("" if outcome == "offered" else note(f"No richer caption: {outcome}."))

    @on("check")
    def _check(self, act: Act) -> Parts:
        """Score the curator's own edit while it is being typed."""
        if not (act.text or "").strip():
            return {"check": ""}
        try:
            view = self.review.open_pair(self._pair_of(act))
            result = self.review.check_caption(view.pair_id, act.text or "")
        except TracedError as error:
            return {"check": note(explained(error), "error")}
        return {"check": review_page.checked(view, result)}

    @on("complete")
    def _complete(self, act: Act) -> Parts:
        """Compute what is deferred until a pair is looked at: its later steps, the probabilities of
        its corrections, and the words that make its caption abstract. The page keeps what it shows
        if the models are busy, or if they, the pair or its picture cannot be used."""
        parts: Parts = {}
        try:
            pair = self._pair_of(act)
            if self.review.complete(pair):
                parts["stored"] = "yes"
            if self.review.open_pair(pair).looks_abstract:
                words = self.review.why_abstract(pair)
                busy = render("models_busy.html")
                parts["abstract"] = busy if words is None else explained_abstractness(words)
        except TracedError:
            pass
        return parts

    def _pair_of(self, act: Act) -> int:
        """The pair that a question to the models is about. Raises SettingsError."""
        if act.pair is None or self.review.open_pair(act.pair).dataset_id != self.state.dataset:
            raise SettingsError("That pair belongs to another dataset.")
        return act.pair

    # ------------------------------------------------------------------ the queue

    def filter(self) -> QueueFilter:
        """The filter for the store. Raises SettingsError if it is invalid."""
        fields = {"": str(self.state.dataset), **self.state.filter}
        if self._filter is None or self._filter[0] != fields:
            filter = self.review.filter_of(int(self.state.dataset or 0), self.state.filter)
            # What others have on their screens is left out of what is to be decided, not of lists.
            if self.is_team and self.state.filter.get("review") not in ("decided", "all"):
                filter = replace(filter, reader=self.author)
            self._filter = fields, filter
        return self._filter[1]

    def _first(self) -> int | None:
        """The head of the queue: the first pair that no other curator has on screen."""
        if not self.is_team:
            return self.review.first_pair(self.filter())
        # The filter of a list does not leave out what others hold, and that cannot be held.
        filter = replace(self.filter(), reader=self.author)
        pair = self.workspace.accounts.hold_first(filter, self.author, self.state.held)
        if pair is not None:
            self._record_claim(pair)
        return pair

    def _neighbour(self, way: str) -> int | None:
        """The next or the previous pair that no other curator has on screen."""
        step = self.review.next_pair if way == "next" else self.review.previous_pair
        filter, pair = self.filter(), self.state.place
        while pair is not None:
            pair = step(filter, pair)
            if pair is None or self._hold(pair):
                return pair
        return None

    def _hold(self, pair: int) -> bool:
        """Claim the pair for this page; False if another curator has it."""
        if not self.is_team or pair in self._claimed:
            return True
        if not self.workspace.accounts.hold(pair, self.author, self.state.held):
            return False
        self._record_claim(pair)
        return True

    def _record_claim(self, pair: int) -> None:
        self._claimed.add(pair)
        if pair not in self.state.held:
            self.state.held = [pair]

    # ------------------------------------------------------------------ drawing

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
        view = self._opened(state.pair) if state.pair is not None else None
        if view is not None:
            if not self._hold(view.pair_id):
                self._say(OPEN_ELSEWHERE)
            state.limits, state.waiting = view.limits[:2000], view.p_error is None
            state.is_unfamiliar = view.is_unfamiliar
        left, page, counts = self.draw_queue()
        parts: Parts = {"chart": "", "steps": ""}
        if view is None:
            if counts.reviewed and (counts.reviewed == counts.total or is_plain(self.filter())):
                summary = self.workspace.summary(counts.dataset_id)
                stage = review_page.finish(summary, self.review.errors_left(counts))
            else:
                clear = part("button", "view", "Clear the filters")
                text = "No pair is left in this queue, or none fits its filters."
                stage = review_page.empty("Nothing to show", text, clear)
            parts["stage"] = stage
        elif state.grid:
            ids = [row.pair_id for row in page.rows]
            if state.is_table:
                parts["stage"] = review_page.table(
                    page.rows, self.review.extras_of(ids), self.review.tags_of(ids),
                    state.filter["order"], view=f"{as_query(state.filter)} {state.after}",
                    has_more=page.next_cursor is not None and state.rows < MOST_ROWS,
                    leading=self.review.leading_claims(page.rows),
                    is_unfamiliar=state.is_unfamiliar,
                )  # fmt: skip
            else:
                suspects, tags = self.review.suspects_of(ids), self.review.tags_of(ids)
                leading = self.review.leading_claims(page.rows)
                parts["stage"] = review_page.grid(
                    page.rows, suspects, tags, leading, state.is_unfamiliar
                )
            parts["steps"] = review_page.guidelines(view)
        else:
            is_sampled = view.pair_id in state.sampled
            parts = drawn_pair(view, self.workspace.jobs.last_scoring, is_sampled)
        return {"queue": left, **parts, "toast": self.toast}

    def draw_queue(self) -> tuple[Markup, QueuePage, ReviewCounts]:
        """The left column, with the page of pairs and the counts that it shows."""
        state, filter = self.state, self.filter()
        counts = self.review.counts(filter.dataset_id)
        page = self.review.queue_page(filter, state.after, self._page_size())
        if state.after is not None and state.pair not in [row.pair_id for row in page.rows]:
            state.after = None
            page = self.review.queue_page(filter, None, self._page_size())
        similar_to = id_in(state.filter.get("like", "").partition(":")[2])
        like = "" if similar_to is None else self.review.open_pair(similar_to).external_id[:60]
        left = review_page.queue(
            page.rows[:PAGE], state.pair, counts, state.filter, self._queue_size(filter, counts),
            page.next_cursor is not None, state.after is None, self._views(), like,
            state.limits, self.review.errors_left(counts, self._is_outdated), state.is_mixed,
            self.review.queue_values(filter) if state.is_filtering else None, state.groups_draft,
            self.review.leading_claims(page.rows[:PAGE]), state.is_unfamiliar,
        )  # fmt: skip
        return left, page, counts

    def _page_size(self) -> int:
        return self.state.rows if self.state.grid and self.state.is_table else PAGE

    def _queue_size(self, filter: QueueFilter, counts: ReviewCounts) -> str:
        """The number of pairs in the queue, counted only up to a limit so that no key waits."""
        if is_plain(filter) and not self.is_team:
            return f"{counts.total - counts.reviewed:,}"
        count = self.review.queue_count(filter, MOST_COUNTED + 1)
        return f"{count:,}" if count <= MOST_COUNTED else f"more than {MOST_COUNTED:,}"

    def _say_undoable(self, text: str) -> None:
        """With a button, because a form is open and `Z` types into it."""
        self.toast += part("undoable", text)

    def _say(self, text: str, kind: str = "info") -> None:
        self.toast += note(text, kind)


#: Actions of a page that shows no dataset yet.
_OPENING = ("visit", "dataset")
#: In the grid, keys for the next and the previous pair turn the page.
_PAGE_OF = {"next": "next-page", "previous": "first-page"}


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
    elif view.claim is not None and view.trajectory is None:
        middle = review_page.empty("Judged already", "An earlier claim says the same.")
    elif view.trajectory is None:
        middle = review_page.not_scored(scoring(view.dataset_id) if scoring is not None else None)
    else:
        parts["chart"] = trajectory_chart(view.trajectory)
        middle = steps_list(view.trajectory)
    parts["steps"] = middle + review_page.beside(view)
    return parts


def _message(message: str) -> Parts:
    return {"toast": message}


def ids_in(text: str) -> list[int]:
    """The ids of a list with commas; what is none is left out.

    >>> ids_in("3,x,12")
    [3, 12]
    """
    return [id for part in text.split(",") if (id := id_in(part)) is not None]


def _passed_over(count: int) -> str:
    if not count:
        return ""
    return f" {count:,} had been changed in the meantime and were left alone."


def _decided_all(done: RuleReport | JobView) -> str:
    if isinstance(done, JobView):
        return "The pairs are being decided: see Activity. Z undoes them all, at any time."
    left = f" {done.claimed:,} are on the screens of colleagues." if done.claimed else ""
    if done.left_alone:
        left += f" {done.left_alone:,} had a verdict, no caption, or were changed meanwhile."
    text = saved_text(done.decision, False, None)
    return f"{text} {counted(done.given)} decided by a rule. Press Z to undo them all.{left}"


def _many(verdict: VerdictRow) -> str:
    text = f", {verdict.together:,} pairs at once" if verdict.together > 1 else ""
    if verdict.claim is not None:
        text = ": the label of a claim"
    return text + (f"; {verdict.left_alone:,} changed since stay" if verdict.left_alone else "")


def _now(verdict: VerdictRow) -> str:
    return saved_text(verdict.decision, verdict.enriches, verdict.suggestion_id)
