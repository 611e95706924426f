"""A queue as its reader sets it: fields of text, as in the form, in a link or in a saved view."""

from collections.abc import Mapping
from urllib.parse import urlencode

from backend.errors import SettingsError
from db.queries.queue import QueueFilter, Range

#: What a page starts with.
START = {"review": "unreviewed", "order": "p_error"}
#: Columns with a range, and what they are called.
RANGES = {
    "p_error": "p", "s_0": "s", "gain": "gain", "icc": "ICC", "disagreement": "disagreement",
}  # fmt: skip
#: What pairs may have in common with one of them.
LIKENESS = ("meaning", "like", "suspect_word", "suspect_kind")
KEYS = (
    "review", "order", "text", "split", "decision", "decided_by",
    "truncated", "external_id", "extra", *LIKENESS,
    *(f"{column}_{end}" for column in RANGES for end in ("from", "to")),
)  # fmt: skip
#: Columns that lie between 0 and 1.
_SHARES = ("p_error", "icc", "disagreement")
#: Orders whose largest value comes first.
_LARGEST_FIRST = ("p_error", "gain", "disagreement")


def from_fields(
    dataset_id: int, fields: Mapping[str, str], among: tuple[int, ...] | None = None
) -> QueueFilter:
    """The store's filter. `among`: what a search by meaning or by picture has found.

    Raises SettingsError for a range that is no number, and what QueueFilter raises (ValueError)
    for an order or a decision that does not exist."""
    order = fields.get("order") or START["order"]
    ranges = (
        Range(column, _number(fields, f"{column}_from"), _number(fields, f"{column}_to"))
        for column in RANGES
    )
    return QueueFilter(
        dataset_id,
        review=fields.get("review") or START["review"],
        decision=fields.get("decision") or None,
        split=fields.get("split") or None,
        ranges=tuple(one for one in ranges if (one.minimum, one.maximum) != (None, None)),
        decided_by=fields.get("decided_by") or None,
        text=fields.get("text") or None,
        truncated={"yes": True, "no": False}.get(fields.get("truncated", "")),
        external_id=fields.get("external_id") or None,
        extra=_extra(fields.get("extra", "")),
        suspect_word=fields.get("suspect_word") or None,
        suspect_kind=fields.get("suspect_kind") or None,
        among=among,
        order=order,
        descending=order in _LARGEST_FIRST,
    )


def _extra(text: str) -> tuple[str, str] | None:
    """A column of the source and its value, as typed: name = value."""
    if not text:
        return None
    column, equals, value = (part.strip() for part in text.partition("="))
    if not column or not equals or any(character in column for character in "\"'[]"):
        raise SettingsError(f"'{text}' is no column and value. Type them like this: licence = by.")
    return column, value


def cleaned(fields: Mapping[str, object]) -> dict[str, str]:
    """Known keys with a value, as short text: what a browser, a link or an old view sends."""
    found = {key: str(fields[key]).strip()[:200] for key in KEYS if fields.get(key) is not None}
    return {**START, **{key: value for key, value in found.items() if value}}


def as_query(fields: Mapping[str, str]) -> str:
    """The part of an address that names this queue; what a page starts with is left out."""
    return urlencode({k: v for k in KEYS if (v := fields.get(k, "")) and v != START.get(k)})


def _number(fields: Mapping[str, str], key: str) -> float | None:
    text = fields.get(key, "").strip().replace(",", ".")
    if not text:
        return None
    try:
        value = float(text)
    except ValueError:
        raise SettingsError(f"'{text}' is no number.") from None
    if value != value or value in (float("inf"), float("-inf")):
        raise SettingsError(f"'{text}' is no number.")
    if key.startswith(_SHARES) and not 0 <= value <= 1:
        raise SettingsError(f"{value:g} is not between 0 and 1.")
    return value
