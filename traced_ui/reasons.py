"""Explain the probability of a pair in words: one line per feature, the strongest first.

Contributions to the log-odds (`backend.engine.detection.explanations`) become sentences here.
Captions are untrusted text: their words reach the page only through the template, which escapes
them.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from backend.counts import count_of
from backend.engine.detection.explanations import RISE, Reason, Reasons
from backend.engine.trajectories.trajectory import Trajectory
from traced_ui.templates import percent, render

#: Features that contribute less than this are not shown.
_LEAST = 0.05
_MOST = 6
EXACT = "The probability is computed from these; longer bars weigh more."
BACKBONE = (
    "These signs can be explained; the error finder in use considers more of them, and may weigh "
    "them differently."
)


@dataclass(frozen=True)
class Line:
    """`before`, `words`, `after`: a sentence around words of the caption; `share`: length of its
    bar, 0 to 1; `is_against`: it makes an error more likely."""

    before: str
    words: tuple[str, ...]
    after: str
    contribution: float
    share: float

    @property
    def is_against(self) -> bool:
        return self.contribution > 0


def reasons_section(reasons: Reasons | None, trajectory: Trajectory | None) -> Markup | None:
    """The collapsed list; None if the classifier gives no reasons."""
    if reasons is None or trajectory is None:
        return None
    strong = [reason for reason in reasons.listed if abs(reason.contribution) >= _LEAST]
    strongest = strong[:_MOST]
    largest = max((abs(reason.contribution) for reason in strongest), default=1.0)
    lines = [
        Line(*sentence(reason, trajectory), reason.contribution, abs(reason.contribution) / largest)
        for reason in strongest
    ]
    note = EXACT if reasons.is_exact else BACKBONE
    return render("review/reasons.html", lines=lines, note=note)


def sentence(reason: Reason, trajectory: Trajectory) -> tuple[str, tuple[str, ...], str]:
    """The text before the caption's words, those words, and the text after them. It says what the
    sign's value is, and nothing else: which side it counts for depends on the classifier."""
    words = tuple(
        trajectory.caption.words[word]
        for word in reason.words
        if word < len(trajectory.caption.words)
    )
    value = reason.value
    if reason.sign == "s":
        return f"The match is {value:.2f}", (), ""
    if reason.sign == "auxiliary":
        return f"The model’s second score is {value:.2f}", (), ""
    if reason.sign == "length":
        return f"It is {count_of(round(value), 'word')} long", (), ""
    if reason.sign == "captioner mean":
        return f"The captioner expects its words at {_share(value)} each, on average", (), ""
    if reason.sign == "captioner lowest" and words:
        expected = _expected_text(reason, trajectory)
        return "The captioner expects", words, f"least of its words, at {_share(value)}{expected}"
    if reason.sign == "captioner distance" and words:
        expected = _expected_text(reason, trajectory)
        return "The captioner would rather say another word than", words, expected.strip()
    if reason.sign in ("captioner lowest", "captioner distance"):
        return "The captioner names no word here", (), ""
    if reason.sign == "second opinion":
        level = "doubts the caption" if value < 0 else "agrees with the caption"
        return f"A second model {level} more than most ({abs(value):.1f} spreads)", (), ""
    removes = trajectory.captions is None
    if reason.sign == "best gain":
        # No words: those removed until then include many that have nothing to do with the rise.
        edits = "Leaving words out" if removes else "Replacing words"
        peak = trajectory.peak
        if value < RISE or not peak:
            return f"{edits} hardly improves the match", (), ""
        first, best = (float(trajectory.scores[step]) for step in (0, peak))
        return f"{edits}: match {first:.2f} → {best:.2f}, at step {peak}", (), ""
    score = "the match" if reason.sign == "deletion" else "the model’s second score"
    if value >= RISE and words:
        before = "Without" if removes else "With another word for"
        return before, words, f"{score} rises by {value:.2f}"
    edits = "Leaving a single word out" if removes else "Replacing a single word"
    return f"{edits} lifts {score} by less than {RISE}", (), ""


def _share(log_p: float) -> str:
    """
    >>> _share(-1.2), _share(-5), _share(-12)
    ('30 %', '0.7 %', 'less than 0.1 %')
    """
    share = 100 * math.exp(log_p)
    return "less than 0.1 %" if share < 0.1 else f"{share:.{0 if share >= 1 else 1}f} %"


def _expected_text(reason: Reason, trajectory: Trajectory) -> str:
    """ " (it expected grass 61 %)" for the first of the words; empty if unknown."""
    words = expected_words(trajectory, reason.words[0])
    return f" (it expected {words})" if words else ""


def expected_words(trajectory: Trajectory | None, word: int) -> str:
    """ "cat 61 %, dog 20 %": what the captioner expected in place of a word; empty if unknown."""
    expectation = trajectory.expectation if trajectory is not None else None
    if expectation is None or word >= len(expectation.alternatives):
        return ""
    return ", ".join(f"{text} {percent(p)}" for text, p in expectation.alternatives[word])


def expectations_by_word(trajectory: Trajectory | None) -> Sequence[str]:
    """`expected_words` of every word that a captioner has read."""
    expectation = trajectory.expectation if trajectory is not None else None
    if expectation is None:
        return ()
    return [expected_words(trajectory, word) for word in range(len(expectation.alternatives))]
