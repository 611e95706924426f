"""A queue as text fields, as in the form, in a link or in a saved view.

Unknown fields and values are always refused by name: silently ignoring a misspelt field would
select a different queue, and a rule might then accept corrections for the wrong pairs.
"""

import difflib
from collections.abc import Collection, Mapping
from typing import Any
from urllib.parse import parse_qsl, urlencode

from backend.datasets.cells import text_problem
from backend.engine.english.word_kinds import WORD_KINDS
from backend.errors import SettingsError
from backend.measures import MEASURES, filter_names, order_names
from backend.review.added_filters import ALIKE, AddedFilter, load_filters
from backend.review.queue_groups import Condition, parse, text_of
from backend.store import Store
from db.decisions import DECISIONS, REVIEWS
from db.queries.queue_filter import EXTRA, AddedCriterion, Group, QueueFilter, Range

#: Defaults of a page.
START = {"review": "unreviewed", "order": "p_error"}
#: Orders but those by a column of the source, and what can be filtered by range.
ORDERS, RANGES = order_names(), tuple(filter_names())
_OURS = (
    "review", "order", "text", "split", "decision", "decided_by",
    "truncated", "external_id", "extra", "note", "noted", "tag",
    "captioned", "vague", "meaning", "like", "suspect_word", "suspect_kind",
    *(f"{column}_{end}" for column in RANGES for end in ("from", "to")), "where",
)  # fmt: skip
#: Words of the page's address that are not of the queue.
BESIDE = ("dataset", "pair", "grid")
#: The filters of features and packages, by name; they cannot be called one of these words.
TAKEN = (*_OURS, *RANGES, *BESIDE)
ADDED = load_filters(TAKEN)
KEYS = (*_OURS, *ADDED)
#: Ways in which pairs can be alike.
LIKENESS = (
    "meaning", "like", "suspect_word", "suspect_kind",
    *(name for name, added in ADDED.items() if added.topic == ALIKE),
)  # fmt: skip
#: Fields of the queue as a whole, which no group can have.
_OF_THE_WHOLE = ("order", "meaning", "like", "where")
#: Fields with a closed set of values.
_CHOICES: dict[str, tuple[str, ...]] = {
    "review": REVIEWS, "order": (*ORDERS, f"{EXTRA}COLUMN"), "decision": DECISIONS,
    "suspect_kind": tuple(WORD_KINDS), "truncated": ("yes", "no"), "noted": ("yes", "no"),
    "captioned": ("yes", "no"), "vague": ("yes", "no"),
    **{name: added.choices for name, added in ADDED.items() if added.choices},
}  # fmt: skip
#: Before the name of an order: the other way round.
REVERSED = "-"
#: Former names of values, which old URLs and scripts still use.
_RENAMED = {("order", "lot"): "random"}
#: Ids are at most 2,147,483,647.
_ID_DIGITS = 10
_YES_NO = {"yes": True, "no": False}
#: Fields that a filter has under the same name: as text, and as yes or no.
_TEXTS = (
    "decision", "split", "decided_by", "text", "tag", "note", "external_id",
    "suspect_word", "suspect_kind",
)  # fmt: skip
_FLAGS = ("truncated", "noted", "captioned", "vague")
#: Orders that have no other way round.
_NOT_REVERSED = ("random", "uncertainty")


