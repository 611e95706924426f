"""Score proposals, drop those that do not improve, rank the rest."""

import difflib
from collections.abc import Callable, Mapping, Sequence

from backend.captions import Caption
from backend.correction import described_anew, from_trajectory, guided_infill
from backend.correction.captioner import Captioner
from backend.correction.suggestion import Case, Suggestion
from backend.scoring.protocol import Scorer
from backend.trajectories.driver import run_trajectories
from backend.trajectories.exploring import Exploring
from backend.trajectories.trajectory import Trajectory

#: Gains in s below this share of the scale are noise, not an improvement worth a click.
SMALLEST_GAIN = 1e-3
#: Losing all words weighs as much as half of the largest gain on offer. On drawn scenes the first
#: suggestion then restores the caption in 23 of 100 (17 where only s counts) and loses 15 % of the
#: right words (26 %); what it says is true in 47 (55).
COST_OF_WORDS = 0.5

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
    proposals = dict.fromkeys(from_trajectory.propose(case.trajectory), from_trajectory.PROPOSER)
    if captioner is not None:
        for caption in guided_infill.propose(case, captioner):
            proposals.setdefault(caption, guided_infill.PROPOSER)
        proposals.setdefault(described_anew.propose(case, captioner), described_anew.PROPOSER)
    return judge(scorer, case, proposals, probability_of, count, exploring)


def judge(
    scorer: Scorer,
    case: Case,
    proposals: Mapping[str, str],
    probability_of: ProbabilityOf | None = None,
    count: int = 3,
    exploring: Exploring | None = None,
) -> list[Suggestion]:
    """Score `proposals` (caption -> proposer) against the case's image and keep the best.

    A refilled caption tells more than a shortened one or a new one: of those two kinds one each is
    kept at most, of the shortened ones the smallest edit that improves.
    """
    captions = [caption for caption in proposals if caption.strip()]
    if not captions:
        return []
    s_before = float(case.trajectory.scores[0])
    scores = scorer.score([(case.state, captions)])[0]
    improved = sorted(
        (
            (float(s), caption)
            for caption, s in zip(captions, scores, strict=True)
            if float(s) > s_before + SMALLEST_GAIN
        ),
        reverse=True,
    )
    kept = _ranked(_varied(improved, proposals, count), case.caption, s_before)
    after: Sequence[float | None] = [None] * len(kept)
    if probability_of is not None and kept:
        pairs = [(case.state, Caption.parse(caption)) for _, caption in kept]
        trajectories = dict(run_trajectories(scorer, pairs, exploring))
        after = list(probability_of([trajectories[i] for i in range(len(kept))]))
    return [
        Suggestion(caption, proposals[caption], s_before, s, case.p_error, p_after)
        for (s, caption), p_after in zip(kept, after, strict=True)
    ]


def _ranked(
    kept: Sequence[tuple[float, str]], caption: Caption, s_before: float
) -> list[tuple[float, str]]:
    """What gains most for the words that it costs, first.

    A caption described anew often matches best and says something else: it goes first only where
    an edit gains much less.
    """
    most = max((s for s, _ in kept), default=s_before) - s_before

    def worth(pair: tuple[float, str]) -> float:
        s, text = pair
        return (s - s_before) / most - COST_OF_WORDS * share_lost(caption, text)

    return sorted(kept, key=worth, reverse=True)


def share_lost(caption: Caption, text: str) -> float:
    """Share of the caption's words that the text leaves out or exchanges.

    >>> round(share_lost(Caption.parse("a red dog on sand"), "a brown dog on sand"), 3)
    0.2
    """
    old = [word.lower() for word in caption.words]
    new = [word.lower() for word in Caption.parse(text).words]
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    return 1 - sum(block.size for block in matcher.get_matching_blocks()) / max(1, len(old))


def _varied(
    improved: Sequence[tuple[float, str]], proposals: Mapping[str, str], count: int
) -> list[tuple[float, str]]:
    """At most `count`, best s first: all refilled captions compete, and one of each other kind."""
    refilled = [pair for pair in improved if proposals[pair[1]] == guided_infill.PROPOSER]
    others = []
    for proposer in (from_trajectory.PROPOSER, described_anew.PROPOSER):
        of_this = {caption: s for s, caption in improved if proposals[caption] == proposer}
        first = next((caption for caption in proposals if caption in of_this), None)
        if first is not None:
            others.append((of_this[first], first))
    room = max(1, count - len(others)) if refilled else 0
    return sorted([*refilled[:room], *others], reverse=True)[:count]
