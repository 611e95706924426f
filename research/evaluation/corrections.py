"""Quality of corrections: suggestions for wrong captions, compared with the ground truth.

A correction *restores* a caption if it says what the caption said before it was corrupted: word for
word or, for drawn scenes, by making the same claims. It is *true* if all of its claims are. *Harm*
is the share of the correct words that it changed or omitted.

Every proposer is judged separately on the same captions, by its best suggestion that improves s (a
vision-language model by its answer, whether or not it improves s). In addition, the suggestions
that a curator gets without such a model are judged together.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from backend.engine.captions import kept_words, lower_words
from backend.engine.correction.captioner import Captioner
from backend.engine.correction.judge import judge_all, proposals_of
from backend.engine.correction.suggestion import CorrectionContext, Suggestion
from backend.engine.detection.localisation import suspect_words
from backend.engine.scoring.protocol import Scorer
from backend.engine.trajectories.exploring import Exploring
from backend.engine.trajectories.trajectory import Trajectory
from backend.features.corrections.corrector import Corrector, propose
from research.evaluation.labelled import LabelledPairs
from research.scenes.caption_reading import claims_of

ProbabilityOf = Callable[[Sequence[Trajectory]], Sequence[float]]
#: The first suggestion offered, and the best of those offered, by any proposer.
FIRST, ANY = "first", "any of those offered"


@dataclass(frozen=True)
class CorrectionFigures:
    """`offered`: the share of captions with a suggestion; `restored_of_all`: the share of all
    captions that are restored. The others are means over the `captions` with a suggestion:
    `restored`, `true` (None if truth is unknown), `harm`, `rise_of_s`, `s_after`, and
    `change_of_p`, the change of the probability of error (negative is better)."""

    offered: float
    restored_of_all: float
    restored: float
    true: float | None
    harm: float
    rise_of_s: float
    change_of_p: float | None
    captions: int
    s_after: float


@dataclass(frozen=True)
class _JudgedCaption:
    restored: bool
    true: bool | None
    harm: float
    rise: float
    change: float | None
    after: float


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
    """Figures by proposer, for the first suggestion (FIRST), and for the best one offered (ANY).

    `rows`: the wrong pairs to correct, which must not be in the detector's training data. Raises
    ModelUnavailable if a corrector cannot be reached.
    """
    by_name: dict[str, list[_JudgedCaption]] = {}
    for row in rows:
        image = pairs.picture(row)
        (p_error,) = probability_of([trajectories[row]])
        context = CorrectionContext(
            image,
            scorer.encode_images([image])[0],
            trajectories[row],
            suspect_words(trajectories[row], float(p_error)),
            float(p_error),
        )
        (proposals,) = proposals_of([context], captioner)
        for name in dict.fromkeys(proposals.values()):
            candidates = {caption: who for caption, who in proposals.items() if who == name}
            case = context, candidates
            for suggestion in judge_all(
                scorer, [case], probability_of, 1, exploring, False, captioner
            )[0]:
                by_name.setdefault(name, []).append(_judge(pairs, row, suggestion))
        for corrector in correctors:
            answer = propose(context, corrector)
            candidates = {answer.caption: corrector.proposer} if answer.caption is not None else {}
            case = context, candidates
            for suggestion in judge_all(
                scorer, [case], probability_of, 1, exploring, True, captioner
            )[0]:
                by_name.setdefault(corrector.proposer, []).append(_judge(pairs, row, suggestion))
        (suggestions,) = judge_all(
            scorer,
            [(context, proposals)],
            probability_of,
            exploring=exploring,
            classifier_captioner=captioner,
        )
        judgements = [_judge(pairs, row, suggestion) for suggestion in suggestions]
        if judgements:
            by_name.setdefault(FIRST, []).append(judgements[0])
            best = max(
                judgements, key=lambda result: (result.restored, bool(result.true), -result.harm)
            )
            by_name.setdefault(ANY, []).append(best)
    return {name: _figures(results, len(rows)) for name, results in by_name.items()}


def _judge(pairs: LabelledPairs, row: int, suggestion: Suggestion) -> _JudgedCaption:
    before, original = pairs.captions[row], pairs.originals[row]
    restored = _plain(suggestion.caption) == _plain(original)
    true = None
    if pairs.is_true is not None:
        true = pairs.is_true(row, suggestion.caption)
        restored = restored or claims_of(suggestion.caption) == claims_of(original)
    change = None
    if suggestion.p_before is not None and suggestion.p_after is not None:
        change = suggestion.p_after - suggestion.p_before
    return _JudgedCaption(
        restored,
        true,
        harm(before, pairs.changed[row], suggestion.caption),
        suggestion.s_after - suggestion.s_before,
        change,
        suggestion.s_after,
    )


def harm(before: str, changed_indices: frozenset[int], after: str) -> float:
    """Share of the correct words of `before` (not in `changed_indices`) that are not in `after`.

    >>> harm("A red dog on a beach", frozenset({1}), "A brown dog on a lawn")
    0.2
    """
    old = lower_words(before)
    kept_indices = kept_words(old, lower_words(after))
    right = [i for i in range(len(old)) if i not in changed_indices]
    # A change between "a" and "an" is not a loss.
    losses = [i for i in right if i not in kept_indices and old[i] not in ("a", "an")]
    return len(losses) / len(right) if right else 0.0


def _plain(text: str) -> tuple[str, ...]:
    return tuple(lower_words(text))


def _figures(judgements: Sequence[_JudgedCaption], count: int) -> CorrectionFigures:
    true = [result.true for result in judgements if result.true is not None]
    changes = [result.change for result in judgements if result.change is not None]
    return CorrectionFigures(
        offered=len(judgements) / count,
        restored_of_all=sum(result.restored for result in judgements) / count,
        restored=float(np.mean([result.restored for result in judgements])),
        true=float(np.mean(true)) if true else None,
        harm=float(np.mean([result.harm for result in judgements])),
        rise_of_s=float(np.mean([result.rise for result in judgements])),
        change_of_p=float(np.mean(changes)) if changes else None,
        captions=len(judgements),
        s_after=float(np.mean([result.after for result in judgements])),
    )
