"""How likely a suggestion is wrong, given what the detector says of it, and whether to offer it.

The detector's probability of a *searched* caption is too hopeful: of many captions the one was kept
that the model likes best. Of drawn scenes, which know whether a suggestion is true, those that it
gave 6 % were wrong in 21 %, those that it gave 17 % in 87 %. So its log-odds are corrected
by the proposer, by the number of words, each of which may be wrong, and by that of the words that
were replaced:

    kind + slope · log-odds of the detector + words · log(words) + replaced · log(words replaced)

The caption of another row was searched for too, but by the vectors alone, and somebody wrote it as
a whole. It has constants of its own, of pairs that nobody has moved: whether captions have been
mixed up cannot be told of a pair alone, and where they have, it is likelier right than said.
Fitted by logistic regression to three trainings of the embedded models
(`python -m research.evaluation.suggestion_chances`, whose other seeds measure it; RESULTS.md).
What other proposers write (a vision-language model, a package) was not searched for by this score,
and keeps the detector's probability.
"""

from collections.abc import Callable, Sequence
from math import exp, log
from typing import NamedTuple

from backend.engine.captions import Caption, lower_words
from backend.engine.correction.suggestion import words_changed
from backend.engine.detection.localisation import most_suspect
from backend.engine.detection.types import SuspectWord
from backend.engine.english.shortening import is_sentence
from backend.engine.languages.identification import language_in
from backend.engine.trajectories.trajectory import Trajectory

#: The suspect words of a trajectory, given its probability of error.
SuspectsOf = Callable[[Trajectory, float | None], Sequence[SuspectWord]]

#: Of proposers that write captions, which share the other constants.
SLOPE, WORDS, REPLACED = 1.34, 0.98, 1.20


class Fit(NamedTuple):
    """The constants of a proposer; `replaced`: of the one that replaces words one by one."""

    kind: float
    slope: float = SLOPE
    words: float = WORDS
    replaced: float = 0.0


#: By the proposer's name.
FITS = {
    "guided infill": Fit(0.89, replaced=REPLACED),
    "described anew": Fit(-0.07),
    "trajectory": Fit(1.01),
    "another row": Fit(2.75, 1.77, 0.18),
}
#: Probabilities closer to 0 or 1 than this are not told apart.
_CLOSEST = 0.005
#: Most doubted words of a suggestion.
NAMED = 2


def chance_of_error(proposer: str, p_after: float, before: Caption, after: str) -> float:
    """Probability that `after`, suggested in place of `before`, is wrong, in [0, 1]; higher is
    worse. `p_after`: the same by the detector, which is the least."""
    fit = FITS.get(proposer)
    if fit is None:
        return p_after
    words = max(1, len(Caption.parse(after).words))
    odds = fit.kind + fit.slope * log_odds(p_after) + fit.words * log(words)
    if fit.replaced:
        odds += fit.replaced * log(max(1, words_changed(before, after)))
    return max(p_after, 1 / (1 + exp(-odds)))


def doubted_words(
    trajectory: Trajectory, chance: float, suspects_of: SuspectsOf
) -> tuple[str, ...]:
    """The words of a suggestion that the model doubts, at most `NAMED`, the most suspect first.
    `trajectory`: of the suggestion; `chance`: that it is wrong."""
    caption = trajectory.caption
    suspects = most_suspect(caption.text, suspects_of(trajectory, chance))[:NAMED]
    return tuple(caption.text[word.start : word.end] for word in suspects)


def log_odds(p: float) -> float:
    """
    >>> round(log_odds(0.5), 2), round(log_odds(0.0), 2)
    (0.0, -5.29)
    """
    p = min(max(p, _CLOSEST), 1 - _CLOSEST)
    return log(p / (1 - p))


#: Chances of an error that differ by less are about the same.
ALIKE = 0.05


def is_worth_an_offer(
    before: str, after: str, rise: float, p_before: float | None, chance: float | None
) -> bool:
    """Whether a correction of `before` to `after` is shown to anybody: a sentence, if what it
    replaces is one, else more than function words ("A", "There" in place of a file's name), that is
    more likely right than wrong, and clearly more so than before. `rise`:
    of the match, which decides where nothing judges captions (`p_before` None); `chance`:
    `chance_of_error`, None while the correction waits to be judged, and is not shown."""
    if p_before is None:
        is_better = rise > 0
    else:
        is_better = chance is not None and chance <= 0.5 and p_before - chance >= ALIKE
    # The texts are parsed last: that takes far longer.
    return is_better and (
        is_sentence(after) or (bool(before) and not is_sentence(before) and _names_something(after))
    )


def _names_something(text: str) -> bool:
    return not language_in(text).function_words.issuperset(lower_words(text))


class Worth(NamedTuple):
    """Of a correction: `chance_of_error`, None if it has not been judged yet, and
    `is_worth_an_offer`."""

    chance: float | None
    is_offer: bool


def worth_of(
    proposer: str,
    before: str,
    after: str,
    rise: float,
    p_before: float | None,
    p_after: float | None,
) -> Worth:
    """The arguments are those of `chance_of_error` and `is_worth_an_offer`."""  # fmt: skip
    chance = None
    if p_after is not None:
        chance = chance_of_error(proposer, p_after, Caption.parse(before), after)
    return Worth(chance, is_worth_an_offer(before, after, rise, p_before, chance))
