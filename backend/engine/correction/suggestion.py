"""The input of proposers, the suggestions that curators are shown, and their order.

Corrections are ranked by their gain in score against the words they lose: a newly generated caption
often scores best but says something else. Ties are broken by the smallest edit; corrections that do
not improve the caption come last. The score says which words are wrong, but hardly which word is
right in their place ("a black dog" and "a brown dog" score nearly the same): the captions of one
proposer keep its own order (`preference_of`), likeliest first.
"""

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from PIL import Image

from backend.engine.captions import Caption, changes, kept_words, lower_words
from backend.engine.claims.claim import Claim
from backend.engine.correction.proposing import Proposing
from backend.engine.detection.types import SuspectWord
from backend.engine.scoring.protocol import ImageState
from backend.engine.trajectories.trajectory import Trajectory
from backend.errors import SettingsError

T = TypeVar("T")

#: Gains in s up to this are noise, not an improvement worth a click.
SMALLEST_GAIN = 1e-3
#: At 1, losing all words weighs as much as the largest gain. Chosen on 280 fine-grained errors and
#: 113 exchanged captions, three training runs (seeds 30 to 32, ITM): with 1, 1.25 and 1.5 the first
#: suggestion restores 33, 35 and 37 of 100 captions with an error and loses 12, 10 and 8 % of their
#: right words; of entirely wrong captions, which no edit can fix, it is true for 49, 45 and 38.
COST_OF_WORDS = 1.25
#: Decimals to which a correction's worth is rounded, so that near ties count as ties.
_EQUAL = 2


def rank_suggestions(
    suggestions: Sequence[T],
    caption: Caption,
    s_before: float,
    text_of: Callable[[T], str],
    s_of: Callable[[T], float],
    preference_of: Callable[[T], tuple[str, int] | None] = lambda _: None,
) -> list[T]:
    """The suggestions, best first. The sort is stable.

    `preference_of`: a suggestion's proposer and its place among that proposer's captions, None if
    it has no order of its own. Captions of one proposer that improve share the places that the
    ranking assigns to them, in their own order.
    """
    most = max((s_of(suggestion) for suggestion in suggestions), default=s_before) - s_before

    def improves(suggestion: T) -> bool:
        return s_of(suggestion) - s_before > SMALLEST_GAIN

    def key(suggestion: T) -> tuple[bool, float, int]:
        gain = s_of(suggestion) - s_before
        if not improves(suggestion):
            return True, -gain, 0
        worth = gain / most - COST_OF_WORDS * share_lost(caption, text_of(suggestion))
        return False, -round(worth, _EQUAL), words_changed(caption, text_of(suggestion))

    ranking = sorted(suggestions, key=key)
    # Of each proposer: (place among its captions, index).
    listed_by: dict[str, list[tuple[int, int]]] = {}
    for index, suggestion in enumerate(ranking):
        preference = preference_of(suggestion)
        if preference is not None and improves(suggestion):
            listed_by.setdefault(preference[0], []).append((preference[1], index))
    result = list(ranking)
    for of_proposer in listed_by.values():
        places = [index for _, index in of_proposer]
        for place, (_, index) in zip(places, sorted(of_proposer), strict=True):
            result[place] = ranking[index]
    return result


def share_lost(caption: Caption, text: str) -> float:
    """Share of the caption's words that the text omits or replaces.

    >>> round(share_lost(Caption.parse("a red dog on sand"), "a brown dog on sand"), 3)
    0.2
    """
    old = lower_words(caption.text)
    return 1 - len(kept_words(old, lower_words(text))) / max(1, len(old))


def words_changed(caption: Caption, text: str) -> int:
    """Number of words deleted, inserted or replaced; a replacement counts once.

    >>> words_changed(Caption.parse("a red dog on sand"), "a brown dog")
    3
    """
    return sum(
        max(len(run.old), len(run.new))
        for run in changes(lower_words(caption.text), lower_words(text))
    )


#: Words with at least this suspect score are replaced or deleted by the proposers. Half of the
#: scale; see `backend.engine.detection.localisation` for what the score means.
SUSPECT_THRESHOLD = 0.5


@dataclass(frozen=True)
class CorrectionContext:
    """One pair whose caption may be wrong, with what the engine knows about it. `memory`: the image
    as encoded by the captioner with the identity `seen_by`, None if not encoded; `claim`: the part
    of the pair's caption that the trajectory is of, None: all of it."""

    image: Image.Image
    state: ImageState
    trajectory: Trajectory
    suspects: tuple[SuspectWord, ...]
    p_error: float | None = None
    memory: Any = None
    seen_by: str = ""
    claim: Claim | None = None

    @property
    def caption(self) -> Caption:
        return self.trajectory.caption

    def suspect_positions(self, at_most: int) -> tuple[int, ...]:
        """Word indices to change, most suspect first, at most `at_most` of them.

        If no word reaches the threshold, only the most suspect one: a curator who asks for a
        suggestion wants to see one.
        """
        index_of = {span: i for i, span in enumerate(self.caption.spans)}
        suspects = sorted(self.suspects, key=lambda suspect: -suspect.score)
        positions = [
            index_of[suspect.start, suspect.end]
            for suspect in suspects
            if suspect.score >= SUSPECT_THRESHOLD and (suspect.start, suspect.end) in index_of
        ]
        if not positions and suspects and (suspects[0].start, suspects[0].end) in index_of:
            positions = [index_of[suspects[0].start, suspects[0].end]]
        return tuple(positions[:at_most])


@dataclass(frozen=True)
class Suggestion:
    """A corrected caption; `s_*` in the scorer's units (higher is better), `p_*` probabilities of
    error (lower is better), None without a trained detector; `similarity` to the caption that it
    corrects, the cosine c of the scorer's text embeddings; `place` among the captions of its
    proposer, 0 for the preferred one; `doubts`: its words that the model doubts."""

    caption: str
    proposer: str
    s_before: float
    s_after: float
    p_before: float | None = None
    p_after: float | None = None
    similarity: float | None = None
    place: int = 0
    doubts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Proposer:
    """A source of corrections without a vision-language model; `proposers.py` lists them all.

    `propose` returns captions of a case, preferred ones first; it need not check whether they are
    better than the original.
    """

    name: str  #: stored with each suggestion, and shown
    propose: Callable[[CorrectionContext], Proposing]
    #: Whether several of its captions may be kept, in its order; otherwise only the first that
    #: improves.
    all_compete: bool = False
    #: Whether it needs a captioner.
    asks: bool = True

    def start(self, context: CorrectionContext) -> Proposing:
        """`propose` of a case; raises SettingsError if it is no generator, or returns something
        else than a list of captions."""
        proposing = self.propose(context)
        if not isinstance(proposing, Generator):
            raise self._unfit(f"propose gives {type(proposing).__name__}, not a generator")
        captions = yield from proposing
        if not isinstance(captions, list) or not all(isinstance(text, str) for text in captions):
            raise self._unfit("propose does not return a list of captions")
        return captions

    def _unfit(self, problem: str) -> SettingsError:
        return SettingsError(f"The proposer '{self.name}': {problem}. Repair its package.")
