"""Verdicts and their meanings, and the filters and orders of a queue: names only, no SQL."""

from typing import Literal, get_args

from db.authors import is_duplicate_rule

Decision = Literal["correct", "correction", "drop", "wrong", "abstract", "unsure"]
#: Review states by which a queue can be filtered.
Review = Literal["all", "unreviewed", "decided", "disputed"]
#: Orders of a queue beside those by a measure (`db/measures.py`) and by a column of the source
#: (`queue_queries`). 'position' is the order of import; 'random' is the same random order
#: every time; 'picture' has the captions of a picture together.
ORDERS = (
    "random", "uncertainty", "position", "picture",
    "external_id", "caption", "split", "decision", "note", "tag",
)  # fmt: skip

#: The verdicts a curator can give, in the order in which they are shown. A new one needs a
#: migration as well (`db/decision_check.py`) and its texts in `backend/verdict_texts.py`.
DECISIONS: tuple[Decision, ...] = get_args(Decision)
REVIEWS: tuple[Review, ...] = get_args(Review)
#: What somebody did who decided so.
ACTS: dict[Decision, str] = {
    "correct": "called it right", "correction": "corrected it", "drop": "removed it",
    "wrong": "called it wrong", "abstract": "called it vague", "unsure": "was not sure of it",
}  # fmt: skip

#: How a pair came to be shown to whoever judged it: drawn at random from all undecided pairs; next
#: in a queue of all of them; among those that a filter or a search found; "": in another way.
SAMPLINGS = ("random", "queue", "filter", "")
AT_RANDOM = SAMPLINGS[0]

#: Verdicts that say "this caption was wrong". After *wrong* the pair stays as it is: it is a label.
WRONG: tuple[Decision, ...] = ("correction", "drop", "wrong")
#: Verdicts whose pairs an export leaves out, unless its options say otherwise.
NOT_EXPORTED: tuple[Decision, ...] = ("drop", "abstract")
#: Verdicts that need a caption.
ABOUT_CAPTION: tuple[Decision, ...] = ("correct", "wrong", "abstract")
#: Verdicts after which the caption is right: it was correct, or it has been corrected.
RIGHT_NOW: tuple[Decision, ...] = ("correct", "correction")
#: Judgement of an accepted enrichment: the caption was right, and is more specific now.
ENRICHED = "enriched"
#: Meaning of *drop* for a copy of a picture that is kept: nothing about its caption.
DUPLICATE_DROPPED = "duplicate"
#: Meaning of any verdict on a picture without a caption: a new one was accepted, or none is wanted.
NEW_CAPTION = "new caption"
#: Judgements that say nothing about the original caption.
NOT_ABOUT_CAPTION = (DUPLICATE_DROPPED, NEW_CAPTION)
#: Judgements that say whether the caption was right: the basis of precision and calibration.
RIGHT_OR_WRONG: tuple[str, ...] = ("correct", ENRICHED, *WRONG)


def judgement(
    decision: str | None, enriches: bool, author: str | None = None, has_caption: bool = True
) -> str | None:
    """What a verdict says about the original caption: the decision, but ENRICHED for an accepted
    enrichment, DUPLICATE_DROPPED for a dropped copy and NEW_CAPTION for a picture without a
    caption. Code that counts errors must use this, or `blind_review.judgement_of` in queries."""
    if decision is not None and not has_caption:
        return NEW_CAPTION
    if decision == "drop" and is_duplicate_rule(author):
        return DUPLICATE_DROPPED
    return ENRICHED if decision == "correction" and enriches else decision


def is_wrong(judgement: str | None) -> bool:
    """Whether a judgement says that the caption was wrong; None: no verdict.

    >>> [decision for decision in (*DECISIONS, ENRICHED) if is_wrong(decision)]
    ['correction', 'drop', 'wrong']
    """
    return judgement in WRONG
