"""Which pairs are shown, in which order, and the way from one to the next."""

import base64
import contextlib
from dataclasses import replace

from pydantic import Field

from backend.datasets.safe_files.images import load_image
from backend.errors import SettingsError, TracedError
from backend.review.queue_form import BESIDE, LIKENESS, START, clean_fields, groups_of, id_in
from backend.review.queue_groups import Condition, add, text_of
from backend.review.search import similarity_kinds
from traced_ui.messages import explain_on_page, note
from traced_ui.page_actions import (
    PAGE,
    PageAction,
    PageActions,
    Parts,
    Target,
    TypedText,
    message_part,
    on,
)
from traced_ui.page_state import LONGEST_DRAFT, MOST_FOUND, MOST_ROWS, MOST_SKIPPED, ROWS, Return

#: The filter set by "more like this": the field and, for searches, what is compared.
_SIMILAR = {
    "same-word": ("suspect_word", ""),
    "same-kind": ("suspect_kind", ""),
    **{kind.action: ("like", name) for name, kind in similarity_kinds().items()},
}
#: Pairs that one request goes on or back by.
MOST_PASSED = 1000
#: In the grid, keys for the next and the previous pair turn the page.
_PAGE_OF = {"next": "next-page", "previous": "first-page"}


class Visit(PageAction):
    address: dict[str, str] = Field(default_factory=dict)


class Steps(PageAction):
    """How many pairs or pages to go on or back `by`: keys that were pressed meanwhile count."""

    by: int = Field(1, ge=1, le=MOST_PASSED)


class QueueChoice(PageAction):
    """The queue to show."""

    filter: dict[str, str] = Field(default_factory=dict)


class Narrowing(PageAction):
    """`how`: whether the queue shows "only", "any" or "none" of the pairs with the value `name`."""

    how: str = Field("only", max_length=8)


