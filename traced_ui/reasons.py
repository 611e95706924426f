"""Explain the probability of a pair in words: one line per feature, the strongest first.

Contributions to the log-odds (`backend.engine.detection.explanations`) become sentences here.
Captions are untrusted text: their words reach the page only through the template, which escapes
them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from backend.engine.detection.explanations import Reason, Reasons
from backend.engine.trajectories.trajectory import Trajectory
from traced_ui.templates import render
from traced_ui.trajectory_chart import RISE

#: Features that contribute less than this are not shown.
_LEAST = 0.05
_MOST = 6
EXACT = "The probability is computed from these signs; a longer bar weighs more."
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
    """The text before the caption's words, those words, and the text after them."""
    words = tuple(
        trajectory.caption.words[word]
        for word in reason.words
        if word < len(trajectory.caption.words)
    )
    against = reason.contribution > 0
    value = reason.value
    if reason.sign == "s":
        level = "low" if against else "high"
        return (
            f"The match is {level} for this dataset ({value:.2f})",
            (),
            "",
        )
    if reason.sign == "auxiliary":
        level = "low" if against else "high"
        text = f"The auxiliary score, a second one by the same model, is {level} for this dataset"
        return f"{text} ({value:.2f})", (), ""
    if reason.sign == "length":
        level = "more often" if against else "less often"
        return f"Captions of about {value:.0f} words are wrong {level} here", (), ""
    if reason.sign == "captioner mean":
        level = "unusual" if against else "about as expected"
        return f"To the captioner the whole caption is {level}", (), ""
    if reason.sign == "captioner lowest":
        if against and words:
            return "The captioner does not expect", words, _expected_text(reason, trajectory)
        return "The captioner is not surprised by any word", (), ""
    if reason.sign == "captioner distance":
        if against and words:
            return "The captioner has a better word than", words, _expected_text(reason, trajectory)
        return "The captioner has no clearly better word anywhere", (), ""
    if reason.sign == "second opinion":
        level = "doubts the caption" if against else "agrees with the caption"
        return f"A second model {level} more than most ({abs(value):.1f} spreads)", (), ""
    removes = trajectory.captions is None
    if reason.sign == "best gain":
        # No words: those removed until then include many that have nothing to do with the rise.
        edits = "Leaving words out" if removes else "Replacing words"
        peak = trajectory.peak
        if value < RISE or not peak:
            return f"{edits} hardly improves the match", (), ""
        first, best = (float(trajectory.scores[step]) for step in (0, peak))
        return f"{edits} lifts the match from {first:.2f} to {best:.2f}, at step {peak}", (), ""
    score = "the match" if reason.sign == "deletion" else "the auxiliary score"
    if value >= RISE and words:
        before = "Without" if removes else "With another word for"
        return before, words, f"{score} rises by {'' if against else 'only '}{value:.2f}"
    return f"No single word lowers {score}", (), ""


def _expected_text(reason: Reason, trajectory: Trajectory) -> str:
    """ "(it expected grass 0.61)" for the first of the words; empty if unknown."""
    words = expected_words(trajectory, reason.words[0]) if reason.words else ""
    return f"(it expected {words})" if words else ""


def expected_words(trajectory: Trajectory | None, word: int) -> str:
    """ "cat 0.61, dog 0.20": what the captioner expected in place of a word; empty if unknown."""
    expectation = trajectory.expectation if trajectory is not None else None
    if expectation is None or word >= len(expectation.alternatives):
        return ""
    return ", ".join(f"{text} {p:.2f}" for text, p in expectation.alternatives[word])


def expectations_by_word(trajectory: Trajectory | None) -> Sequence[str]:
    """`expected_words` of every word that a captioner has read."""
    expectation = trajectory.expectation if trajectory is not None else None
    if expectation is None:
        return ()
    return [expected_words(trajectory, word) for word in range(len(expectation.alternatives))]
