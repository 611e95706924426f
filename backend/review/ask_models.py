"""Interactive model queries about one pair, or about one picture and a caption."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from PIL import Image

from backend import plugins
from backend.datasets.safe_files import images
from backend.engine.captions import Caption
from backend.engine.claims.claim import Claim, without_repetitions
from backend.engine.claims.scored_caption import ScoredCaption, ScoredClaim, is_vague
from backend.engine.concreteness.scoring import Contribution
from backend.engine.constants.part import ConstantPart, blank_out
from backend.engine.correction import judge
from backend.engine.correction.suggestion import CorrectionContext, Suggestion
from backend.engine.correction.suggestion_chance import worth_of
from backend.engine.detection.classifier import Classifier
from backend.engine.detection.judged_captions import judge_captions
from backend.engine.detection.types import SuspectWord
from backend.engine.familiarity import Familiarity
from backend.engine.scoring.protocol import ImageState
from backend.engine.trajectories.exploring import Exploring
from backend.engine.trajectories.word_expectations import with_expectations
from backend.errors import SettingsError, UnknownPictures
from backend.jobs.scoring.classifiers import (
    classifier_captioner,
    classifier_in_use,
    complete_trajectories,
    doubting,
    judge_suggestions,
    judging,
    steps_needed_by,
    suspects_by,
    unjudged_suggestions,
)
from backend.jobs.scoring.dataset_constants import constants_before
from backend.jobs.scoring.dataset_models import division_before
from backend.jobs.scoring.dataset_pairs import prepare_scorer
from backend.jobs.scoring.known_pictures import check_picture, check_picture_of
from backend.jobs.scoring.phrase_attribution import nonce_pools, phrase_scores
from backend.jobs.scoring.stored_rows import exploring_of, scored_pairs
from backend.jobs.scoring.suggest import suggest_for
from backend.loaded_models import Engine
from backend.review.pair import basis_of, image_path, looks_abstract, view_of
from backend.review.verdicts import LONGEST_EDIT
from backend.review.views import (
    Abstractness,
    CaptionCheck,
    ClaimView,
    PhraseView,
    PlaygroundResult,
    SuggestionView,
    suggestion_view,
)
from backend.store import Store
from db.queries import classifier_queries, dataset_queries, pair_queries, run_queries

if TYPE_CHECKING:
    from backend.engine.correction.captioner import Captioner

#: Seconds that a page waits for busy models before it continues without them.
PATIENCE = 5.0


@dataclass(frozen=True)
class SuggestionSource:
    """Further corrections of a pair for which a curator asks (plug-ins of the group
    `suggestion_sources`). `suggest(store, engine, dataset id, pair id)`: stores them."""

    suggest: Callable[[Store, Engine, int, int], None]


def suggest(
    store: Store, engine: Engine, pair_id: int, claim: int | None = None
) -> tuple[SuggestionView, ...]:
    """Corrections for one pair, or in place of one claim of it: read from the store, or computed
    now and stored; including those of features and packages. `claim`: where it starts, by default
    the most suspicious one. Raises UnknownPictures for a picture without a caption that the model
    does not know."""
    view = view_of(store, pair_id, claim=claim)
    run = store.read(run_queries.latest_run, view.dataset_id, "score")
    if not view.caption and not view.suggestions.corrections:
        pair = store.read(pair_queries.get_pair, pair_id)
        check_picture_of(store, engine, pair, _open_picture(store, pair_id))
    if run is None or view.opinion.trajectory is None:
        return view.helpful_suggestions
    if view.suggestions.corrections:
        complete(store, engine, pair_id)
    else:
        if not view.opinion.trajectory.whole and complete(store, engine, pair_id):
            view = view_of(store, pair_id, claim=claim)
        assert view.opinion.trajectory is not None
        prepare_scorer(store, engine, view.dataset_id)
        classifier = classifier_in_use(store, view.dataset_id)
        image = _open_picture(store, pair_id)
        start = view.claim.start if view.claim is not None else None
        suggest_for(store, engine, run, pair_id, image, classifier, start)
    for source in plugins.load("suggestion_sources", SuggestionSource):
        source.suggest(store, engine, view.dataset_id, pair_id)
    return view_of(store, pair_id, claim=claim).helpful_suggestions


def complete(store: Store, engine: Engine, pair_id: int) -> bool:
    """Compute and store what is deferred until a pair is opened: the later steps of a trajectory
    of which only the first is known, and the probabilities of corrections. Returns whether anything
    has changed. Gives up while the models are busy, because a page should not wait."""
    with store.reading() as session:
        pair = pair_queries.get_pair(session, pair_id)
        run = run_queries.latest_run(session, pair.dataset_id, "score")
    if run is None:
        return False
    _, captions = scored_pairs(store, run, [pair_id])
    if not captions:
        return False
    waiting = unjudged_suggestions(store, run, pair_id)
    if captions[0].whole_steps and not waiting:
        return False
    image = _open_picture(store, pair_id)
    if not engine.lock.acquire(timeout=PATIENCE):
        return False
    try:
        prepare_scorer(store, engine, pair.dataset_id)
        state = engine.scorer.of_pair(engine.encode([image])[0], pair_id)
        complete_trajectories(store, engine, run, pair_id, state, captions[0])
        is_judged = judge_suggestions(store, engine, run, pair, image, state, waiting)
    finally:
        engine.lock.release()
    return is_judged or not captions[0].whole_steps


def check_caption(store: Store, engine: Engine, pair_id: int, caption: str) -> CaptionCheck:
    """Score the curator's own edit of a pair's caption. Raises UnknownPictures for a picture of a
    kind that the model does not know, as scoring does."""
    with store.reading() as session:
        pair = pair_queries.get_pair(session, pair_id)
        run = run_queries.latest_run(session, pair.dataset_id, "score")
    image = _open_picture(store, pair_id)
    check_picture_of(store, engine, pair, image)
    prepare_scorer(store, engine, pair.dataset_id)
    state = engine.encode([image])[0]
    classifier = classifier_in_use(store, pair.dataset_id)
    exploring = exploring_of(run) if run is not None else engine.exploring
    judgement = _judge_text(
        engine, image, state, caption[:LONGEST_EDIT],
        engine.claims(
            caption[:LONGEST_EDIT], division_before(store, pair.dataset_id),
            constants_before(store, pair.dataset_id),
        ), classifier, classifier_captioner(engine, classifier),
        steps_needed_by(classifier, exploring, words=True), pair_id,
    )  # fmt: skip
    scored_caption = judgement.scored
    return CaptionCheck(
        caption=caption,
        s=float(scored_caption.leading.trajectory.scores[0]),
        p_error=judgement.p_error,
        icc=judgement.icc,
        suspects=judgement.suspects,
    )


class _JudgedText(NamedTuple):
    """A text with its claims, and what is stored of a pair otherwise."""

    claims: tuple[Claim, ...]
    scored: ScoredCaption
    p_error: float | None
    icc: float
    suspects: tuple[SuspectWord, ...]


def _judge_text(
    engine: Engine,
    image: Image.Image,
    state: ImageState,
    text: str,
    claims: tuple[Claim, ...],
    classifier: Classifier | None,
    captioner: "Captioner | None",
    exploring: Exploring | None = None,
    pair_id: int | None = None,
) -> _JudgedText:
    """Score a text by its `claims`. `captioner`: whose expectations belong to the trajectories."""
    scored_claims = without_repetitions(claims)
    questions = [claim.question(text) for claim in scored_claims]
    ids = None if pair_id is None else [pair_id] * len(questions)
    trajectories = engine.trajectories([(state, each) for each in questions], ids, exploring)
    with engine.lock:
        trajectories = with_expectations(captioner, [image] * len(questions), trajectories)
    iccs = engine.concreteness(questions)
    scored_caption = ScoredCaption(
        tuple(
            ScoredClaim(claim, trajectory, icc)
            for claim, trajectory, icc in zip(scored_claims, trajectories, iccs, strict=True)
        )
    )
    p_error = None
    if classifier is not None:
        judgements = judge_captions(classifier, [scored_caption])
        p_error = float(judgements.p_error[0])
        of_claims = [p_error] if scored_caption.is_single else judgements.of_claims[0].tolist()
        scored_caption = ScoredCaption(
            tuple(
                replace(claim, p_error=p)
                for claim, p in zip(scored_caption.claims, of_claims, strict=True)
            )
        )
    suspects = [
        word
        for i in scored_caption.deciding
        for word in _suspects(classifier, text, scored_caption.claims[i])
    ]
    return _JudgedText(claims, scored_caption, p_error, sum(iccs) / len(iccs), tuple(suspects))


def _suspects(
    classifier: Classifier | None, text: str, scored_claim: ScoredClaim
) -> list[SuspectWord]:
    """The suspect words of a claim, in characters of its caption."""
    words = []
    for word in suspects_by(classifier, scored_claim.trajectory, scored_claim.p_error):
        start, end = scored_claim.claim.in_caption(text, word.start, word.end)
        words.append(replace(word, start=start, end=end))
    return words


def why_abstract(store: Store, engine: Engine, pair_id: int) -> Abstractness | None:
    """How each word affects the concreteness of a pair's caption; None while the models are
    busy, because a page should not wait for this."""
    caption = store.read(pair_queries.get_pair, pair_id).caption
    if not engine.text_lock.acquire(timeout=PATIENCE):
        return None
    try:
        icc, gains = engine.why_abstract(caption)
    finally:
        engine.text_lock.release()
    return _abstractness(caption, icc, gains)


def _helpful_suggestions(
    caption: str, claim: Claim, suggestions: Sequence[Suggestion]
) -> Iterator[SuggestionView]:
    """The suggestions that are worth an offer, in place of the claim, the best first."""
    before = claim.of(caption)
    helpful = []
    for suggestion in suggestions:
        after = claim.answer(caption, suggestion.caption)
        if after is None:
            continue
        chance, is_offer = worth_of(
            suggestion.proposer, before, after, suggestion.s_after - suggestion.s_before,
            suggestion.p_before, suggestion.p_after,
        )  # fmt: skip
        if is_offer:
            text = claim.replaced_in(caption, after)
            helpful.append((replace(suggestion, caption=text), chance))
    helpful.sort(key=lambda offer: offer[1] or 0.0)
    for number, (suggestion, chance) in enumerate(helpful):
        yield suggestion_view(caption, suggestion, number, chance, doubts=suggestion.doubts)


def play(
    store: Store,
    engine: Engine,
    image: Image.Image,
    caption: str,
    anyway: bool = False,
    dataset_id: int | None = None,
) -> PlaygroundResult:
    """Analyse one image and one caption; nothing is stored. Constant parts of the dataset's
    captions are not read. Raises UnknownPictures for a picture of a kind that the model does not
    know, unless it is scored `anyway`.

    The probability comes from the classifier of the last dataset scored with the same model;
    without one there is no probability, and `p_note` says so.
    """
    if not Caption.parse(caption).words:
        raise SettingsError("Type a caption first.")
    image = images.to_rgb(image)
    is_unfamiliar = False
    try:
        check_picture(engine, image)
    except UnknownPictures:
        if not anyway:
            raise
        is_unfamiliar = True
    text, constants = caption[:LONGEST_EDIT], _constants_of(store, dataset_id)
    with engine.lock:
        state = engine.encode([image])[0]
        classifier_row = _classifier_for_model(store, engine)
        classifier, note = classifier_row if classifier_row is not None else (None, "")
        judgement = _judge_text(
            engine, image, state, text, engine.claims(text, "auto", constants), classifier,
            engine.captioner,
        )  # fmt: skip
        leading = judgement.scored.leading
        trajectory = leading.trajectory
        suspects = suspects_by(classifier, trajectory, leading.p_error)
        suggestions: Sequence[Suggestion] = ()
        if not is_unfamiliar:
            (suggestions,) = judge.suggest_all(
                engine.scorer,
                [
                    CorrectionContext(
                        image, state, trajectory, suspects, leading.p_error, claim=leading.claim
                    )
                ],
                engine.captioner,
                judging(classifier),
                suspects_of=doubting(classifier),
                exploring=steps_needed_by(classifier, engine.exploring),
                classifier_captioner=classifier_captioner(engine, classifier),
            )
        icc, words = engine.why_abstract(blank_out(caption, constants))
        phrases = _phrases(engine, state, blank_out(text, constants))
    info = engine.scorer.info
    claims = _claim_views(judgement) if not judgement.scored.is_single else ()
    return PlaygroundResult(
        caption=caption,
        s_0=float(trajectory.scores[0]),
        p_error=judgement.p_error,
        p_note=note or "no probability: no dataset has been scored with this model yet",
        icc=judgement.icc,
        looks_abstract=looks_abstract(judgement.icc),
        truncated=any(claim.trajectory.truncated for claim in judgement.scored.claims),
        suspects=judgement.suspects,
        trajectory=trajectory,
        suggestions=tuple(_helpful_suggestions(text, leading.claim, suggestions)),
        scored_by=f"{info.kind} · {Path(info.model).name}",
        limits=info.limits if is_unfamiliar or not Familiarity.is_of(info.model) else "",
        abstractness=_abstractness(caption, icc, words),
        phrases=phrases,
        claims=claims,
        selected=judgement.claims.index(leading.claim),
        is_unfamiliar=is_unfamiliar,
    )


def _constants_of(store: Store, dataset_id: int | None) -> tuple[ConstantPart, ...]:
    return constants_before(store, dataset_id) if dataset_id is not None else ()


def _claim_views(text: _JudgedText) -> tuple[ClaimView, ...]:
    """The claims of a text that has several."""
    scored_of = {scored_claim.claim: scored_claim for scored_claim in text.scored.claims}
    views = []
    for claim in text.claims:
        scored_claim = scored_of.get(claim)
        scores = scored_claim.trajectory.scores if scored_claim else None
        views.append(
            ClaimView(
                claim.start, claim.end, claim.kind, claim.repeats,
                numbers={
                    "s_0": float(scores[0]) if scores is not None else None,
                    "gain": float(scores.max() - scores[0]) if scores is not None else None,
                    "icc": scored_claim.icc if scored_claim else None,
                    "p_error": scored_claim.p_error if scored_claim else None,
                },
                is_vague=scored_claim is not None and is_vague(scored_claim.icc),
                can_be_wrong=scored_claim is not None and scored_claim.says_something,
                words_read=len(scored_claim.trajectory.first_step_scores) if scored_claim else None,
                subject=claim.subject,
            )
        )  # fmt: skip
    return tuple(views)


def _phrases(engine: Engine, state: ImageState, caption: str) -> tuple[PhraseView, ...] | None:
    """The caption's phrases with their support; None with a scorer that compares pairs. A model's
    nonsense words are generated on first use, which takes a few seconds."""
    try:
        pools = nonce_pools(engine)
    except SettingsError:
        return None
    (scores,) = phrase_scores(engine, pools, [(state, caption)])
    return tuple(
        PhraseView(score.phrase.start, score.phrase.end, score.phrase.kind, score.pas, score.spread)
        for score in scores
    )


def _open_picture(store: Store, pair_id: int) -> Image.Image:
    return images.load_image(image_path(store, pair_id))


def _classifier_for_model(store: Store, engine: Engine) -> tuple[Classifier | None, str] | None:
    """The classifier in use of the newest dataset that was scored with this session's model."""
    info = engine.scorer.info
    with store.reading() as session:
        for dataset in reversed(dataset_queries.list_datasets(session)):
            run = run_queries.latest_run(session, dataset.id, "score")
            row = classifier_queries.active(session, dataset.id)
            if run is not None and row is not None and run.revision == info.revision:
                break
        else:
            return None
    classifier = classifier_in_use(store, dataset.id)
    return classifier, f"{basis_of(0.5, row)}, dataset '{dataset.name}'"


def _abstractness(caption: str, icc: float, words: Sequence[Contribution]) -> Abstractness:
    return Abstractness(caption, icc, tuple((w.start, w.end, w.gain) for w in words))
