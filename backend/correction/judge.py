"""Score proposals, drop those that do not improve, rank the rest."""

from collections.abc import Callable, Mapping, Sequence

from backend.captions import Caption
from backend.correction import described_anew, from_trajectory, guided_infill
from backend.correction.captioner import Captioner
from backend.correction.ranking import SMALLEST_GAIN, ranked
from backend.correction.suggestion import Case, Suggestion
from backend.scoring.protocol import Scorer
from backend.trajectories.driver import run_trajectories
from backend.trajectories.exploring import Exploring
from backend.trajectories.trajectory import Trajectory

ProbabilityOf = Callable[[Sequence[Trajectory]], Sequence[float]]


def suggest(
    scorer: Scorer,
    case: Case,
    captioner: Captioner | None = None,
    probability_of: ProbabilityOf | None = None,
    count: int = 3,
    exploring: Exploring | None = None,
) -> list[Suggestion]:
    """At most `count` corrections of one pair, each better than the caption it would replace, what
    gains most for the words it costs first. `probability_of` adds the probability of error before
    and after, from trajectories made as `exploring` says."""
    proposals = model_free(case, captioner)
    return judge(scorer, case, proposals, probability_of, count, exploring)


def model_free(case: Case, captioner: Captioner | None) -> dict[str, str]:
    """Caption -> proposer, of those that no vision-language model is needed for."""
    proposals = dict.fromkeys(from_trajectory.propose(case.trajectory), from_trajectory.PROPOSER)
    if captioner is not None:
        for caption in guided_infill.propose(case, captioner):
            proposals.setdefault(caption, guided_infill.PROPOSER)
        proposals.setdefault(described_anew.propose(case, captioner), described_anew.PROPOSER)
    return proposals


def judge(
    scorer: Scorer,
    case: Case,
    proposals: Mapping[str, str],
    probability_of: ProbabilityOf | None = None,
    count: int = 3,
    exploring: Exploring | None = None,
    keep: bool = False,
) -> list[Suggestion]:
    """Score `proposals` (caption -> proposer) against the case's image and keep the best.

    A refilled caption tells more than a shortened one or a new one: of every other kind one is
    kept at most, of the shortened ones the smallest edit that improves. `keep`: also those that do
    not improve the caption, last (a model was asked for them, and a curator may know better).
    """
    captions = [caption for caption in proposals if caption.strip()]
    if not captions:
        return []
    s_before = float(case.trajectory.scores[0])
    scores = scorer.score([(case.state, captions)])[0]
    scored = sorted(
        (
            (float(s), caption)
            for caption, s in zip(captions, scores, strict=True)
            if keep or float(s) > s_before + SMALLEST_GAIN
        ),
        reverse=True,
    )
    kept = ranked(
        _varied(scored, proposals, count), case.caption, s_before,
        text_of=lambda pair: pair[1], s_of=lambda pair: pair[0],
    )  # fmt: skip
    if not kept:
        return []
    after: Sequence[float | None] = [None] * len(kept)
    if probability_of is not None:
        pairs = [(case.state, Caption.parse(caption)) for _, caption in kept]
        trajectories = dict(run_trajectories(scorer, pairs, exploring))
        after = list(probability_of([trajectories[i] for i in range(len(kept))]))
    vectors = scorer.text_embeddings([case.caption.text, *(caption for _, caption in kept)])
    return [
        Suggestion(caption, proposals[caption], s_before, s, case.p_error, p_after, float(alike))
        for (s, caption), p_after, alike in zip(kept, after, vectors[1:] @ vectors[0], strict=True)
    ]


def _varied(
    scored: Sequence[tuple[float, str]], proposals: Mapping[str, str], count: int
) -> list[tuple[float, str]]:
    """At most `count`, best s first: all refilled captions compete, and one of each other kind."""
    refilled = [pair for pair in scored if proposals[pair[1]] == guided_infill.PROPOSER]
    others = []
    for proposer in dict.fromkeys(proposals.values()):
        of_this = {caption: s for s, caption in scored if proposals[caption] == proposer}
        first = next((caption for caption in proposals if caption in of_this), None)
        if first is not None and proposer != guided_infill.PROPOSER:
            others.append((of_this[first], first))
    room = max(1, count - len(others)) if refilled else 0
    return sorted([*refilled[:room], *others], reverse=True)[:count]
