"""The result of detection for one pair."""

from dataclasses import dataclass

#: Valid detector names: "best" selects among several families, the others name a single one.
DETECTORS = (
    "best", "paper", "s_0 alone", "nine signs", "logistic", "cart", "xgboost", "xgboost on s_0",
    "ensemble",
)  # fmt: skip


@dataclass(frozen=True)
class SuspectWord:
    """A word of the caption (characters start:end) and how suspect it is, in [0, 1].

    Higher is more likely to be one of the words that make the caption wrong."""

    start: int
    end: int
    score: float


@dataclass(frozen=True)
class Detection:
    """`p_error`: probability that the caption is wrong, in [0, 1]; higher is worse."""

    p_error: float
    suspects: tuple[SuspectWord, ...]
