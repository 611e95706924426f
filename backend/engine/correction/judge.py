"""Score proposals, drop those that do not improve, rank the rest."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from backend.engine.captions import Caption
from backend.engine.claims.tags import can_replace
from backend.engine.correction.proposers import PROPOSERS
from backend.engine.correction.proposing import propose_all
from backend.engine.correction.suggestion import (
    SMALLEST_GAIN,
    CorrectionContext,
    Suggestion,
    rank_suggestions,
)
from backend.engine.correction.suggestion_chance import (
    SuspectsOf,
    chance_of_error,
    doubted_words,
)
from backend.engine.detection.localisation import suspect_words
from backend.engine.english.shortening import is_sentence
from backend.engine.scoring.protocol import Scorer, Session
from backend.engine.trajectories.driver import run_trajectories
from backend.engine.trajectories.exploring import Exploring
from backend.engine.trajectories.trajectory import Trajectory
from backend.engine.trajectories.word_expectations import with_expectations_in
from db.texts import is_blank

if TYPE_CHECKING:
    from backend.engine.correction.captioner import Captioner

ProbabilityOf = Callable[[Sequence[Trajectory]], Sequence[float]]


def suggest_all(
    scorer: Scorer,
    contexts: Sequence[CorrectionContext],
    captioner: "Captioner | None" = None,
    probability_of: ProbabilityOf | None = None,
    exploring: Exploring | None = None,
    classifier_captioner: "Captioner | None" = None,
    judged_count: int | None = None,
    suspects_of: SuspectsOf = suspect_words,
) -> list[list[Suggestion]]:
    """A few corrections per pair, each with a higher score than the caption it would replace,
    ranked by gain against words lost. `probability_of` computes the probability of error after the
    correction, from trajectories computed with `exploring` and the expectations of
    `classifier_captioner`, the captioner that the classifier depends on, for the first
    `judged_count` corrections of a pair (None: for all), and `suspects_of` names the words of these
    that the model doubts. Pairs are batched; the results are the same as for each pair alone."""
    contexts = encode_images(contexts, captioner)
    cases = list(zip(contexts, proposals_of(contexts, captioner), strict=True))
    return judge_all(
        scorer, cases, probability_of, exploring=exploring, judged_count=judged_count,
        classifier_captioner=classifier_captioner, suspects_of=suspects_of,
    )  # fmt: skip


def proposals_of(
    contexts: Sequence[CorrectionContext], captioner: "Captioner | None"
) -> list[dict[str, str]]:
    """For each case, caption -> proposer, from all proposers without a vision-language model."""
    if captioner is None:
        return _proposals(contexts, None)
    max_batch = captioner.max_batch
    return [
        proposals
        for first in range(0, len(contexts), max_batch)
        for proposals in _proposals(contexts[first : first + max_batch], captioner)
    ]


def _proposals(
    contexts: Sequence[CorrectionContext], captioner: "Captioner | None"
) -> list[dict[str, str]]:
    contexts = encode_images(contexts, captioner)
    decoding = captioner.decoding([c.memory for c in contexts]) if captioner is not None else None
    tasks = [
        (number, proposer)
        for proposer in PROPOSERS
        for number in range(len(contexts))
        if decoding is not None or not proposer.asks
    ]
    captions_of = propose_all(
        decoding, [(number, proposer.start(contexts[number])) for number, proposer in tasks]
    )
    proposals: list[dict[str, str]] = [{} for _ in contexts]
    for (number, proposer), captions in zip(tasks, captions_of, strict=True):
        for caption in captions:
            proposals[number].setdefault(caption, proposer.name)
    return proposals


def encode_images(
    contexts: Sequence[CorrectionContext], captioner: "Captioner | None"
) -> list[CorrectionContext]:
    """The cases with their images encoded by this captioner; images that it has encoded already
    are not encoded again."""
    if captioner is None:
        return list(contexts)
    blind = [c for c in contexts if c.memory is None or c.seen_by != captioner.identity]
    memories = iter(captioner.encode([context.image for context in blind]))
    memory_of = {id(context): next(memories) for context in blind}
    return [
        replace(context, memory=memory_of[id(context)], seen_by=captioner.identity)
        if id(context) in memory_of
        else context
        for context in contexts
    ]


def judge_all(
    scorer: Scorer,
    cases: Sequence[tuple[CorrectionContext, Mapping[str, str]]],
    probability_of: ProbabilityOf | None = None,
    count: int = 3,
    exploring: Exploring | None = None,
    keep: bool = False,
    classifier_captioner: "Captioner | None" = None,
    judged_count: int | None = None,
    suspects_of: SuspectsOf = suspect_words,
) -> list[list[Suggestion]]:
    """Score the proposals (caption -> proposer) of each case against its image and keep the best.

    Of a proposer with `Proposer.all_compete` the first captions that improve are kept, of any other
    only the first one. `keep`: also keep captions that do not improve, ranked last (a
    model was asked for them, and a curator may know better). If the caption is a sentence,
    proposals that are not are ranked below those that are. `judged_count`: see `suggest_all`; the
    order does not depend on probabilities.
    """
    session = scorer.open_session()  # images and texts are shared by all that follows
    captions = [
        [text for text in proposals if not is_blank(text) and _has_form(context, text)]
        for context, proposals in cases
    ]
    tokens = iter(scorer.reader.tokenise([text for texts in captions for text in texts]))
    requests = [(context.state, [next(tokens) for _ in texts])
                for (context, _), texts in zip(cases, captions, strict=True)]  # fmt: skip
    scores = [
        values
        for at in range(0, len(requests), session.live)  # as many images as fit into memory
        for values in session.score(requests[at : at + session.live])
    ]
    best_of_case = [
        _best(context, proposals, list(zip(map(float, values), texts, strict=True)), count, keep)
        for (context, proposals), values, texts in zip(cases, scores, captions, strict=True)
    ]
    first = [
        (context, caption)
        for (context, _), best in zip(cases, best_of_case, strict=True)
        for _, caption in best[:judged_count]
    ]
    selection = [(context, caption) for (context, _), best in zip(cases, best_of_case, strict=True)
              for _, caption in best]  # fmt: skip
    judgements = iter(
        _judgements(scorer, session, first, probability_of, exploring, classifier_captioner)
    )
    alike = iter(_similarities(scorer, session, selection))
    places = [_places(proposals) for _, proposals in cases]

    def suggestion(
        context: CorrectionContext, proposer: str, place: int, s: float, caption: str, index: int
    ) -> Suggestion:
        is_judged = judged_count is None or index < judged_count
        p_after, trajectory = next(judgements) if is_judged else (None, None)
        doubts: tuple[str, ...] = ()
        if p_after is not None and trajectory is not None:
            chance = chance_of_error(proposer, p_after, context.caption, caption)
            doubts = doubted_words(trajectory, chance, suspects_of)
        s_before = float(context.trajectory.scores[0])
        return Suggestion(
            caption, proposer, s_before, s, context.p_error, p_after, next(alike), place, doubts
        )

    return [
        [
            suggestion(context, proposals[caption], place_of[caption], s, caption, index)
            for index, (s, caption) in enumerate(best)
        ]
        for (context, proposals), best, place_of in zip(cases, best_of_case, places, strict=True)
    ]


def _has_form(context: CorrectionContext, text: str) -> bool:
    """Whether the text can stand where the caption does: a tag is replaced by a tag."""
    is_tag = context.claim is not None and context.claim.kind == "tag"
    return not is_tag or can_replace(context.caption.text, text)


def _best(
    context: CorrectionContext,
    proposals: Mapping[str, str],
    candidates: Sequence[tuple[float, str]],
    count: int,
    keep: bool,
) -> list[tuple[float, str]]:
    """The (s, caption) pairs to show, in display order."""
    s_before = float(context.trajectory.scores[0])
    better = sorted(
        (pair for pair in candidates if keep or pair[0] > s_before + SMALLEST_GAIN), reverse=True
    )
    places = _places(proposals)
    best_captions = rank_suggestions(
        _select_varied(better, proposals, count), context.caption, s_before,
        text_of=lambda pair: pair[1], s_of=lambda pair: pair[0],
        preference_of=lambda pair: (proposals[pair[1]], places[pair[1]]),
    )  # fmt: skip
    if is_sentence(context.caption.text):
        best_captions = sorted(best_captions, key=lambda pair: not is_sentence(pair[1]))
    return best_captions


def _judgements(
    scorer: Scorer,
    session: Session,
    selection: Sequence[tuple[CorrectionContext, str]],
    probability_of: ProbabilityOf | None,
    exploring: Exploring | None,
    classifier_captioner: "Captioner | None",
) -> Sequence[tuple[float | None, Trajectory | None]]:
    """The probability of error of each chosen caption in place of the original, and its
    trajectory."""
    if probability_of is None or not selection:
        return [(None, None)] * len(selection)
    pairs = [(context.state, Caption.parse(caption)) for context, caption in selection]
    trajectory_of = dict(run_trajectories(scorer, pairs, exploring, session=session))
    trajectories = [trajectory_of[i] for i in range(len(selection))]
    if classifier_captioner is None:
        return list(zip(probability_of(trajectories), trajectories, strict=True))
    distinct = {id(context): context for context, _ in selection}
    memories = {
        key: context.memory
        for key, context in zip(
            distinct, encode_images(list(distinct.values()), classifier_captioner), strict=True
        )
    }
    trajectories = with_expectations_in(
        classifier_captioner, [memories[id(c)] for c, _ in selection], trajectories
    )
    return list(zip(probability_of(trajectories), trajectories, strict=True))


def _similarities(
    scorer: Scorer, session: Session, selection: Sequence[tuple[CorrectionContext, str]]
) -> list[float]:
    """The similarity c of each chosen caption to the original."""
    if not selection:
        return []
    texts = [
        *(context.caption.text for context, _ in selection),
        *(caption for _, caption in selection),
    ]
    vectors = session.embed(scorer.reader.tokenise(texts))
    old, new = vectors[: len(selection)], vectors[len(selection) :]
    return [float(a @ b) for a, b in zip(old, new, strict=True)]


def _places(proposals: Mapping[str, str]) -> dict[str, int]:
    """Each caption's place among those of its proposer, 0 for the preferred one."""
    so_far: Counter[str] = Counter()
    places = {}
    for caption, proposer in proposals.items():
        places[caption] = so_far[proposer]
        so_far[proposer] += 1
    return places


def _select_varied(
    candidates: Sequence[tuple[float, str]], proposals: Mapping[str, str], count: int
) -> list[tuple[float, str]]:
    """At most `count` of the scored captions, highest s first: the first of each proposer, and more
    of those that may have several, as far as there is room."""
    s_of = {caption: s for s, caption in candidates}
    competing = {proposer.name for proposer in PROPOSERS if proposer.all_compete}
    several: list[tuple[float, str]] = []
    single: dict[str, tuple[float, str]] = {}
    for caption, proposer in proposals.items():
        if caption not in s_of:
            continue
        if proposer in competing:
            several.append((s_of[caption], caption))
        else:
            single.setdefault(proposer, (s_of[caption], caption))
    room = max(1, count - len(single)) if several else 0
    return sorted([*several[:room], *single.values()], reverse=True)[:count]
