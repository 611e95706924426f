"""Labels and texts of the verdicts for pages and charts; the verdicts are defined in the store.

Nothing else in the program lists the verdicts: pages take their buttons and texts from `TEXTS`, and
announce verdicts with `saved_text`, which tells an enrichment from a correction.
"""

from dataclasses import dataclass

from db.decisions import ABOUT_CAPTION as ABOUT_CAPTION
from db.decisions import DECISIONS as DECISIONS
from db.decisions import ENRICHED as ENRICHED
from db.decisions import NOT_ABOUT_CAPTION, Decision
from db.decisions import is_wrong as is_wrong
from db.decisions import judgement as judgement

#: Label of a pair without a verdict.
UNDECIDED = "undecided"


@dataclass(frozen=True)
class VerdictText:
    """The texts of one verdict on the pages."""

    button: str
    listed: str  #: beside a pair in a list, with its mark
    saved: str  #: once it is recorded
    caption: str  #: what it says about the original caption

    @property
    def word(self) -> str:
        """The verdict in a table, without its mark."""
        return self.listed[2:]


#: The texts of an accepted enrichment, which is stored as a correction.
ENRICHMENT = VerdictText("Enrich", "✎ enriched", "Enriched.", "right")
TEXTS: dict[Decision, VerdictText] = {
    "correct": VerdictText("Right", "✓ right", "Right.", "right"),
    "correction": VerdictText("Fix", "✎ corrected", "Corrected.", "wrong"),
    "drop": VerdictText("Remove", "✕ removed", "Removed.", "wrong"),
    "wrong": VerdictText("Wrong", "✕ wrong", "Wrong.", "wrong"),
    "abstract": VerdictText("Vague", "~ vague", "Vague.", "vague"),
    "unsure": VerdictText("Not sure", "? not sure", "Not sure.", "not sure"),
}


def about_caption(judgement: str | None) -> str:
    """What a judgement implies about the original caption, however it is corrected or enriched.
    Dropping a duplicate picture implies nothing, nor does a caption where there was none.

    >>> about_caption("drop"), about_caption("correction"), about_caption(ENRICHED)
    ('wrong', 'wrong', 'right')
    """
    if judgement in (None, *NOT_ABOUT_CAPTION):
        return UNDECIDED
    return _texts_of(judgement).caption


def word_of(judgement: str) -> str:
    """The word for a judgement in tables and counts.

    >>> word_of("drop"), word_of(ENRICHED), word_of("new caption")
    ('removed', 'enriched', 'new caption')
    """
    if judgement == ENRICHED:
        return ENRICHMENT.word
    return TEXTS[judgement].word if judgement in DECISIONS else judgement


def saved_text(decision: str | None, enriches: bool, suggestion_id: int | None) -> str:
    """The confirmation of a recorded verdict; None: it was undone. A verdict that enriches without
    a suggestion calls a caption correct that had been edited in bulk.

    >>> [saved_text("correction", *how) for how in ((False, None), (True, 7), (True, None))]
    ['Corrected.', 'Enriched.', 'Right.']
    """
    if decision is None:
        return "Undecided again."
    if enriches and suggestion_id is None:
        return TEXTS["correct"].saved
    return _texts_of(judgement(decision, enriches)).saved


def _texts_of(judgement: str | None) -> VerdictText:
    return ENRICHMENT if judgement == ENRICHED else TEXTS[judgement]  # pyrefly: ignore[bad-index]
