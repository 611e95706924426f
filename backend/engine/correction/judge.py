"""Score proposals, drop those that do not improve, rank the rest."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from backend.engine.captions import Caption
from backend.engine.correction.proposers import PROPOSERS
from backend.engine.correction.ranking import SMALLEST_GAIN, ranked
from backend.engine.correction.shortening import is_sentence
from backend.engine.correction.suggestion import CorrectionContext, Suggestion
from backend.engine.expectation import with_expectations
from backend.engine.scoring.protocol import Scorer
from backend.engine.trajectories.driver import run_trajectories
from backend.engine.trajectories.exploring import Exploring
from backend.engine.trajectories.trajectory import Trajectory

if TYPE_CHECKING:
    from backend.engine.correction.captioner import Captioner

ProbabilityOf = Callable[[Sequence[Trajectory]], Sequence[float]]


def suggest(
    scorer: Scorer,
    context: CorrectionContext,
    captioner: "Captioner | None" = None,
    probability_of: ProbabilityOf | None = None,
    count: int = 3,
    exploring: Exploring | None = None,
    listened_to: "Captioner | None" = None,
) -> list[Suggestion]:
    """`suggest_all` for one pair."""
    return suggest_all(
        scorer, [context], captioner, probability_of, count, exploring, listened_to
    )[0]  # fmt: skip


def suggest_all(
    scorer: Scorer,
    contexts: Sequence[CorrectionContext],
    captioner: "Captioner | None" = None,
    probability_of: ProbabilityOf | None = None,
    count: int = 3,
    exploring: Exploring | None = None,
    listened_to: "Captioner | None" = None,
    judged: int | None = None,
) -> list[list[Suggestion]]:
    """At most `count` corrections per pair, each with a higher score than the caption it would
    replace, ranked by gain against words lost. `probability_of` computes the probability of error
    after the correction, from trajectories computed with `exploring` and the expectations of
    `listened_to`, the captioner that the classifier depends on, for the first `judged` corrections
    of a pair (None: for all). Pairs are batched; the results are the same as for each pair
    alone."""
    asked = list(zip(contexts, proposals_of(contexts, captioner), strict=True))
    return judge_all(
        scorer, asked, probability_of, count, exploring, listened_to=listened_to, judged=judged
    )


def proposals_of(
    contexts: Sequence[CorrectionContext], captioner: "Captioner | None"
) -> list[dict[str, str]]:
    """For each case, caption -> proposer, from all proposers without a vision-language model."""
    if captioner is not None:
        memories = captioner.encode([context.image for context in contexts])
        contexts = [
            replace(context, memory=m) for context, m in zip(contexts, memories, strict=True)
        ]
    proposals: list[dict[str, str]] = [{} for _ in contexts]
    for proposer in PROPOSERS:
        captions_of_contexts = proposer.propose(contexts, captioner)
        for proposals_of_context, captions in zip(proposals, captions_of_contexts, strict=True):
            for caption in captions:
                proposals_of_context.setdefault(caption, proposer.name)
    return proposals


def judge(
    scorer: Scorer,
    context: CorrectionContext,
    proposals: Mapping[str, str],
    probability_of: ProbabilityOf | None = None,
    count: int = 3,
    exploring: Exploring | None = None,
    keep: bool = False,
    listened_to: "Captioner | None" = None,
) -> list[Suggestion]:
    """`judge_all` for one pair."""
    return judge_all(
        scorer, [(context, proposals)], probability_of, count, exploring, keep, listened_to
    )[0]  # fmt: skip


def judge_all(
    scorer: Scorer,
    asked: Sequence[tuple[CorrectionContext, Mapping[str, str]]],
    probability_of: ProbabilityOf | None = None,
    count: int = 3,
    exploring: Exploring | None = None,
    keep: bool = False,
    listened_to: "Captioner | None" = None,
    judged: int | None = None,
) -> list[list[Suggestion]]:
    """Score the proposals (caption -> proposer) of each case against its image and keep the best.

    Of a proposer with `Proposer.all_compete` the first captions that improve are kept, of any other
    only the first one. `keep`: also keep captions that do not improve, ranked last (a
    model was asked for them, and a curator may know better). If the caption is a sentence,
    proposals that are not are ranked below those that are. `judged`: see `suggest_all`; the order
    does not depend on probabilities.
    """
    captions = [[text for text in proposals if text.strip()] for _, proposals in asked]
    states = [context.state for context, _ in asked]
    scores = scorer.score(list(zip(states, captions, strict=True)))
    kept = [
        _best(
            context,
            proposals,
            list(zip(map(float, values), texts, strict=True)),
            count,
            keep,
        )
        for (context, proposals), values, texts in zip(asked, scores, captions, strict=True)
    ]
    first = [
        (context, caption)
        for (context, _), best in zip(asked, kept, strict=True)
        for _, caption in best[:judged]
    ]
    chosen = [(context, caption) for (context, _), best in zip(asked, kept, strict=True)
              for _, caption in best]  # fmt: skip
    after = iter(_probabilities(scorer, first, probability_of, exploring, listened_to))
    alike = iter(_similarities(scorer, chosen))
    places = [_places(proposals) for _, proposals in asked]
    return [
        [
            Suggestion(
                caption, proposals[caption], float(context.trajectory.scores[0]), s,
                context.p_error,
                next(after) if judged is None or place < judged else None,
                next(alike),
                place_of[caption],
            )
            for place, (s, caption) in enumerate(best)
        ]
        for (context, proposals), best, place_of in zip(asked, kept, places, strict=True)
    ]  # fmt: skip


def _best(
    context: CorrectionContext,
    proposals: Mapping[str, str],
    scored: Sequence[tuple[float, str]],
    count: int,
    keep: bool,
) -> list[tuple[float, str]]:
    """The (s, caption) pairs to show, in display order."""
    s_before = float(context.trajectory.scores[0])
    better = sorted(
        (pair for pair in scored if keep or pair[0] > s_before + SMALLEST_GAIN), reverse=True
    )
    places = _places(proposals)
    kept = ranked(
        _varied(better, proposals, count), context.caption, s_before,
        text_of=lambda pair: pair[1], s_of=lambda pair: pair[0],
        preference_of=lambda pair: (proposals[pair[1]], places[pair[1]]),
    )  # fmt: skip
    if is_sentence(context.caption.text):
        kept = sorted(kept, key=lambda pair: not is_sentence(pair[1]))
    return kept


def _probabilities(
    scorer: Scorer,
    chosen: Sequence[tuple[CorrectionContext, str]],
    probability_of: ProbabilityOf | None,
    exploring: Exploring | None,
    listened_to: "Captioner | None",
) -> Sequence[float | None]:
    """The probability of error of each chosen caption in place of the original."""
    if probability_of is None or not chosen:
        return [None] * len(chosen)
    pairs = [(context.state, Caption.parse(caption)) for context, caption in chosen]
    trajectories = dict(run_trajectories(scorer, pairs, exploring))
    ordered = [trajectories[i] for i in range(len(chosen))]
    images = [context.image for context, _ in chosen]
    return probability_of(with_expectations(listened_to, images, ordered))


def _similarities(scorer: Scorer, chosen: Sequence[tuple[CorrectionContext, str]]) -> list[float]:
    """The similarity c of each chosen caption to the original."""
    if not chosen:
        return []
    old = scorer.text_embeddings([context.caption.text for context, _ in chosen])
    new = scorer.text_embeddings([caption for _, caption in chosen])
    return [float(a @ b) for a, b in zip(old, new, strict=True)]


def _places(proposals: Mapping[str, str]) -> dict[str, int]:
    """Each caption's place among those of its proposer, 0 for the preferred one."""
    so_far: Counter[str] = Counter()
    places = {}
    for caption, proposer in proposals.items():
        places[caption] = so_far[proposer]
        so_far[proposer] += 1
    return places


def _varied(
    scored: Sequence[tuple[float, str]], proposals: Mapping[str, str], count: int
) -> list[tuple[float, str]]:
    """At most `count` of the scored captions, highest s first: the first of each proposer, and more
    of those that may have several, as far as there is room."""
    s_of = {caption: s for s, caption in scored}
    competing = {proposer.name for proposer in PROPOSERS if proposer.all_compete}
    several, single = [], {}
    for caption, proposer in proposals.items():
        if caption not in s_of:
            continue
        if proposer in competing:
            several.append((s_of[caption], caption))
        else:
            single.setdefault(proposer, (s_of[caption], caption))
    room = max(1, count - len(single)) if several else 0
    return sorted([*several[:room], *single.values()], reverse=True)[:count]
