"""Which corrections are offered: one rule for pages, programs, the command line and exports."""

from typing import Protocol

from backend.engine.correction.suggestion import SMALLEST_GAIN
from backend.engine.english.shortening import is_sentence

#: Chances of an error that differ by less are about the same.
ALIKE = 0.05


class Scores(Protocol):
    """Scores before and after a correction: s, higher is better, and the chance of an error, None
    if it is not known."""

    @property
    def s_before(self) -> float: ...
    @property
    def s_after(self) -> float: ...
    @property
    def p_before(self) -> float | None: ...
    @property
    def p_after(self) -> float | None: ...


def helps(before: str, scores: Scores) -> bool:
    """Whether the correction is clearly less likely wrong than the text `before`, or, as long as
    the chances are not known, matches better; no text is worse than any. Others are shown nowhere.
    """
    if not before:
        return True
    if scores.p_before is None or scores.p_after is None:
        return scores.s_after - scores.s_before > SMALLEST_GAIN
    return scores.p_before - scores.p_after >= ALIKE


def is_worth_an_offer(before: str, after: str, scores: Scores) -> bool:
    """Whether a correction that `helps` is to be offered first: a sentence, if the text `before` is
    one, that is more likely right than wrong."""
    if (not before or is_sentence(before)) and not is_sentence(after):
        return False
    return helps(before, scores) and (scores.p_after is None or scores.p_after <= 0.5)
