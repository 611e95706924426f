"""Names of detectors, and what a detector says of one pair."""

from dataclasses import dataclass

from backend.errors import SettingsError

#: Valid detector names: "best" selects among several families, the others name a single one.
DETECTORS = ("best", "paper", "nine signs", "eight signs", "cart", "xgboost")
#: Kinds of models that need no step of a trajectory after the first; the first is the fallback
#: where there is nothing to train on.
FIRST_STEP_DETECTORS = ("s_0 alone", "eight signs")


def reads_later_steps(name: str) -> bool:
    """Whether a detector is trained on the later steps of trajectories where these are known. If
    not, its noisy copies need only their first step, which takes a third of the time.

    "best" is: without labels the first step alone ranks the top of the queue worse (BENCHMARKS.md,
    "Cold starts from first steps").
    """
    return name not in FIRST_STEP_DETECTORS


def detector_for(name: str, whole: bool) -> str:
    """The detector to train on `whole` trajectories, or on those whose first step alone is known.

    In the latter case "best" means the eight signs. Raises SettingsError for a detector that needs
    later steps.
    """
    if whole or name in FIRST_STEP_DETECTORS:
        return name
    if name != "best":
        raise SettingsError(
            f"The detector '{name}' needs whole trajectories, and only the first step of some is "
            "known here. Compute all of them, or use eight signs."
        )
    return "eight signs"


@dataclass(frozen=True)
class SuspectWord:
    """A word of the caption (characters start:end) and how suspect it is, in [0, 1].

    Higher is more likely to be one of the words that make the caption wrong."""

    start: int
    end: int
    score: float
