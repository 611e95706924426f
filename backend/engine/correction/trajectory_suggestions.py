"""Corrections from the trajectory itself, without a language model.

Elimination removes the words that hurt the score; GCD replaces them.

The score rises while wrong words are removed and falls once correct ones are. Its peak is the best
shortened caption. Near the peak many steps gain almost nothing (an article more or less), so
besides the peak the *smallest edit with most of the gain* is proposed:

    s = 0.20 (8 words), 0.55 (7), 0.56 (6), 0.57 (5, the peak), 0.40, …
    gain of the peak 0.37; step 1 alone gains 0.35, which is 95 % of it: propose x_1 and x_3.

The trajectory decides which words are removed; `shortening` makes a sentence of the rest, if it
can. If the whole caption is wrong, little of it is left at the peak: captions that keep less than
half of the words, or fewer than two content words, are not proposed.
"""

from backend.engine.captions import Caption
from backend.engine.correction.proposing import Proposing
from backend.engine.correction.suggestion import CorrectionContext, Proposer
from backend.engine.english.shortening import is_sentence, without_words
from backend.engine.languages.identification import language_in
from backend.engine.trajectories.trajectory import Trajectory

#: Share of the peak's gain that an earlier step must reach to be proposed as well.
MOST_OF_THE_GAIN = 0.8
KEPT_AT_LEAST = 0.5


def propose(trajectory: Trajectory) -> list[str]:
    """Shortened captions, the smallest edit first. Empty if no removal improves the caption, or if
    only the empty caption would be left."""
    if trajectory.peak == 0:
        return []
    start = float(trajectory.scores[0])
    threshold = MOST_OF_THE_GAIN * (float(trajectory.scores[trajectory.peak]) - start)
    smallest = next(
        step
        for step in range(1, trajectory.peak + 1)
        if float(trajectory.scores[step]) - start >= threshold
    )
    captions = [_caption_at(trajectory, step) for step in (smallest, trajectory.peak)]
    return [text for text in dict.fromkeys(captions) if text and _keeps_enough(trajectory, text)]


def _caption_at(trajectory: Trajectory, step: int) -> str | None:
    """The caption of a step, as a sentence; None if that is impossible."""
    if trajectory.captions is None:
        return without_words(trajectory.caption, trajectory.removed[:step])
    text = trajectory.caption_at(step)  # words were replaced, none removed
    return text if is_sentence(text) or not is_sentence(trajectory.caption.text) else None


def _keeps_enough(trajectory: Trajectory, text: str) -> bool:
    words = trajectory.caption.words
    remaining = [word.lower() for word in Caption.parse(text).words]
    function_words = language_in(trajectory.caption.text).function_words
    naming = [word for word in remaining if word not in function_words]
    return len(remaining) >= KEPT_AT_LEAST * len(words) and len(naming) >= min(2, len(words))


def _proposing(context: CorrectionContext) -> Proposing:
    """Makes no requests."""
    yield from ()
    return propose(context.trajectory)


PROPOSER = Proposer("trajectory", _proposing, asks=False)
