"""Interactive model queries about one pair."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from PIL import Image

from backend import plugins
from backend.datasets.safe_files import images
from backend.datasets.safe_files.containers import locate
from backend.engine.claims.claim import Claim, without_repetitions
from backend.engine.claims.scored_caption import ScoredCaption, ScoredClaim
from backend.engine.concreteness.scoring import Contribution
from backend.engine.detection.classifier import Classifier
from backend.engine.detection.judged_captions import judge_captions
from backend.engine.detection.types import SuspectWord
from backend.engine.languages.foreign import foreign_language
from backend.engine.scoring.protocol import ImageState
from backend.engine.trajectories.exploring import Exploring
from backend.engine.trajectories.word_expectations import with_expectations
from backend.jobs.scoring.classifiers import (
    classifier_captioner,
    classifier_in_use,
    complete_trajectories,
    judge_suggestions,
    steps_needed_by,
    unjudged_suggestions,
)
from backend.jobs.scoring.dataset_constants import constants_in
from backend.jobs.scoring.dataset_models import division_before, languages_read
from backend.jobs.scoring.dataset_pairs import prepare_scorer
from backend.jobs.scoring.detect import suspects_in
from backend.jobs.scoring.known_pictures import check_picture_of
from backend.jobs.scoring.stored_rows import exploring_of, scored_pairs
from backend.jobs.scoring.suggest import suggest_for
from backend.loaded_models import Engine
from backend.review.pair import view_of
from backend.review.verdicts import LONGEST_EDIT
from backend.review.views import (
    Abstractness,
    CaptionCheck,
    SuggestionView,
)
from backend.store import Store
from db.queries import dataset_queries, pair_queries, run_queries
from db.queries.dataset_queries import DatasetRow
from db.queries.pair_queries import PairRow

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
    with store.reading() as session:
        pair, dataset = dataset_queries.pair_and_dataset(session, pair_id)
        run = run_queries.latest_run(session, dataset.id, "score")
    if not view.caption and not view.suggestions.corrections:
        check_picture_of(store, engine, dataset, run, pair, _open_picture(dataset, pair))
    if run is None or view.opinion.trajectory is None:
        return view.helpful_suggestions
    if view.suggestions.corrections:
        complete(store, engine, pair_id)
    else:
        if not view.opinion.trajectory.whole and complete(store, engine, pair_id):
            view = view_of(store, pair_id, claim=claim)
        assert view.opinion.trajectory is not None
        prepare_scorer(store, engine, dataset.id)
        classifier = classifier_in_use(store, dataset.id)
        image = _open_picture(dataset, pair)
        start = view.claim.start if view.claim is not None else None
        suggest_for(store, engine, run, pair_id, image, classifier, start)
    for source in plugins.load("suggestion_sources", SuggestionSource):
        source.suggest(store, engine, dataset.id, pair_id)
    return view_of(store, pair_id, claim=claim).helpful_suggestions


def complete(store: Store, engine: Engine, pair_id: int) -> bool:
    """Compute and store what is deferred until a pair is opened: the later steps of a trajectory
    of which only the first is known, and the probabilities of corrections. Returns whether anything
    has changed. Gives up while the models are busy, because a page should not wait."""
    with store.reading() as session:
        pair, dataset = dataset_queries.pair_and_dataset(session, pair_id)
        run = run_queries.latest_run(session, dataset.id, "score")
    if run is None:
        return False
    _, captions = scored_pairs(store, run, [pair_id])
    if not captions:
        return False
    waiting = unjudged_suggestions(store, run, pair_id)
    if captions[0].whole_steps and not waiting:
        return False
    image = _open_picture(dataset, pair)
    if not engine.lock.acquire(timeout=PATIENCE):
        return False
    try:
        prepare_scorer(store, engine, dataset.id)
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
        pair, dataset = dataset_queries.pair_and_dataset(session, pair_id)
        run = run_queries.latest_run(session, dataset.id, "score")
    image = _open_picture(dataset, pair)
    check_picture_of(store, engine, dataset, run, pair, image)
    prepare_scorer(store, engine, dataset.id)
    state = engine.encode([image])[0]
    classifier = classifier_in_use(store, dataset.id)
    exploring = exploring_of(run) if run is not None else engine.exploring
    judgement = judge_text(
        engine, image, state, caption[:LONGEST_EDIT],
        engine.claims(
            caption[:LONGEST_EDIT], division_before(dataset), constants_in(dataset.models)
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
        unread_language=foreign_language(caption, languages_read(run)),
    )


class JudgedText(NamedTuple):
    """A text with its claims, and what is stored of a pair otherwise."""

    claims: tuple[Claim, ...]
    scored: ScoredCaption
    p_error: float | None
    icc: float
    suspects: tuple[SuspectWord, ...]


def judge_text(
    engine: Engine,
    image: Image.Image,
    state: ImageState,
    text: str,
    claims: tuple[Claim, ...],
    classifier: Classifier | None,
    captioner: "Captioner | None",
    exploring: Exploring | None = None,
    pair_id: int | None = None,
) -> JudgedText:
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
    chances = [claim.p_error for claim in scored_caption.claims]
    suspects = suspects_in(classifier, text, scored_caption, p_error, chances)
    return JudgedText(claims, scored_caption, p_error, sum(iccs) / len(iccs), tuple(suspects))


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
    return abstractness_view(caption, icc, gains)


def _open_picture(dataset: DatasetRow, pair: PairRow) -> Image.Image:
    return images.load_image(locate(Path(dataset.root), pair.image_path))


def abstractness_view(caption: str, icc: float, words: Sequence[Contribution]) -> Abstractness:
    """The concreteness of a caption, and what each word adds to it."""
    return Abstractness(caption, icc, tuple((w.start, w.end, w.gain) for w in words))
