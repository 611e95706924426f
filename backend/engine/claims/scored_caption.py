"""A caption's claims with their trajectories."""

from dataclasses import dataclass

from backend.engine.claims.claim import Claim, whole
from backend.engine.trajectories.trajectory import Trajectory
from db.measures import ABSTRACT_THRESHOLD


def is_vague(icc: float | None) -> bool:
    """Whether a claim of this concreteness describes nothing that can be seen."""
    return icc is not None and icc < ABSTRACT_THRESHOLD


def says_something(claim: Claim, icc: float | None) -> bool:
    """Whether a claim can be wrong: it is not vague, opens no list and repeats nothing. What a
    model does not match is not an error there."""
    return not (is_vague(icc) or claim.repeats or claim.kind == "opening")


@dataclass(frozen=True)
class ScoredClaim:
    """A claim, its trajectory, its concreteness and its chance of being wrong, None if these are
    not known or the claim is the whole caption, whose pair has them."""

    claim: Claim
    trajectory: Trajectory
    icc: float | None = None
    p_error: float | None = None

    @property
    def says_something(self) -> bool:
        """See `says_something`."""
        return says_something(self.claim, self.icc)


@dataclass(frozen=True)
class ScoredCaption:
    """The claims of a caption that repeat no other, at least one, in their order."""

    claims: tuple[ScoredClaim, ...]

    @classmethod
    def of_one_claim(cls, trajectory: Trajectory) -> "ScoredCaption":
        """A caption that is scored as it stands."""
        (claim,) = whole(trajectory.caption.text)
        return cls((ScoredClaim(claim, trajectory),))

    @property
    def is_single(self) -> bool:
        """Whether the caption is one claim, scored as it stands."""
        return self.claims[0].claim.kind == "whole"

    @property
    def second_opinion(self) -> float:
        """How far a second model agrees with the whole caption, 0 if it was not asked."""
        return self.claims[0].trajectory.second_opinion

    @property
    def whole_steps(self) -> bool:
        """Whether all steps of all trajectories are known."""
        return all(claim.trajectory.whole for claim in self.claims)

    @property
    def deciding(self) -> tuple[int, ...]:
        """Indices of the claims that decide whether the caption is wrong; all if none says
        anything."""
        indices = tuple(i for i, claim in enumerate(self.claims) if claim.says_something)
        return indices or tuple(range(len(self.claims)))

    @property
    def leading(self) -> ScoredClaim:
        """The claim that is most likely wrong; while no chances are known, that which gains most by
        an edit."""
        return max((self.claims[i] for i in self.deciding), key=_suspicion)


def _suspicion(scored_claim: ScoredClaim) -> tuple[float, float]:
    scores = scored_claim.trajectory.scores
    return scored_claim.p_error or 0.0, float(scores.max() - scores[0])
