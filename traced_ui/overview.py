"""Many pairs at once: the grid and the table."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, NamedTuple

from markupsafe import Markup

from backend.engine.detection.localisation import most_suspect
from backend.engine.detection.types import SuspectWord
from backend.measures import MEASURES
from backend.review.queue_form import EXTRA, REVERSED, is_descending, other_way
from backend.review.views import fingerprint_of
from backend.verdict_texts import judgement
from traced_ui.highlighting import excerpt, highlighted_caption
from traced_ui.review_labels import DECISIONS, LISTED, MEASURE_TITLES, by_order
from traced_ui.templates import chance, render


class GridButton(NamedTuple):
    """A button beside those of the verdicts, or below the queue. `action`: what it does to the
    selected pairs, or to the queue; `key`: as shown on it; `hint`: what it does, in words."""

    action: str
    key: str
    text: str
    hint: str


def shown_text(row: Any, leading: Mapping[int, tuple[int, int]] | None, longest: int) -> str:
    """What a list shows of a pair's text. `leading`: as in `QueuePanel`."""
    if row.corrected_caption:
        return excerpt(row.corrected_caption, None, longest)[0]
    return excerpt(row.caption, (leading or {}).get(row.pair_id), longest)[0]


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
    unread: Mapping[int, str] = MappingProxyType({}),
) -> Markup:
    """A page of the queue as selectable cards, with verdict buttons. `suspects`: suspect words by
    pair id, shaded as on the pair's own page; `tags`: the pairs' tags by pair id; `leading`,
    `is_unfamiliar`, `unread`: as in `QueuePanel`. `order`: of the queue, whose value each card
    shows. `buttons`: added ones."""
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
        columns=None, is_unfamiliar=is_unfamiliar, buttons=buttons, unread=unread,
        by_order={row.pair_id: by_order(row, order) for row in rows},
    )  # fmt: skip


#: The first columns of the table after the caption, before numbers and columns of the source. Each
#: sorts the queue.
_TABLE = {
    "p_error": MEASURE_TITLES["p_error"], "external_id": "Id", "decision": "Verdict",
    "split": "Split", "tag": "Tags", "note": "Note",
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
    unread: Mapping[int, str] = MappingProxyType({}),
) -> Markup:
    """A page of the queue as a table. `extras`: the columns of the source by pair id, and `tags`;
    `order`: of the queue; "": no column sorts it. `view`: the scroll position stays as long as this
    does. `has_more`: whether rows follow on this page. `leading`, `is_unfamiliar`, `unread`: as in
    `QueuePanel`. `buttons`: added ones."""
    extra_names = list(dict.fromkeys(name for row in rows for name in extras.get(row.pair_id, ())))
    columns = {
        **_TABLE,
        **MEASURE_TITLES,
        **{EXTRA + name: name for name in extra_names[:MOST_COLUMNS]},
    }
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
            name: f"{value:.6g}"
            for name in MEASURE_TITLES
            if (value := row.numbers.get(name)) is not None
        }
        values |= {name: MEASURES[name].write(row.numbers[name]) for name in numbers[row.pair_id]}
        if row.p_error is not None:
            values["p_error"] = chance(
                row.p_error, is_unfamiliar, unread_language=unread.get(row.pair_id, "")
            )
        values["decision"] = LISTED[decision] if decision else ""
        if row.pair_id in (leading or {}):
            values["claim"] = shown_text(row, leading, LONGEST_ON_CARD)
        fingerprint = fingerprint_of(row.external_id, row.caption, row.image_path)
        lines.append((row, values, fingerprint))
    return render(
        "review/grid.html", rows=lines, decisions=DECISIONS, short=LISTED, columns=columns,
        numbers=numbers, folded=[name for name in MEASURE_TITLES if name not in _SHOWN_NUMBERS],
        order=order.removeprefix(REVERSED), view=view, has_more=has_more,
        is_descending=is_descending(order), other_way=other_way(order), buttons=buttons,
    )  # fmt: skip
