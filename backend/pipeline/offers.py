"""Suggestions between engine, store and page: saved as judged, the best first."""

from collections.abc import Sequence
from typing import Any

from backend.captions import Caption
from backend.correction.ranking import ranked, words_changed
from backend.correction.suggestion import Suggestion
from backend.views import SuggestionView
from db.queries.suggestions import NewSuggestion, SuggestionRow


def to_save(
    pair_id: int, offer: Suggestion, run_id: int | None, provenance: dict[str, Any] | None = None
) -> NewSuggestion:
    return NewSuggestion(
        pair_id, offer.proposer, offer.caption, offer.s_before, offer.s_after, offer.p_before,
        offer.p_after, run_id, offer.similarity, provenance,
    )  # fmt: skip


def in_order(caption: str, offers: Sequence[SuggestionRow]) -> list[SuggestionRow]:
    """What several proposers have offered at different times, best first; each caption once."""
    once: dict[str, SuggestionRow] = {}
    for offer in offers:
        once.setdefault(offer.caption, offer)
    s_before = offers[0].s_before if offers else 0.0
    return ranked(
        list(once.values()), Caption.parse(caption), s_before,
        text_of=lambda one: one.caption, s_of=lambda one: one.s_after,
    )  # fmt: skip


def shown(
    caption: str, offer: Suggestion | SuggestionRow, identity: int, provenance: Any = None
) -> SuggestionView:
    """`identity`: by which the page names it again."""
    seen = (provenance or {}).get("steps", ())
    return SuggestionView(
        identity, offer.caption, offer.proposer, offer.s_before, offer.s_after, offer.p_before,
        offer.p_after, words_changed(Caption.parse(caption), offer.caption), offer.similarity,
        tuple((str(word), str(told), bool(wrong)) for word, told, wrong in seen),
    )  # fmt: skip