def from_fields(
    dataset_id: int, fields: Mapping[str, str], among: tuple[int, ...] | None = None
) -> QueueFilter:
    """The store's filter. `among`: the results of a search by meaning or by picture.

    Raises SettingsError for a field, an order, a value that does not exist, listing those that do,
    and for a range that is not numeric."""
    fields = _check(fields)
    order = fields.get("order") or START["order"]
    ranges = {
        column: Range(column, minimum, maximum)
        for column in RANGES
        for minimum, maximum in [(_number(fields, column, "from"), _number(fields, column, "to"))]
        if (minimum, maximum) != (None, None)
    }
    if order in MEASURES and among is None:
        ranges = bounds_of(order) | ranges
    name = order.removeprefix(REVERSED)
    if fields.get("captioned") == "no" and name in (*RANGES, "uncertainty"):
        order = name = "position"  # they have no numbers, and their own index is in this order
    where = None
    if fields.get("where"):
        where = groups_of(fields).translate(
            lambda part: from_fields(dataset_id, {"review": "all", **part.fields})
        )
    values: dict[str, Any] = {key: fields.get(key) or None for key in _TEXTS}
    values |= {key: _YES_NO.get(fields.get(key, "")) for key in _FLAGS}
    return QueueFilter(
        dataset_id,
        review=fields.get("review") or START["review"],
        ranges=tuple(ranges.values()),
        extra=_extra(fields.get("extra", "")),
        where=where,
        added=tuple(
            _criterion(added, value) for name, added in ADDED.items() if (value := fields.get(name))
        ),
        **values,
        among=among,
        order=name,
        descending=is_descending(order),
    )


def _criterion(added: AddedFilter, value: str) -> AddedCriterion:
    """Raises SettingsError for a value that the filter cannot read."""
    added.meets(value)
    return AddedCriterion(value, added.meets)


def check_added(store: Store, dataset_id: int, fields: Mapping[str, str]) -> None:
    """Raises SettingsError for a value of an added filter that means nothing in this dataset."""
    for name, added in ADDED.items():
        if value := fields.get(name):
            with store.reading() as session:
                added.check_in(session, dataset_id, value)


def is_descending(order: str) -> bool:
    """Whether the largest value comes first in this order, which may be a reversed one.

    >>> is_descending("p_error"), is_descending("-p_error"), is_descending("-caption")
    (True, False, True)
    """
    name = order.removeprefix(REVERSED)
    return (name in MEASURES and MEASURES[name].worst == "high") != (name != order)


def bounds_of(order: str) -> dict[str, Range]:
    """The ranges in which the order by a measure means something; they apply to each measure
    without explicit bounds."""
    return {name: Range(name, *MEASURES[name].sound_side) for name in MEASURES[order].sound_in}


def other_way(order: str) -> str:
    """The order by the same column in the other direction.

    >>> other_way("caption"), other_way("-caption")
    ('-caption', 'caption')
    """
    name = order.removeprefix(REVERSED)
    return name if name != order else REVERSED + name


def groups_of(fields: Mapping[str, str]) -> Group[Condition]:
    """The groups of a queue. Raises SettingsError."""
    return parse(fields.get("where", ""), _check_condition)


def with_value(fields: Mapping[str, str], key: str, old: str, new: str) -> dict[str, str]:
    """The same queue with another value of a field, also in its groups.

    >>> with_value({"where": "tag = a or text = a"}, "tag", "a", "b")
    {'where': '(tag = b or text = a)'}
    """
    new_fields = dict(fields)
    if fields.get(key) == old:
        new_fields[key] = new
    if fields.get("where"):
        before = Condition(key, old)
        groups = groups_of(fields).translate(lambda c: Condition(key, new) if c == before else c)
        new_fields["where"] = text_of(groups)
    return new_fields


def _check_condition(fields: Mapping[str, str]) -> None:
    for key in fields:
        if key in _OF_THE_WHOLE:
            raise SettingsError(f"'{key}' is of the whole queue and cannot be in a group.")
    from_fields(0, {"review": "all", **fields})


def _extra(text: str) -> tuple[str, str] | None:
    """A column of the source and its value, as typed: name = value."""
    if not text:
        return None
    column, equals, value = (part.strip() for part in text.partition("="))
    if not equals or not _is_column(column):
        raise SettingsError(
            f"'{text}' is not a column and value. Type them like this: licence = by."
        )
    return column, value


def _is_column(name: str) -> bool:
    return bool(name) and not any(character in name for character in "\"'[]")


