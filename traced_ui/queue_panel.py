"""The queue beside the pair: its filters, its progress, and a page of its pairs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple

from markupsafe import Markup

from backend.jobs.errors_left import ErrorsLeft
from backend.jobs.notices import Sentence
from backend.measures import MEASURES
from backend.review.added_filters import ALIKE, TOPICS
from backend.review.queue import LEAST_MIXED, MIXED_EVERY
from backend.review.queue_form import ADDED, LIKENESS, REVERSED, as_query, groups_of
from backend.review.queue_groups import Condition, text_of
from backend.review.queue_values import QueueValues
from backend.review.search import similarity_kinds
from backend.review.views import ConstantView
from backend.verdict_texts import ENRICHED
from backend.workspace import Group, ReviewCounts
from traced_ui.messages import draw_added
from traced_ui.overview import GridButton, shown_text
from traced_ui.review_labels import (
    LISTED,
    MEASURE_TITLES,
    ORDERS,
    SHORT,
    SHOWS,
    by_order,
    order_label,
)
from traced_ui.review_page import empty
from traced_ui.templates import part, percent, render

#: Explanations of orders that need one.
_HINTS = {
    "random": "A random sample: the number of errors that remain (Progress) is estimated from "
    "pairs decided in this order without a gap.",
    "picture": "The captions of one picture follow each other.",
}
#: Our filters by topic, below those of numbers.
_OF_TOPIC: dict[str, tuple[str, ...]] = dict(
    zip(
        TOPICS,
        (
            ("decision", "decided_by", "note", "noted"),
            ("captioned", "vague", "suspect_kind", "truncated", "tag"),
            ("split", "external_id", "extra"),
        ),
        strict=True,
    )
)
#: With those of features and packages.
_GROUPS = {
    topic: [*names, *(name for name, added in ADDED.items() if added.topic == topic)]
    for topic, names in _OF_TOPIC.items()
}
#: Field names shown on chips.
_CHIPS = {
    **{f"{column}_from": f"{name} from" for column, name in MEASURE_TITLES.items()},
    **{f"{column}_to": f"{name} to" for column, name in MEASURE_TITLES.items()},
    "text": "Words", "meaning": "Meaning", "split": "Split", "decision": "Verdict",
    "decided_by": "Decided by", "note": "Note contains", "noted": "With a note",
    "captioned": "With a caption", "suspect_kind": "Suspect word is a",
    "truncated": "Truncated by the model",
    "external_id": "Id contains", "extra": "Source column", "tag": "Tag",
    "vague": "Has vague sentences",
    **{name: added.title for name, added in ADDED.items() if added.topic != ALIKE},
}  # fmt: skip


class Choice(NamedTuple):
    """A bar or a value of the filter panel. `how`: whether the queue has "only", "any" or "none" of
    it; `share`: of the longest bar."""

    condition: str
    label: str
    count: str
    how: str
    share: float = 0.0


class Skipped(NamedTuple):
    """`count`: pairs of the queue that are put aside; `are_shown`: they are the queue now."""

    count: int = 0
    are_shown: bool = False


NOTHING_SKIPPED = Skipped()


@dataclass(frozen=True)
class QueuePanel:
    """A page of pairs, with filters, progress, and what is to say of the queue and the dataset."""

    rows: Sequence[Any]
    #: The pair that is open.
    current: int | None
    counts: ReviewCounts
    filter: dict[str, str]
    #: How many pairs the queue has, in words.
    count: str
    has_more: bool
    is_first_page: bool
    #: Saved views by name.
    views: Mapping[str, dict[str, str]]
    #: External id of the pair that a similarity search started from.
    like: str = ""
    #: Known limitations of the dataset's scores.
    limits: str = ""
    #: The errors that remain.
    errors_left: ErrorsLeft | None = None
    #: Whether random pairs are to be mixed in, and whether they are into this queue.
    is_mixed: bool = True
    is_mixing: bool = False
    #: What the queue contains, and the dataset's constant parts, if the filter panel is open.
    values: QueueValues | None = None
    constants: Sequence[ConstantView] = ()
    #: Groups of conditions that were refused.
    draft: str = ""
    #: The characters of the most suspicious claim of captions that have several.
    leading: Mapping[int, tuple[int, int]] | None = None
    #: The model does not know such pictures, and its chances are no figures.
    is_unfamiliar: bool = False
    #: The languages of captions that the model does not read, by pair id: as little.
    unread: Mapping[int, str] = field(default_factory=dict)
    #: What there is to say of the dataset as a whole.
    notices: Sequence[Sentence] = ()
    #: What is put aside.
    skipped: Skipped = NOTHING_SKIPPED
    #: What can be undone, if that is shown, and whether anything may be.
    undo_list: str = ""
    can_undo: bool = True
    #: The pairs are those with pictures like a pasted one.
    is_pasted: bool = False
    #: As in `PageState`: there is no other one to choose.
    given_order: str = ""
    #: Added ones, for the whole queue.
    buttons: Sequence[GridButton] = ()

    def draw(self) -> Markup:
        counts, filter = self.counts, self.filter
        order = filter.get("order", "")
        is_open = self.values is not None or bool(self.constants)
        choices = _choices(self.values, filter) if self.values is not None else {}
        sample = self.values.pairs if self.values is not None and self.values.is_sample else 0
        filters = self._filters(choices)
        return render(
            "review/queue.html",
            rows=[self._row(row, order) for row in self.rows],
            counts=counts,
            share=counts.reviewed / counts.total if counts.total else 0,
            count=self.count,
            has_more=self.has_more,
            is_first_page=self.is_first_page,
            hint="" if self.given_order else _hint(order.removeprefix(REVERSED)),
            link=as_query(filter),
            filter=filter,
            filters=_draw_filters(filters, choices, sample, self.constants)
            if is_open
            else _draw_closed_filters(filters),
            buttons=self.buttons,
            limits=self.limits,
            left=self.errors_left,
            is_mixing=self.is_mixing,
            mixed_every=MIXED_EVERY,
            notices=self.notices,
            undo_list=self.undo_list,
        )

    def _filters(self, choices: Mapping[str, list[Choice]]) -> "_Filters":
        alike = "pictures like the pasted one" if self.is_pasted else _in_common(
            self.filter, self.like
        )  # fmt: skip
        return _Filters(
            fields=tuple(self.filter.items()),
            chips=tuple(
                (key, f"{name}: {_in_words(key, self.filter[key])}")
                for key, name in _CHIPS.items()
                if self.filter.get(key)
            ),
            forms=tuple(
                (
                    name,
                    draw_added(
                        f"The filter “{added.title}”",
                        added.template,
                        filter=added,
                        value=self.filter.get(name, ""),
                        counts=choices.get(name, ()),
                    ),
                )
                for name, added in ADDED.items()
                if added.template is not None
            ),
            draft=self.draft,
            alike=alike,
            given_order=self.given_order,
            views=tuple(self.views),
            view_name=next((n for n, fields in self.views.items() if fields == self.filter), ""),
            is_mixed=self.is_mixed,
            skipped=self.skipped,
            can_undo=self.can_undo,
            is_undo_shown=bool(self.undo_list),
        )

    def _row(self, row: Any, order: str) -> Markup:
        decision = LISTED[ENRICHED if row.enriches else row.decision] if row.decision else ""
        return _draw_row(
            row.pair_id, shown_text(row, self.leading, LONGEST_IN_QUEUE), row.p_error, decision,
            by_order(row, order), row.note[:LONGEST_NOTE], self.is_unfamiliar,
            self.unread.get(row.pair_id, ""), row.pair_id == self.current,
        )  # fmt: skip


class _Filters(NamedTuple):
    """What the form of a queue's filters shows while its panel is closed, as in `QueuePanel`.
    `chips`, `forms`: by name, of active filters and of those that packages add, whose code may
    answer otherwise the next time; `alike`: what all pairs of the queue have in common."""

    fields: tuple[tuple[str, str], ...]
    chips: tuple[tuple[str, str], ...]
    forms: tuple[tuple[str, Markup], ...]
    draft: str
    alike: str
    given_order: str
    views: tuple[str, ...]
    view_name: str
    is_mixed: bool
    skipped: Skipped
    can_undo: bool
    is_undo_shown: bool


def _draw_filters(
    shown: _Filters,
    choices: Mapping[str, Sequence[Choice]] = MappingProxyType({}),
    sample: int = 0,
    constants: Sequence[ConstantView] = (),
) -> Markup:
    """The form of a queue's filters. `choices`: bars and values of each field, as shares of a
    random `sample` of so many pairs, or counted (0); `constants`: as in `QueuePanel`."""
    filter = dict(shown.fields)
    order = filter["order"]
    return render(
        "review/filters.html",
        filter=filter,
        draft=shown.draft,
        shows=SHOWS,
        orders={order: shown.given_order}
        if shown.given_order
        else {order: order_label(order)} | ORDERS,
        alike=shown.alike,
        groups=_GROUPS,
        labels=_CHIPS,
        plain=MEASURE_TITLES,
        chips=[
            *shown.chips,
            *((f"where {i}", text_of(part)) for i, part in enumerate(groups_of(filter).parts)),
        ],
        choices=choices,
        added=ADDED,
        likeness=LIKENESS,
        forms=dict(shown.forms),
        sample=sample,
        views=list(shown.views),
        view_name=shown.view_name,
        is_mixed=shown.is_mixed,
        mixed_every=MIXED_EVERY,
        least_mixed=LEAST_MIXED,
        constants=constants,
        skipped=shown.skipped,
        can_undo=shown.can_undo or shown.is_undo_shown,
        is_undo_shown=shown.is_undo_shown,
    )


#: Verdicts leave the form and nearly all rows as they are: what is drawn again is kept.
_draw_closed_filters = lru_cache(maxsize=64)(_draw_filters)


@lru_cache(maxsize=4096)
def _draw_row(
    pair_id: int, text: str, p_error: float | None, decision: str, order: str, note: str,
    is_unfamiliar: bool, unread_language: str, is_current: bool,
) -> Markup:  # fmt: skip
    """A row of the queue. `decision`: in words; `order`: the number that it is ordered by; `text`,
    `note`: as far as they are shown, because they are kept as well."""
    return render(
        "review/queue_row.html", pair_id=pair_id, text=text, p_error=p_error, decision=decision,
        order=order, note=note, is_unfamiliar=is_unfamiliar, unread_language=unread_language,
        is_current=is_current,
    )  # fmt: skip


def forget_drawn() -> None:
    """Keep nothing of what was drawn: a dataset is deleted."""
    _draw_closed_filters.cache_clear()
    _draw_row.cache_clear()


def _hint(order: str) -> str:
    """The explanation of an order; "" if it needs none.

    >>> _hint("weakest")
    "How far the picture supports the caption's weakest phrase. Measured under Add data."
    >>> _hint("p_error")
    ''
    """
    measure = MEASURES.get(order)
    if measure is None:
        return _HINTS.get(order, "")
    where = "" if measure.operation == "score" else "Measured under Add data."
    if not (measure.hint or where):
        return ""
    return " ".join(filter(None, (measure.explanation, measure.hint, where)))


#: Characters of a caption and of a note in the queue.
LONGEST_IN_QUEUE, LONGEST_NOTE = 160, 400


def _choices(values: QueueValues, filter: Mapping[str, str]) -> dict[str, list[Choice]]:
    """The bars and values of each field."""
    groups = groups_of(filter)
    modes = dict.fromkeys(groups.leaves(), "any")
    modes |= {
        part: "none"
        for group in groups.parts
        if isinstance(group, Group) and group.how == "none"
        for part in group.leaves()
    }

    def choice(name: str, value: str, label: str, count: int, most: int) -> Choice:
        part = Condition(name, value)
        is_only = all(filter.get(key) == text for key, text in part.fields.items())
        how = "only" if is_only else modes.get(part, "")
        count_text = percent(count / values.pairs) if values.is_sample else f"{count:,}"
        return Choice(str(part), label, count_text, how, count / most)

    choices = {
        name: [
            choice(name, bar.range, bar.range.replace("..", " to "), bar.count, most)
            for most in [max((bar.count for bar in bars), default=0) or 1]
            for bar in bars
        ]
        for name, bars in values.numbers.items()
    }
    for name, words in values.words.items():
        choices[name] = [
            choice(
                name,
                word,
                SHORT[word][2:] if name == "decision" else _in_words(name, word),
                count,
                values.pairs or 1,
            )
            for word, count in words
        ]
    return choices


def _in_words(name: str, value: str) -> str:
    """What the page calls a value of a filter."""
    return ADDED[name].in_words(value) if name in ADDED else value


def _in_common(filter: Mapping[str, str], like: str) -> str:
    """The common property of all pairs of this queue; "" if none."""
    if kind := filter.get("suspect_kind"):
        return f"suspect words of the kind {kind}"
    if word := filter.get("suspect_word"):
        return f"suspect word “{word}”"
    for name, added in ADDED.items():
        if added.topic == ALIKE and filter.get(name):
            return added.title
    kind = similarity_kinds().get(filter.get("like", "").partition(":")[0])
    return kind.in_common.replace("{}", like) if kind is not None else ""


def nothing_fits(filter: Mapping[str, str]) -> Markup:
    """In place of a pair, if none fits the filters: what was searched for, and what to do."""
    clear = part("button", "view", "Clear the filters")
    if not (words := filter.get("text", "")):
        text = "No pair is left in this queue, or none fits its filters."
        return empty("Nothing to show", text, clear)
    text = "Search for fewer or other words, or tick “meaning” beside them."
    if filter.get("review") != "all":
        text += " Captions that are decided are under Show."
    return empty(f"No caption in this queue has “{words[:80]}”", text, clear)
