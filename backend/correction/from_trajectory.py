"""Corrections that need no language model: what the trajectory itself has found.

Elimination leaves out the words that hurt the score; GCD has replaced them.

The trajectory climbs while wrong words are removed and falls once right ones go. Its peak is the
best shortened caption it knows. Near the peak many steps gain almost nothing (an article more or
less), so besides the peak the *shortest edit that brings most of the gain* is proposed:

    s = 0.20 (8 words), 0.55 (7), 0.56 (6), 0.57 (5, the peak), 0.40, …
    gain of the peak 0.37; step 1 alone brings 0.35, which is 95 % of it: propose x_1 and x_3.

Where the whole caption is wrong, the peak is a heap of leftovers ("A of a"). What keeps less than
half of the words, or no two words that name something, is not proposed.
"""

from backend.captions import Caption
from backend.english import FUNCTION_WORDS
from backend.trajectories.trajectory import Trajectory

PROPOSER = "trajectory"

#: Share of the peak's gain that an earlier step must bring to be proposed in its place.
MOST_OF_THE_GAIN = 0.8
KEPT_AT_LEAST = 0.5


def propose(trajectory: Trajectory) -> list[str]:
    """Shortened captions, the smallest edit first. Empty if no removal improves the caption, or if
    nothing but the empty caption would be left."""
    if trajectory.peak == 0:
        return []
    start = float(trajectory.scores[0])
    wanted = MOST_OF_THE_GAIN * (float(trajectory.scores[trajectory.peak]) - start)
    smallest = next(
        step
        for step in range(1, trajectory.peak + 1)
        if float(trajectory.scores[step]) - start >= wanted
    )
    steps = [step for step in (smallest, trajectory.peak) if _is_a_caption(trajectory, step)]
    captions = [tidy(trajectory.caption_at(step)) for step in steps]
    return [caption for caption in dict.fromkeys(captions) if caption]


def _is_a_caption(trajectory: Trajectory, step: int) -> bool:
    """Whether enough is left at this step to be worth reading."""
    words = trajectory.caption.words
    left = [word.lower() for word in Caption.parse(trajectory.caption_at(step)).words]
    naming = [word for word in left if word not in FUNCTION_WORDS]
    return len(left) >= KEPT_AT_LEAST * len(words) and len(naming) >= min(2, len(words))


def tidy(caption: str) -> str:
    """Capitalise what has become the first letter and drop a comma that has become the end.

    >>> tidy("dog on the grass,")
    'Dog on the grass'
    """
    caption = caption.strip().rstrip(",;:")
    return caption[:1].upper() + caption[1:]
