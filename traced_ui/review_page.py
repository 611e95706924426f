"""The parts of the review page as HTML; their behaviour is defined in the files `*_actions`."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple
from urllib.parse import unquote_plus

from markupsafe import Markup

from backend.engine.captions import Caption
from backend.engine.detection.localisation import most_suspect
from backend.engine.detection.types import SuspectWord
from backend.jobs.errors_left import ErrorsLeft
from backend.jobs.notices import Sentence
from backend.jobs.reports import JobView
from backend.measures import MEASURES, OF_THE_MODEL, filter_names
from backend.review.added_filters import ALIKE, TOPICS
from backend.review.pair_selection import LONGEST
from backend.review.queue import LEAST_MIXED, MIXED_EVERY
from backend.review.queue_form import (
    ADDED,
    EXTRA,
    LIKENESS,
    REVERSED,
    as_query,
    groups_of,
    is_descending,
    other_way,
)
from backend.review.queue_groups import Condition, text_of
from backend.review.queue_values import QueueValues
from backend.review.search import similarity_kinds
from backend.review.views import (
    CaptionCheck,
    ConstantView,
    DatasetSummary,
    PairView,
    ProgressView,
    VerdictView,
    fingerprint_of,
)
from backend.verdict_texts import (
    ENRICHED,
    ENRICHMENT,
    TEXTS,
    UNDECIDED,
    is_wrong,
    judgement,
    word_of,
)
from backend.workspace import Group, ReviewCounts
from traced_ui.differences import difference, parts_that_differ, readable, replacements
from traced_ui.highlighting import excerpt, highlighted_caption, words_of
from traced_ui.keyboard import KEYS
from traced_ui.markdown import from_markdown
from traced_ui.messages import draw_added
from traced_ui.pair_places import parts_in
from traced_ui.reasons import expectations_by_word, reasons_section
from traced_ui.support import enrichments, phrases_section
from traced_ui.templates import chance, part, percent, render
from traced_ui.trajectory_chart import RISE

#: Verdicts with a button: (key shown, button text, explanation).
DECISIONS = {
    key.action: (key.shown, text.button, key.description)
    for key in KEYS
    for verdict, text in TEXTS.items()
    if verdict == key.action
}
#: Verdict labels in lists of pairs.
SHORT: dict[str, str] = {verdict: text.listed for verdict, text in TEXTS.items()}
#: The same for judgements: an accepted enrichment is not a correction.
LISTED: dict[str, str] = {**SHORT, ENRICHED: ENRICHMENT.listed}
ORDERS = {
    **{name: MEASURES[name].order or f"by {MEASURES[name].title}" for name in filter_names()},
    "uncertainty": "most uncertain",
    "random": "check a random sample",
    "position": "as imported",
    "picture": "by picture",
}
#: Orders that only the heads of the table offer.
TABLE_ORDERS = {
    "external_id": "by id", "caption": "by caption", "split": "by split",
    "decision": "by verdict", "note": "by note", "tag": "by tag",
}  # fmt: skip
#: Explanations of orders that need one.
_HINTS = {
    "random": "A random sample: the number of errors that remain (Progress) is estimated from "
    "pairs decided in this order without a gap.",
    "picture": "The captions of one picture follow each other.",
}
SHOWS = {
    "unreviewed": UNDECIDED, "decided": "decided", "all": "all", "disputed": "disputed",
}  # fmt: skip

#: Display names of the measures with range filters.
_PLAIN = {name: MEASURES[name].title for name in filter_names()}
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
    **{f"{column}_from": f"{name} from" for column, name in _PLAIN.items()},
    **{f"{column}_to": f"{name} to" for column, name in _PLAIN.items()},
    "text": "Words", "meaning": "Meaning", "split": "Split", "decision": "Verdict",
    "decided_by": "Decided by", "note": "Note contains", "noted": "With a note",
    "captioned": "With a caption", "suspect_kind": "Suspect word is a",
    "truncated": "Truncated by the model",
    "external_id": "Id contains", "extra": "Source column", "tag": "Tag",
    "vague": "Has vague sentences",
    **{name: added.title for name, added in ADDED.items() if added.topic != ALIKE},
}  # fmt: skip


class Choice(NamedTuple):
    """A bar or a value of the drawer. `how`: whether the queue has "only", "any" or "none" of it;
    `share`: of the longest bar."""

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


class Tool(NamedTuple):
    """A toolbar button. `is_local`: handled by the browser alone."""

    action: str
    label: str
    key: str
    icon: str
    is_local: bool = False


TOOLS = (
    Tool("queue", "Queue and filters", "", "list", is_local=True),  # on a phone, see styles.css
    Tool("undo", "Undo the last verdict", "Z", "undo"),
    Tool("redo", "Redo", "Y", "redo"),
    Tool("previous", "Back to the previous pair", "K", "back"),
    Tool("next", "Next pair", "J", "next"),
    Tool("skip", "Skip this pair: it comes back at the end of the queue", "Q", "skip"),
    Tool("tag", "Tags of this pair, or of those selected in the grid", "T", "tag"),
    Tool("grid", "Grid of many pairs, or back to one pair", "G", "grid"),
    Tool("table", "Table of many pairs, or back to one pair", "", "table"),
)


def toolbar() -> Markup:
    """The toolbar of the page."""
    return render("review/toolbar.html", tools=TOOLS)


class GridButton(NamedTuple):
    """A button beside those of the verdicts, or below the queue. `action`: what it does to the
    selected pairs, or to the queue; `key`: as shown on it; `hint`: what it does, in words."""

    action: str
    key: str
    text: str
    hint: str


def queue(
    rows: Sequence[Any],
    current: int | None,
    counts: ReviewCounts,
    filter: dict[str, str],
    count: str,
    more: bool,
    first_page: bool,
    views: Mapping[str, dict[str, str]],
    like: str = "",
    limits: str = "",
    errors_left: ErrorsLeft | None = None,
    is_mixed: bool = True,
    values: QueueValues | None = None,
    draft: str = "",
    leading: Mapping[int, tuple[int, int]] | None = None,
    is_unfamiliar: bool = False,
    notices: Sequence[Sentence] = (),
    constants: Sequence[ConstantView] = (),
    skipped: Skipped = NOTHING_SKIPPED,
    undo_list: str = "",
    can_undo: bool = True,
    is_pasted: bool = False,
    buttons: Sequence[GridButton] = (),
    is_mixing: bool = False,
) -> Markup:
    """Filters, progress, and a page of pairs. `views`: saved views by name. `like`: external id of
    the pair that a similarity search started from. `limits`: known limitations of the dataset's
    scores. `errors_left`: the errors that remain; `is_mixed`: whether random pairs are to be
    mixed in, `is_mixing`: whether they are into this queue. `values`: what the queue contains, if
    the drawer is open. `draft`: groups that were refused.
    `leading`: the characters of the most suspicious claim of captions that have several.
    `is_unfamiliar`: the model does not know such pictures, and its chances are no figures.
    `notices`: what there is to say of the dataset as a whole. `constants`: its constant parts, if
    the drawer is open. `skipped`: what is put aside. `undo_list`: what can be undone, if that
    is shown; `can_undo`: whether anything may be. `is_pasted`: the pairs are those with
    pictures like a pasted one. `buttons`: added ones, for the whole queue."""
    order = filter.get("order", "")
    filters = _Filters(
        tuple(filter.items()), draft, "pictures like the pasted one" if is_pasted else
        _in_common(filter, like), tuple(views),
        next((name for name, fields in views.items() if fields == filter), ""),
        is_mixed, skipped, can_undo, bool(undo_list),
    )  # fmt: skip
    return render(
        "review/queue.html",
        rows=[
            _row(
                row.pair_id, shown_text(row, leading, LONGEST_IN_QUEUE), row.p_error,
                LISTED[ENRICHED if row.enriches else row.decision] if row.decision else "",
                by_order(row, order), row.note, is_unfamiliar, row.pair_id == current,
            )
            for row in rows
        ],
        counts=counts,
        share=counts.reviewed / counts.total if counts.total else 0,
        count=count,
        has_more=more,
        is_first_page=first_page,
        hint=_hint(order.removeprefix(REVERSED)),
        link=as_query(filter),
        filter=filter,
        filters=_filters(filters, values, constants) if values is not None or constants
        else _closed_filters(filters),
        buttons=buttons,
        limits=limits,
        left=errors_left,
        is_mixing=is_mixing,
        mixed_every=MIXED_EVERY,
        notices=notices,
        undo_list=undo_list,
    )  # fmt: skip


class _Filters(NamedTuple):
    """What the form of a queue's filters shows while its drawer is closed, as for `queue`.
    `alike`: what all pairs of the queue have in common."""

    fields: tuple[tuple[str, str], ...]
    draft: str
    alike: str
    views: tuple[str, ...]
    view_name: str
    is_mixed: bool
    skipped: Skipped
    can_undo: bool
    is_undo_shown: bool


def _filters(
    shown: _Filters, values: QueueValues | None = None, constants: Sequence[ConstantView] = ()
) -> Markup:
    """The form of a queue's filters. `values`, `constants`: as for `queue`."""
    filter = dict(shown.fields)
    choices = _choices(values, filter) if values is not None else {}
    order = filter["order"]
    return render(
        "review/filters.html",
        filter=filter,
        draft=shown.draft,
        shows=SHOWS,
        orders={order: _order_label(order)} | ORDERS,
        alike=shown.alike,
        groups=_GROUPS,
        labels=_CHIPS,
        plain=_PLAIN,
        chips=[
            *(
                (key, f"{name}: {_in_words(key, filter[key])}")
                for key, name in _CHIPS.items()
                if filter.get(key)
            ),
            *((f"where {i}", text_of(part)) for i, part in enumerate(groups_of(filter).parts)),
        ],
        choices=choices,
        added=ADDED,
        likeness=LIKENESS,
        forms={
            name: draw_added(
                f"The filter “{added.title}”",
                added.template,
                filter=added,
                value=filter.get(name, ""),
                counts=choices.get(name, ()),
            )
            for name, added in ADDED.items()
            if added.template is not None
        },
        sample=values.pairs if values is not None and values.is_sample else 0,
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
_closed_filters = lru_cache(maxsize=64)(_filters)


@lru_cache(maxsize=4096)
def _row(
    pair_id: int, text: str, p_error: float | None, decision: str, order: str, note: str,
    is_unfamiliar: bool, is_current: bool,
) -> Markup:  # fmt: skip
    """A row of the queue. `decision`: in words; `order`: the number that it is ordered by."""
    return render(
        "review/queue_row.html", pair_id=pair_id, text=text, p_error=p_error, decision=decision,
        order=order, note=note, is_unfamiliar=is_unfamiliar, is_current=is_current,
    )  # fmt: skip


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


#: Characters of a caption in the queue.
LONGEST_IN_QUEUE = 160


def shown_text(row: Any, leading: Mapping[int, tuple[int, int]] | None, longest: int) -> str:
    """What a list shows of a pair's text. `leading`: as for `queue`."""
    if row.corrected_caption:
        return excerpt(row.corrected_caption, None, longest)[0]
    return excerpt(row.caption, (leading or {}).get(row.pair_id), longest)[0]


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


#: Characters of a long caption that are shown before its first change.
BEFORE_CHANGE = 24
#: Corrections on the page, one key each.
SUGGESTIONS_SHOWN = 3
#: Longer captions are set smaller, and their box is higher.
LONGEST_AT_SIZE = 160


def stage(view: PairView, is_sampled: bool = False) -> Markup:
    """Picture, caption, verdicts and suggestions of one pair. `is_sampled`: it was mixed into the
    queue at random."""
    trajectory = view.opinion.trajectory
    removal = None
    # Only word elimination deletes words; in other trajectories a step replaces them.
    if trajectory is not None and trajectory.captions is None:
        removal = {word: step for step, word in enumerate(trajectory.removed, 1)}
    gains = trajectory.deletion_gains.tolist() if trajectory is not None else ()
    correction = view.verdict.corrected_caption
    suggestions = view.helpful_suggestions[:SUGGESTIONS_SHOWN]
    cards = []
    for number, each in enumerate(suggestions, 1):
        parts = parts_that_differ(view.caption, each.caption, view.claim)
        cards.append((number, each, readable(*parts), replacements(*parts), parts[1]))
    is_best = any(each.is_offer for each in suggestions[:1])
    is_unjudged = any(
        s.p_before is not None and s.p_after is None for s in view.suggestions.corrections
    )
    is_whole = trajectory is None or trajectory.whole
    reason = why(view)
    return render(
        "review/stage.html",
        view=view,
        longest=LONGEST_AT_SIZE,
        is_unjudged=is_unjudged,
        is_deferred=is_unjudged or view.opinion.looks_abstract or not is_whole,
        caption=highlighted_caption(
            view.caption, view.opinion.suspects, view.opinion.words_read, gains,
            removal, view.wrong_words,
            expectations_by_word(trajectory),
            view.claims, view.selected if view.claims else None, view.is_unfamiliar,
            constants=view.constants,
        ),
        decisions=DECISIONS,
        correction=None if correction is None else _correction(view, correction),
        cards=cards,
        is_best=is_best,
        why=reason,
        is_accused=reason is not None and is_accused(view),
        is_sampled=is_sampled,
        mixed_every=MIXED_EVERY,
        opinions=_opinions(view),
        parts=parts_in("picture", view),
        over=parts_in("over", view),
        labels=parts_in("labels", view),
    )  # fmt: skip


def _opinions(view: PairView) -> list[tuple[str, str]]:
    """What each curator says about the pair, if they disagree: (name, verdict as listed)."""
    latest = {act.author: act for act in view.verdict.history}
    opinions = [(name, act) for name, act in latest.items() if act.decision]
    if len({(act.decision, act.corrected_caption) for _, act in opinions}) < 2:
        return []
    return [(name, _after(act)) for name, act in opinions]


def _order_label(order: str) -> str:
    """
    >>> _order_label("-caption"), _order_label("extra:width"), _order_label("s_0")
    ('by caption, reversed', 'by width', 'lowest match')
    """
    name = order.removeprefix(REVERSED)
    label = {**ORDERS, **TABLE_ORDERS}.get(name, f"by {name.removeprefix(EXTRA)}")
    return label if name == order else f"{label}, reversed"


def by_order(row: Any, order: str) -> str:
    """The number by which a queue in this order sorts a row; "" if it has none or p is the order.

    >>> from types import SimpleNamespace
    >>> by_order(SimpleNamespace(numbers={"support": -0.4321}), "support")
    'backed -0.43'
    >>> by_order(SimpleNamespace(numbers={"support": None}), "support"), by_order(None, "random")
    ('', '')
    """
    measure = MEASURES.get(order.removeprefix(REVERSED))
    if measure is None or not measure.word:  # p is always shown
        return ""
    value = row.numbers.get(measure.name)
    return "" if value is None else f"{measure.word} {measure.write(value)}"


class Why(NamedTuple):
    """A sentence around words of the caption."""

    before: str
    words: tuple[str, ...]
    after: str


def why(view: PairView) -> Why | None:
    """Why the caption, or its selected claim, looks wrong, in one sentence; None if nothing does.

    The words are those that the page tints: the first that the trajectory removes, as long as they
    are among them, or else the single one without which the match rises most.
    """
    trajectory, claim = view.opinion.trajectory, view.claim
    start, end = (claim.start, claim.end) if claim is not None else (0, len(view.caption))
    inside = [word for word in view.opinion.suspects if start <= word.start < end]
    suspects = most_suspect(view.caption, inside)
    if trajectory is None or not suspects:
        return None
    texts = [view.caption[word.start : word.end] for word in suspects]
    if not is_accused(view):
        return Why("Least sure of", tuple(texts), "")
    if trajectory.captions is None:  # it removes words
        spans = {(word.start, word.end) for word in suspects}
        every = (
            words_of(view.caption, claim)
            if claim is not None
            else [(*span, [i]) for i, span in enumerate(Caption.parse(view.caption).spans)]
        )
        text_of = {
            i: view.caption[a:b] for a, b, indices in every if (a, b) in spans for i in indices
        }
        step = 0
        while step < len(trajectory.removed) and trajectory.removed[step] in text_of:
            step += 1
        gains = trajectory.deletion_gains
        alone = max((i for i in text_of if i < len(gains)), key=lambda i: gains[i], default=None)
        before = float(trajectory.scores[0])
        if float(trajectory.scores[step]) - before >= RISE:
            word_indices, after = sorted(trajectory.removed[:step]), float(trajectory.scores[step])
        elif alone is not None and gains[alone] >= RISE:
            word_indices, after = [alone], before + float(gains[alone])
        else:
            return Why("Least expected in this caption:", tuple(texts), "")
        words = tuple(dict.fromkeys(text_of[i] for i in word_indices))
        return Why("Without", words, f"the match rises from {before:.2f} to {after:.2f}")
    return Why("Least expected in this caption:", tuple(texts), "")


def is_accused(view: PairView) -> bool:
    """Whether the model, which knows such pictures, holds that the caption, or its selected claim,
    is more likely wrong than right."""
    chance = (view.claim or view).p_error
    return not view.is_unfamiliar and chance is not None and chance >= 0.5


def _correction(view: PairView, text: str) -> Markup:
    """What the pair's text is now; of a long one the part that has changed."""
    return difference(view.caption, text, around=BEFORE_CHANGE if view.claims else None)


#: Characters of a caption shown on a card; opening the pair shows the rest.
LONGEST_ON_CARD = 220


def grid(
    rows: Sequence[Any],
    suspects: Mapping[int, Sequence[SuspectWord]] | None = None,
    tags: Mapping[int, Sequence[str]] | None = None,
    leading: Mapping[int, tuple[int, int]] | None = None,
    is_unfamiliar: bool = False,
    order: str = "",
    buttons: Sequence[GridButton] = (),
) -> Markup:
    """A page of the queue as selectable cards, with verdict buttons. `suspects`: suspect words by
    pair id, shaded as on the pair's own page; `tags`: the pairs' tags by pair id; `leading`,
    `is_unfamiliar`: as for `queue`. `order`: of the queue, whose value each card shows.
    `buttons`: added ones."""
    suspects_by_pair = suspects or {}
    cards = []
    for row in rows:
        # Suspect words are places in the original caption.
        words = () if row.corrected_caption else suspects_by_pair.get(row.pair_id, ())
        span = None if row.corrected_caption else (leading or {}).get(row.pair_id)
        whole = row.corrected_caption or row.caption
        offset = 0
        if span is None:
            text = whole if len(whole) <= LONGEST_ON_CARD else f"{whole[:LONGEST_ON_CARD]} … more"
        else:
            text, offset = excerpt(whole, span, LONGEST_ON_CARD)
            words = [
                replace(word, start=word.start - offset, end=word.end - offset)
                for word in words
                if span[0] <= word.start < min(span[1], span[0] + LONGEST_ON_CARD)
            ]
        top = next(iter(most_suspect(text, words)), None)
        fingerprint = fingerprint_of(row.external_id, row.caption, row.image_path)
        cards.append((row, highlighted_caption(text, words), fingerprint, top, offset))
    return render(
        "review/grid.html", rows=cards, decisions=DECISIONS, short=LISTED, tags=tags or {},
        columns=None, is_unfamiliar=is_unfamiliar, buttons=buttons,
        by_order={row.pair_id: by_order(row, order) for row in rows},
    )  # fmt: skip


#: The first columns of the table after the caption, before numbers and columns of the source. Each
#: sorts the queue.
_TABLE = {
    "p_error": _PLAIN["p_error"], "external_id": "Id", "decision": "Verdict", "split": "Split",
    "tag": "Tags", "note": "Note",
}  # fmt: skip
#: Numbers that a table shows until somebody chooses columns: all of them are wider than a screen.
_SHOWN_NUMBERS = ("p_error", "s_0", "gain")
#: Most columns of a source in the table.
MOST_COLUMNS = 40
#: Characters of a cell.
LONGEST_CELL = 2000


def table(
    rows: Sequence[Any],
    extras: Mapping[int, Mapping[str, Any]],
    tags: Mapping[int, Sequence[str]],
    order: str = "",
    view: str = "",
    has_more: bool = False,
    leading: Mapping[int, tuple[int, int]] | None = None,
    is_unfamiliar: bool = False,
    buttons: Sequence[GridButton] = (),
) -> Markup:
    """A page of the queue as a table. `extras`: the columns of the source by pair id, and `tags`;
    `order`: of the queue. `view`: the scroll position stays as long as this does. `has_more`:
    whether rows follow on this page. `leading`, `is_unfamiliar`: as for `queue`. `buttons`: added
    ones."""
    extra_names = list(dict.fromkeys(name for row in rows for name in extras.get(row.pair_id, ())))
    columns = {**_TABLE, **_PLAIN, **{EXTRA + name: name for name in extra_names[:MOST_COLUMNS]}}
    lines, numbers = [], {}
    for row in rows:
        decision = judgement(row.decision, row.enriches)
        values = {}
        for name, value in extras.get(row.pair_id, {}).items():
            text = str(value)
            is_long = len(text) > LONGEST_CELL
            values[EXTRA + name] = f"{text[:LONGEST_CELL]} …" if is_long else text
        values |= {name: getattr(row, name) or "" for name in ("external_id", "split", "note")}
        values["tag"] = "; ".join(tags.get(row.pair_id, ()))
        # What is copied is for programs: it has the numbers themselves.
        numbers[row.pair_id] = {
            name: f"{value:.6g}" for name in _PLAIN if (value := row.numbers.get(name)) is not None
        }
        values |= {name: MEASURES[name].write(row.numbers[name]) for name in numbers[row.pair_id]}
        if row.p_error is not None:
            values["p_error"] = chance(row.p_error, is_unfamiliar)
        values["decision"] = LISTED[decision] if decision else ""
        if row.pair_id in (leading or {}):
            values["claim"] = shown_text(row, leading, LONGEST_ON_CARD)
        fingerprint = fingerprint_of(row.external_id, row.caption, row.image_path)
        lines.append((row, values, fingerprint))
    return render(
        "review/grid.html", rows=lines, decisions=DECISIONS, short=LISTED, columns=columns,
        numbers=numbers, folded=[name for name in _PLAIN if name not in _SHOWN_NUMBERS],
        order=order.removeprefix(REVERSED), view=view, has_more=has_more,
        is_descending=is_descending(order), other_way=other_way(order), buttons=buttons,
    )  # fmt: skip


def side_panel(view: PairView) -> Markup:
    """The part below the trajectory: similar pairs, phrases, reasons and the verdict history."""
    history = [
        [
            f"{verdict.created_at:%Y-%m-%d %H:%M}",
            verdict.author,
            _after(verdict),
            verdict.corrected_caption or "",
            # A rule's note is the address of its queue.
            unquote_plus(verdict.note) if verdict.note.startswith("rule: ") else verdict.note,
        ]
        for verdict in view.verdict.history
    ]
    support = view.numbers.get("support")
    phrases = phrases_section(
        view.caption, view.support.phrases, support, view.support.note, view.opinion.suspects
    )
    reasons = reasons_section(view.opinion.reasons, view.opinion.trajectory)
    return render(
        "review/beside.html", view=view, history=history, phrases=phrases, reasons=reasons,
        kinds=similarity_kinds().values(),
        enrichments=enrichments(view), alike_parts=parts_in("alike", view),
        tabs=parts_in("tab", view),
        short=LISTED, guidelines=guidelines(view), bars=bars(view),
    )  # fmt: skip


class Bar(NamedTuple):
    """A measure beside a pair. `share`: how full its bar is, None: no bar."""

    name: str
    value: str
    share: float | None
    hint: str


def bars(view: PairView) -> list[Bar]:
    """The measures with a bar that are known; of the selected claim where claims have them."""
    numbers = {**view.numbers, **(view.claim.numbers if view.claim is not None else {})}
    rows = []
    for name, measure in MEASURES.items():
        value = numbers.get(name)
        if not measure.bar or value is None:
            continue
        hint = f"{measure.symbol}: {measure.explanation}" if measure.symbol else measure.explanation
        if measure.unit == OF_THE_MODEL and view.opinion.scored_by:
            hint += f" By {view.opinion.scored_by}."
        rows.append(Bar(measure.bar, measure.write(value), measure.fullness(numbers), hint))
    return rows


def tags(
    pair_ids: Sequence[int],
    counts: Mapping[str, int],
    every_tag: Sequence[str],
    entries: Mapping[str, Any],
    question: str = "",
) -> Markup:
    """The form for the tags of pairs as filled in. `counts`: how many of them have each tag;
    `question`: what to confirm before a tag is renamed."""
    meant = f"{entries.get('name')};{entries.get('new')}" if question else ""
    return render(
        "review/tags.html", number=len(pair_ids), of=",".join(map(str, pair_ids)), given=entries,
        counts=sorted(counts.items()), tags=every_tag, longest=LONGEST, question=question,
        meant=meant,
    )  # fmt: skip


def guidelines(view: PairView) -> Markup:
    """The dataset's guidelines for curators, if any."""
    return render("review/guidelines.html", text=from_markdown(view.guidelines))


def _after(act: VerdictView) -> str:
    """The state of a pair after a verdict, in words."""
    if act.claim:
        label = {True: "right", False: "wrong", None: "taken back"}[act.is_right]
        return f"claim {label}: “{act.claim}”"
    if act.decision:
        return LISTED[judgement(act.decision, act.enriches) or ""]
    text = f"edited, {UNDECIDED}" if act.corrected_caption else UNDECIDED
    return f"undone: {text}" if act.is_undo else text


def check_view(view: PairView, check: CaptionCheck) -> Markup:
    """The curator's own caption with its suspect words, and its scores next to the old ones."""
    caption = highlighted_caption(check.caption, check.suspects)
    return render("review/checked.html", view=view, check=check, caption=caption)


def verdict_label(action: str) -> str:
    """The label in lists of the verdict that an action would give; the action if it gives none.

    >>> verdict_label("suggestion-2"), verdict_label("enrich-1"), verdict_label("jump")
    ('✎ corrected', '✎ enriched', 'jump')
    """
    if action.startswith("enrich-"):
        return LISTED[ENRICHED]
    if action in CLAIM_ACTS:
        return CLAIM_ACTS[action]
    return LISTED.get("correction" if action.startswith("suggestion-") else action, action)


def question(view: PairView, action: str) -> Markup:
    """Ask whether to change the pair's existing verdict. `action`: a verdict, "suggestion-N" or
    "enrich-N"."""
    labels: dict[str, str] = {key: label for key, (_, label, _) in DECISIONS.items()}
    new_label = labels.get(action, TEXTS["correction"].button)
    verdict = LISTED[judgement(view.verdict.decision, view.verdict.enriches) or ""]
    return render(
        "review/question.html", view=view, verdict=verdict, wanted=new_label,
        contradicts=contradicts_labels(view, action),
    )  # fmt: skip


def contradicts_labels(view: PairView, action: str) -> bool:
    """Whether the verdict says that the caption is right, and a label that a claim is wrong."""
    return action == "correct" and any(claim.is_right is False for claim in view.claims)


#: What the page reports of an act on a claim.
CLAIM_ACTS = {
    "claim-right": "Claim right.",
    "claim-wrong": "Claim wrong.",
    "claim-clear": "Label taken back.",
    "claim-remove": "Claim taken out.",
}


def not_scored(job: JobView | None) -> Markup:
    """Why a pair has no scores. `job`: the newest one that scores its dataset."""
    find = part("page_link", "datasets", "Find errors under Add data")
    if job is None:
        return empty("Not scored yet", "Nothing is known about this dataset's pairs.", find)
    if not job.has_ended:
        return empty("Not scored yet", "Scores appear once the job has finished.")
    if job.status == "done":
        return empty(
            "Not scored",
            "It was imported after the last scoring, or left out of it: the rows left "
            "out are listed under Add data, with the reason.",
            find,
        )
    return empty("Not scored", job.message, find)


def finish(
    progress: DatasetSummary | ProgressView,
    errors_left: ErrorsLeft | None,
    is_on_progress: bool = False,
) -> Markup:
    """What a review has come to, and what comes next. `errors_left`: those among the other pairs.
    `is_on_progress`: not on the review page but on that."""
    counts = progress.by_decision
    errors = [(word_of(name), n) for name, n in counts.items() if is_wrong(name) and n]
    return render(
        "review/finish.html", total=progress.total, reviewed=progress.reviewed,
        errors_found=progress.errors_found, found=sorted(errors), left=errors_left,
        is_nearly=errors_left is not None and errors_left.is_few(progress.errors_found),
        is_on_progress=is_on_progress,
    )  # fmt: skip


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


def empty(title: str, text: str, act: Markup | str = "") -> Markup:
    return part("empty", title, text, act)
