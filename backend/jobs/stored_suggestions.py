"""Convert suggestions to store rows, and rank the suggestions of several proposers."""

from collections.abc import Sequence
from typing import Any

from backend.engine.captions import Caption
from backend.engine.correction.suggestion import Suggestion, ranked
from db.queries.suggestions import NewSuggestion, SuggestionRow

#: Key in a correction's provenance: its rank among the captions of its proposer.
_PLACE = "place"


def to_save(
    pair_id: int,
    suggestion: Suggestion,
    run_id: int | None,
    provenance: dict[str, Any] | None = None,
    kind: str = "correction",
) -> NewSuggestion:
    """`provenance`: what a proposer reports about its caption; default: the caption's rank."""
    if provenance is None:
        provenance = {_PLACE: suggestion.place}
    return NewSuggestion(
        pair_id, suggestion.proposer, suggestion.caption, suggestion.s_before,
        suggestion.s_after, suggestion.p_before, suggestion.p_after, run_id,
        suggestion.similarity, provenance, kind,
    )  # fmt: skip


def in_order(caption: str, suggestions: Sequence[SuggestionRow]) -> list[SuggestionRow]:
    """Suggestions of several proposers from different times, best first, without duplicates."""
    once: dict[str, SuggestionRow] = {}
    for suggestion in suggestions:
        once.setdefault(suggestion.caption, suggestion)
    s_before = suggestions[0].s_before if suggestions else 0.0
    return ranked(
        list(once.values()), Caption.parse(caption), s_before,
        text_of=lambda suggestion: suggestion.caption, s_of=lambda suggestion: suggestion.s_after,
        preference_of=_preference_of,
    )  # fmt: skip


def _preference_of(suggestion: SuggestionRow) -> tuple[str, int] | None:
    """None for suggestions of a language model, and of versions that did not store the rank."""
    place = (suggestion.provenance or {}).get(_PLACE)
    return (suggestion.proposer, place) if isinstance(place, int) else None
