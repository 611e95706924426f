"""Do corrections correct? What is offered for wrong captions, held against the truth.

A correction *restores* if it says what the caption said before it was made wrong: word for word,
or, of drawn scenes, if it claims the same. It is *true* if everything that it claims holds. *Harm*
is the share of the right words that it changed or left out.

Every proposer is judged by itself, on the same captions: by its best suggestion that improves s (a
vision-language model by what it says, improving or not). Beside them what a curator gets of those
that need no such model.
"""

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from backend.captions import Caption
from backend.correction.by_language_model import Corrector, propose
from backend.correction.captioner import Captioner
from backend.correction.judge import judge, model_free
from backend.correction.suggestion import Case, Suggestion
from backend.detection.localisation import suspect_words
from backend.evaluation.labelled import LabelledPairs
from backend.scenes.reading import claims_of
from backend.scoring.protocol import Scorer
from backend.trajectories.exploring import Exploring
from backend.trajectories.trajectory import Trajectory

ProbabilityOf = Callable[[Sequence[Trajectory]], Sequence[float]]
#: What is offered first, whoever proposed it.
FIRST, ANY = "first", "any of those offered"


@dataclass(frozen=True)
class CorrectionFigures:
    """`offered`: the share of captions with such a suggestion; `restored_of_all`: the share of all
    captions that it restores. The rest are means over the captions with one: `restored`, `true`
    (None where only wording tells), `harm`, the rise of s and of the probability of error (below 0
    is better)."""

    offered: float
    restored_of_all: float
    restored: float
    true: float | None
    harm: float
    rise_of_s: float
    change_of_p: float | None
    captions: int


@dataclass(frozen=True)
class _Judged:
    restored: bool
    true: bool | None
    harm: float
    rise: float
    change: float | None


def correction_quality(
    scorer: Scorer,
    captioner: Captioner | None,
    pairs: LabelledPairs,
    trajectories: Sequence[Trajectory],
    rows: Sequence[int],
    probability_of: ProbabilityOf,
    exploring: Exploring,
    correctors: Sequence[Corrector] = (),
) -> dict[str, CorrectionFigures]:
    """By proposer, for the suggestion offered first, and for the best that a curator could pick.

    `rows`: the wrong pairs to ask for, none of which the detector has trained on. Raises
    ModelUnavailable where a corrector cannot be reached.
    """
    by_name: dict[str, list[_Judged]] = {}
    for row in rows:
        image = pairs.picture(row)
        (p_error,) = probability_of([trajectories[row]])
        case = Case(
            image,
            scorer.encode_images([image])[0],
            trajectories[row],
            suspect_words(trajectories[row], float(p_error)),
            float(p_error),
        )
        proposals = model_free(case, captioner)
        for name in dict.fromkeys(proposals.values()):
            own = {caption: who for caption, who in proposals.items() if who == name}
            for offer in judge(scorer, case, own, probability_of, 1, exploring):
                by_name.setdefault(name, []).append(_judge(pairs, row, offer))
        for corrector in correctors:
            answer = propose(case, corrector)
            own = {answer.caption: corrector.proposer} if answer.caption is not None else {}
            for offer in judge(scorer, case, own, probability_of, 1, exploring, keep=True):
                by_name.setdefault(corrector.proposer, []).append(_judge(pairs, row, offer))
        offered = judge(scorer, case, proposals, probability_of, exploring=exploring)
        judged = [_judge(pairs, row, one) for one in offered]
        if judged:
            by_name.setdefault(FIRST, []).append(judged[0])
            best = max(judged, key=lambda one: (one.restored, bool(one.true), -one.harm))
            by_name.setdefault(ANY, []).append(best)
    return {name: _figures(found, len(rows)) for name, found in by_name.items()}


def _judge(pairs: LabelledPairs, row: int, offered: Suggestion) -> _Judged:
    before, original = pairs.captions[row], pairs.originals[row]
    restored = _plain(offered.caption) == _plain(original)
    true = None
    if pairs.is_true is not None:
        true = pairs.is_true(row, offered.caption)
        restored = restored or claims_of(offered.caption) == claims_of(original)
    change = None
    if offered.p_before is not None and offered.p_after is not None:
        change = offered.p_after - offered.p_before
    return _Judged(
        restored,
        true,
        harm(before, pairs.changed[row], offered.caption),
        offered.s_after - offered.s_before,
        change,
    )


def harm(before: str, changed: frozenset[int], after: str) -> float:
    """Share of the words of `before` that were right (not in `changed`) and are not in `after`.

    >>> harm("A red dog on a beach", frozenset({1}), "A brown dog on a lawn")
    0.2
    """
    old = [word.lower() for word in Caption.parse(before).words]
    new = [word.lower() for word in Caption.parse(after).words]
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    kept = {
        i for block in matcher.get_matching_blocks() for i in range(block.a, block.a + block.size)
    }
    right = [i for i in range(len(old)) if i not in changed]
    # "a" that became "an" before another word is no loss.
    lost = [i for i in right if i not in kept and old[i] not in ("a", "an")]
    return len(lost) / len(right) if right else 0.0


def _plain(text: str) -> tuple[str, ...]:
    return tuple(word.lower() for word in Caption.parse(text).words)


def _figures(found: Sequence[_Judged], asked: int) -> CorrectionFigures:
    true = [one.true for one in found if one.true is not None]
    changes = [one.change for one in found if one.change is not None]
    return CorrectionFigures(
        offered=len(found) / asked,
        restored_of_all=sum(one.restored for one in found) / asked,
        restored=float(np.mean([one.restored for one in found])),
        true=float(np.mean(true)) if true else None,
        harm=float(np.mean([one.harm for one in found])),
        rise_of_s=float(np.mean([one.rise for one in found])),
        change_of_p=float(np.mean(changes)) if changes else None,
        captions=len(found),
    )
