"""Convert suggestions between engine, store and page; best first."""

from typing import Any

from backend.engine.captions import Caption
from backend.engine.correction.ranking import words_changed
from backend.engine.correction.suggestion import Suggestion
from backend.review.views import SuggestionView
from db.queries.suggestions import SuggestionRow


def shown(
    caption: str, suggestion: Suggestion | SuggestionRow, identity: int, provenance: Any = None
) -> SuggestionView:
    """`identity`: the id by which the page refers to it."""
    seen = (provenance or {}).get("steps", ())
    ranks = (provenance or {}).get("ranks")
    struck = (provenance or {}).get("struck", ())
    icc = (provenance or {}).get("icc")
    return SuggestionView(
        identity, suggestion.caption, suggestion.proposer, suggestion.s_before,
        suggestion.s_after, suggestion.p_before, suggestion.p_after,
        words_changed(Caption.parse(caption), suggestion.caption), suggestion.similarity,
        tuple((str(word), str(answer), bool(wrong)) for word, answer, wrong in seen),
        (int(ranks[0]), int(ranks[1]), int(ranks[2])) if ranks else None,
        tuple(str(why) for _, _, why in struck),
        (float(icc[0]), float(icc[1])) if icc else None,
        tuple(str(text) for text in (provenance or {}).get("notes", ())),
    )  # fmt: skip
