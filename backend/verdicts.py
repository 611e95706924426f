"""Labels and texts of the verdicts for pages and charts; the verdicts are defined in the store.

Nothing else in the program lists the verdicts: pages take their buttons and texts from `TEXTS`.
"""

from dataclasses import dataclass

from db.decisions import (
    DECISIONS,
    DUPLICATE_DROPPED,
    ENRICHED,
    ORDERS,
    PICTURE_ISSUES,
    REVIEWS,
    RIGHT_NOW,
    RIGHT_OR_WRONG,
    Decision,
    Order,
    Review,
    is_wrong,
    judgement,
)

__all__ = [
    "DECISIONS", "DUPLICATE_DROPPED", "ENRICHED", "ORDERS", "PICTURE_ISSUES", "REVIEWS",
    "RIGHT_NOW", "RIGHT_OR_WRONG", "TEXTS", "UNDECIDED", "Decision", "Order", "Review",
    "VerdictText", "about_caption", "is_wrong", "judgement",
]  # fmt: skip

#: Label of a pair without a verdict.
UNDECIDED = "undecided"


@dataclass(frozen=True)
class VerdictText:
    """The texts of one verdict on the pages."""

    button: str
    listed: str  #: beside a pair in a list, with its mark
    saved: str  #: once it is recorded
    caption: str  #: what it says about the original caption


TEXTS: dict[Decision, VerdictText] = {
    "correct": VerdictText("Correct", "✓ correct", "Correct.", "correct"),
    "correction": VerdictText("Correct it", "✎ corrected", "Corrected.", "wrong"),
    "drop": VerdictText("Wrong: drop", "✕ dropped", "Wrong: dropped.", "wrong"),
    "abstract": VerdictText("Abstract", "~ abstract", "Abstract.", "abstract"),
    "unsure": VerdictText("Unsure", "? unsure", "Unsure.", "unsure"),
}


def about_caption(judgement: str | None) -> str:
    """What a judgement says about the original caption, however it is corrected or enriched. A
    dropped duplicate of a picture says nothing.

    >>> about_caption("drop"), about_caption("correction"), about_caption(ENRICHED)
    ('wrong', 'wrong', 'correct')
    """
    if judgement in (None, DUPLICATE_DROPPED):
        return UNDECIDED
    return TEXTS["correct" if judgement == ENRICHED else judgement].caption  # type: ignore[index]