def _is_order(text: str) -> bool:
    """Whether this is an order: a name or a column of the source, perhaps reversed."""
    name = text.removeprefix(REVERSED)
    if name.startswith(EXTRA):
        return _is_column(name.removeprefix(EXTRA))
    return name in ORDERS and (name == text or name not in _NOT_REVERSED)


def clean_fields(fields: Mapping[str, object], beside: Collection[str] = ()) -> dict[str, str]:
    """Known non-empty keys as short text, from what a browser, a link or an old view sends.

    `beside`: keys that are allowed but not part of the queue. Raises SettingsError for others,
    and for text that a database or a URL cannot hold.
    """
    texts = {
        key: str(value).strip()[: None if key == "where" else 200]
        for key, value in fields.items()
        if key not in beside and value is not None
    }
    values = {key: text for key, text in _check(texts).items() if text}
    for key, text in values.items():
        if problem := text_problem(text):
            raise SettingsError(f"'{key}' cannot be used: {problem}.")
    return {**START, **values}


def from_text(query: str) -> dict[str, str]:
    """The fields of a typed query string (the part of a URL after the ?); every field must be
    valid. Raises SettingsError."""
    return clean_fields(given_fields(query))


def given_fields(query: str) -> dict[str, str]:
    """Like `from_text` without the page defaults: only the given fields."""
    fields: dict[str, str] = {}
    for part in query.strip().lstrip("?").split("&"):
        if not part:
            continue
        if "=" not in part:
            raise SettingsError(f"'{part}' has no value: type {part}=VALUE.")
        ((key, value),) = parse_qsl(part, keep_blank_values=True)
        key, value = key.strip(), value.strip()  # people type spaces around the sign
        if key in fields:
            raise SettingsError(f"'{key}' is given twice.")
        fields[key] = value
    return _check(fields)


def _check(fields: Mapping[str, str]) -> dict[str, str]:
    """The fields with former value names replaced by current ones. Raises SettingsError
    for a field or a value that does not exist."""
    current = {key: _RENAMED.get((key, value), value) for key, value in fields.items()}
    for key, value in current.items():
        if key not in KEYS:
            raise SettingsError(_unknown("field", key, KEYS))
        if value and not (
            _is_order(value) if key == "order" else value in _CHOICES.get(key, (value,))
        ):
            raise SettingsError(_unknown(key, value, _CHOICES[key]))
    if current.get("where"):
        current["where"] = text_of(groups_of(current))
    return current


def _unknown(what: str, value: str, names: Collection[str]) -> str:
    near = difflib.get_close_matches(value, names, n=1)
    hint = f"Did you mean '{near[0]}'?" if near else f"There are: {', '.join(names)}."
    return f"There is no {what} '{value[:80]}'. {hint}"


def id_in(text: str) -> int | None:
    """Parse an id from a URL or a field; None if it is not one.

    >>> id_in("12"), id_in("²"), id_in("-3"), id_in("9" * 5000), id_in("")
    (12, None, None, None, None)
    """
    return int(text) if text.isdecimal() and len(text) <= _ID_DIGITS else None


def as_query(fields: Mapping[str, str]) -> str:
    """The query string of this queue, without the page defaults."""
    return urlencode({k: v for k in KEYS if (v := fields.get(k, "")) and v != START.get(k)})


def _number(fields: Mapping[str, str], name: str, end: str) -> float | None:
    """The bound of a measure's range. Raises SettingsError."""
    text = fields.get(f"{name}_{end}", "").strip().replace(",", ".")
    if not text:
        return None
    try:
        value = float(text)
    except ValueError:
        raise SettingsError(f"'{text}' is not a number.") from None
    if value != value or value in (float("inf"), float("-inf")):
        raise SettingsError(f"'{text}' is not a number.")
    low, high = MEASURES[name].low, MEASURES[name].high
    if low is not None and high is not None and not low <= value <= high:
        raise SettingsError(f"{value:g} is not between {low:g} and {high:g}.")
    return value