class QueueActions(PageActions):
    @on("visit")
    def _visit(self, act: Visit) -> None:
        """Open the dataset, the queue and the pair named in an address, or the first pair of the
        default queue. `act.dataset`: the dataset if the address names none; otherwise the first."""
        state, address = self.state, act.address
        state.author = self.author
        self._is_outdated = True
        known_ids = [summary.id for summary in self.workspace.datasets()]
        address_id = id_in(address.get("dataset", ""))
        wishes = (address_id, act.dataset, state.dataset, *known_ids[:1])
        dataset_id = next((id for id in wishes if id in known_ids), None)
        state.dataset, state.came_from = dataset_id, None
        state.grid, state.is_table = address.get("grid") == "yes", False
        state.leave_lists()
        self._follow(address)
        pair = id_in(address.get("pair", ""))
        is_plain = pair is None and state.filter == START and not (state.grid or self.is_team)
        if is_plain and dataset_id is not None:
            pair = self.workspace.opening_pair(dataset_id)
            if pair is not None:
                self.say("An example to begin with. The queue begins with its first row.")
        self._show_or_first(pair)

    @on("dataset")
    def _choose_dataset(self, act: PageAction) -> None:
        """Switch to another dataset; filters are kept where they fit it."""
        state = self.state
        state.dataset, state.pair, state.after = act.dataset, None, None
        state.visited, state.came_from = [], None
        state.leave_lists()
        state.done, state.undone = [], []
        self._clear_outdated_filter()
        state.pair = self._first() if state.dataset is not None else None

    def _follow(self, address: dict[str, str]) -> None:
        """Set the queue named in an address; the default one, with a message, if it is invalid."""
        other_keys = {key for key in address if key in BESIDE or key.startswith("__")}
        self.state.after = None
        try:
            self.state.filter = clean_fields(address, other_keys)  # __: Gradio's
            self._check_filter()
        except TracedError as problem:
            self.state.filter = dict(START)
            self.say(f"{explain_on_page(problem)} The address was ignored.", "warning")

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

    @on("open")
    def _open(self, act: Target) -> None:
        self.state.grid = False
        view = self.review.open_pair(act.target or 0)
        if view.dataset_id != self.state.dataset:
            raise SettingsError("That pair belongs to another dataset.")
        self.state.show(view.pair_id)

    @on("grid", "table")
    def _grid(self, act: PageAction) -> None:
        """Show many pairs as cards or as a table, or go back to one pair."""
        state, is_table = self.state, act.action == "table"
        state.grid = not state.grid or state.is_table != is_table
        state.is_table = is_table

    @on("more-rows")
    def _more_rows(self, act: Steps) -> None:
        """Show more rows of the table, whose end is near, or as many as a page may have."""
        self.state.rows = min(self.state.rows + ROWS * act.by, MOST_ROWS)

    @on("sort")
    def _sort(self, act: PageAction) -> Parts | None:
        return self._refilter({**self.state.filter, "order": act.name})

    @on("end")
    def _end(self, act: PageAction) -> None:
        """The browser has shown all its prefetched pairs: continue from the head of the queue."""
        self.state.after = None
        self.state.show(self._first())
        self.say("That was the last pair of this queue.")

    @on("next", "previous")
    def _go(self, act: Steps) -> Parts | None:
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
                self.say(f"This is the {where} pair of this queue.")
                break
            if act.action == "next":
                state.leave()
            state.pair = target
        return None if state.pair != before else message_part(self.toast)

    @on("skip")
    def _skip(self, act: PageAction) -> Parts | None:
        """Put the pair aside: it comes back at the end of the queue."""
        state, pair = self.state, self.state.pair
        if state.grid or pair is None or act.pair != pair:
            return {}
        if self.review.open_pair(pair).verdict.decision is not None:
            return message_part(note("This pair has a verdict: it does not wait for one."))
        following = self._neighbour("next")
        state.skipped = [*(each for each in state.skipped if each != pair), pair][-MOST_SKIPPED:]
        state.show(following or self._first())
        is_alone = state.shows_skipped and state.pair == pair
        self.say(
            "This is the only pair that you skipped."
            if is_alone
            else f"Skipped: {act.name[:60]}. It comes back at the end of the queue."
        )
        return None

    @on("skipped")
    def _open_skipped(self, act: PageAction) -> None:
        """Show the pairs that were put aside as a queue, or the queue again."""
        state = self.state
        state.shows_skipped, state.after = not state.shows_skipped, None
        state.show(self._first())

    @on("next-caption")
    def _next_caption(self, act: PageAction) -> Parts | None:
        """The next caption of the picture, after the last one the first."""
        state = self.state
        if state.grid or state.pair is None:
            return {}
        captions = self.review.open_pair(state.pair).picture.captions
        pairs = [caption.pair_id for caption in captions]
        if len(pairs) < 2:
            return message_part(note("This is the only caption of this picture."))
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
    def _turn(self, act: Steps) -> None:
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

    @on("filter")
    def _set_filter(self, act: QueueChoice) -> Parts | None:
        return self._refilter(act.filter)

    @on("find-meaning")
    def _find_meaning(self, act: TypedText) -> Parts:
        """Search by meaning before the queue shows it: the first search loads a model, for which no
        other act waits. What is wrong with it is said by the queue."""
        with contextlib.suppress(TracedError):
            text = clean_fields({"meaning": act.text or ""}).get("meaning", "")
            self.review.search(int(self.state.dataset or 0), text)
        return {}

    @on("drop-filter")
    def _drop_filter(self, act: PageAction) -> Parts | None:
        """Remove one of the active filters, or one part of the groups."""
        filter, (name, _, place) = self.state.filter, act.name.partition(" ")
        rest = {key: value for key, value in filter.items() if key != name}
        if place:
            groups = groups_of(filter)
            parts = [part for i, part in enumerate(groups.parts) if str(i) != place]
            rest["where"] = text_of(replace(groups, parts=tuple(parts)))
        return self._refilter(rest)

    @on("narrow")
    def _narrow(self, act: Narrowing) -> Parts | None:
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
            self.state.filter = clean_fields(values)
            self.filter()
        except SettingsError as problem:
            self.state.filter = before
            self.state.groups_draft = values.get("where", "")[:LONGEST_DRAFT]
            return message_part(note(str(problem), "warning"))
        self.state.groups_draft = ""
        self.state.leave_lists()
        self.state.after, self.state.rows, self.state.visited = None, ROWS, []
        self.state.pair = self._first()
        return None

    @on(*_SIMILAR)
    def _show_similar(self, act: PageAction) -> Parts | None:
        """Show pairs similar to the one on the page; pressed again, go back."""
        if any(self.state.filter.get(key) for key in LIKENESS):
            self._back(act)
            return None
        if self.state.pair is None:
            return {}
        alike = self.review.open_pair(self.state.pair).opinion.likeness
        key, way = _SIMILAR[act.action]
        value = f"{way}:{self.state.pair}" if way else getattr(alike, key.removeprefix("suspect_"))
        if not value:
            return message_part(note("No word of this caption is suspect."))
        came_from = Return(self.state.filter, self.state.pair)
        parts = self._refilter({key: value, "review": "all", "order": "p_error"})
        if parts is None:
            self.state.came_from = came_from
        return parts

    @on("find-picture")
    def _find_picture(self, act: TypedText) -> None:
        """Show pairs whose pictures are like a pasted one: `act.text` is it, as base64."""
        state = self.state
        try:
            data = base64.b64decode(act.text or "", validate=True)
        except ValueError as problem:
            raise SettingsError("This is no picture.") from problem
        image = load_image(data, "the pasted picture")
        found = self.review.find_picture(int(state.dataset or 0), image)
        came_from = state.came_from if state.found else Return(state.filter, state.pair)
        self._refilter({"review": "all", "order": "p_error"})
        state.grid, state.came_from = False, came_from
        state.found = list(found[:MOST_FOUND])
        state.show(self._first())

    @on("clear-search")
    def _back(self, act: PageAction) -> None:
        """Return from similar pairs to the previous queue and pair."""
        state = self.state
        plain = {key: value for key, value in state.filter.items() if key not in LIKENESS}
        state.filter, pair = state.came_from or Return(plain, state.pair)
        state.filter, state.came_from, state.after = clean_fields(state.filter), None, None
        state.leave_lists()
        self._show_or_first(pair)

    @on("switch-constant", writes=True)
    def _switch_constant(self, act: PageAction) -> None:
        """Judge a constant part from the next scoring on, or leave it out again."""
        dataset = int(self.state.dataset or 0)
        is_left_out = self.review.toggle_constant(dataset, act.name, self.author, act.request)
        effect = "left out" if is_left_out else "judged"
        self.say(f"“{act.name}” will be {effect} when the dataset is scored again.", "good")

    @on("view")
    @on("save-view", "delete-view", writes=True)
    def _view(self, act: PageAction) -> Parts | None:
        """Open, save or delete a named queue."""
        dataset, name = int(self.state.dataset or 0), " ".join(act.name.split())
        if act.action == "save-view":
            self.check_queue()
            self.review.save_view(dataset, name, self.state.filter)
            self.say(f"Saved as '{name}' for everyone working on this dataset.", "good")
            return None
        if act.action == "delete-view":
            self.review.delete_view(dataset, name)
            self.say(f"The view '{name}' was deleted.")
            return None
        return self._refilter(self._views().get(name, START))
