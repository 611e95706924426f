"""The input of proposers, and the suggestions that curators are shown."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from PIL import Image

from backend.engine.captions import Caption
from backend.engine.correction.proposing import Proposing
from backend.engine.detection.types import SuspectWord
from backend.engine.scoring.protocol import ImageState
from backend.engine.trajectories.trajectory import Trajectory

#: Words with at least this suspect score are replaced or deleted by the proposers. Half of the
#: scale; see `backend.engine.detection.localisation` for what the score means.
SUSPECT_THRESHOLD = 0.5


@dataclass(frozen=True)
class CorrectionContext:
    """One pair whose caption may be wrong, with what the engine knows about it. `memory`: the image
    as encoded by the captioner with the identity `seen_by`, None if not encoded."""

    image: Image.Image
    state: ImageState
    trajectory: Trajectory
    suspects: tuple[SuspectWord, ...]
    p_error: float | None = None
    memory: Any = None
    seen_by: str = ""

    @property
    def caption(self) -> Caption:
        return self.trajectory.caption

    def suspect_positions(self, at_most: int) -> tuple[int, ...]:
        """Word indices to change, most suspect first, at most `at_most` of them.

        If no word reaches the threshold, only the most suspect one: a curator who asks for a
        suggestion wants to see one.
        """
        index_of = {span: i for i, span in enumerate(self.caption.spans)}
        ranked = sorted(self.suspects, key=lambda suspect: -suspect.score)
        positions = [
            index_of[suspect.start, suspect.end]
            for suspect in ranked
            if suspect.score >= SUSPECT_THRESHOLD and (suspect.start, suspect.end) in index_of
        ]
        if not positions and ranked and (ranked[0].start, ranked[0].end) in index_of:
            positions = [index_of[ranked[0].start, ranked[0].end]]
        return tuple(positions[:at_most])


@dataclass(frozen=True)
class Suggestion:
    """A corrected caption; `s_*` in the scorer's units (higher is better), `p_*` probabilities of
    error (lower is better), None without a trained detector; `similarity` to the caption that it
    corrects, the cosine c of the scorer's text embeddings; `place` among the captions of its
    proposer, 0 for the preferred one."""

    caption: str
    proposer: str
    s_before: float
    s_after: float
    p_before: float | None = None
    p_after: float | None = None
    similarity: float | None = None
    place: int = 0


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
