"""What the models say of one pair, or of one picture and a caption, while somebody waits."""

from collections.abc import Sequence
from pathlib import Path

from PIL import Image

from backend import concreteness
from backend.captions import Caption
from backend.correction import judge
from backend.correction.suggestion import Case
from backend.datasets import images
from backend.datasets.containers import ImageFile, locate
from backend.detection.classifier import Classifier
from backend.detection.localisation import suspect_words
from backend.engine import Engine
from backend.errors import SettingsError
from backend.pipeline import correcting, no_progress, scoring
from backend.pipeline.classifiers import classifier_in_use, judging, probabilities
from backend.pipeline.neighbours import prepare_neighbours
from backend.pipeline.offers import shown
from backend.pipeline.pair_view import basis_of, looks_abstract, view_of
from backend.store import Store
from backend.trajectories.exploring import Exploring
from backend.trajectories.trajectory import Trajectory
from backend.views import Abstractness, CaptionCheck, PlaygroundResult, SuggestionView
from db.queries import classifiers as classifier_queries
from db.queries import datasets as dataset_queries
from db.queries import pairs as pair_queries
from db.queries import runs as run_queries
from db.queries.queue import QueueFilter

#: A curator's own edit may be long, but not a book.
LONGEST_EDIT = 20_000
#: Seconds that a page waits for the models before it does without.
PATIENCE = 5.0


def image_path(store: Store, pair_id: int) -> ImageFile:
    """The pair's image, checked to lie inside its dataset's root."""
    with store.reading() as session:
        pair = pair_queries.get_pair(session, pair_id)
        dataset = dataset_queries.get_dataset(session, pair.dataset_id)
    return locate(Path(dataset.root), pair.image_path)


def suggest(store: Store, engine: Engine, pair_id: int) -> tuple[SuggestionView, ...]:
    """Corrections for one pair: those in the store, or computed now and stored; those of a
    vision-language model as well, if this session has been given one."""
    view = view_of(store, pair_id)
    with store.reading() as session:
        run = run_queries.latest_run(session, view.dataset_id, "score")
    if run is None or view.trajectory is None:
        return view.suggestions
    if not view.suggestions:
        prepare_neighbours(store, engine, view.dataset_id, no_progress)
        scoring.suggest_for(
            store,
            engine,
            run.id,
            pair_id,
            _opened(store, pair_id),
            view.trajectory,
            view.suspects,
            view.p_error,
            classifier_in_use(store, view.dataset_id),
            scoring.exploring_of(run),
        )
    if (corrector := engine.corrector) is not None:
        only = QueueFilter(view.dataset_id, among=(pair_id,))
        correcting.correct(store, engine, only, corrector)
    return view_of(store, pair_id).suggestions


def check_caption(store: Store, engine: Engine, pair_id: int, caption: str) -> CaptionCheck:
    """Score the curator's own edit of a pair's caption."""
    with store.reading() as session:
        pair = pair_queries.get_pair(session, pair_id)
    prepare_neighbours(store, engine, pair.dataset_id, no_progress)
    state = engine.encode([_opened(store, pair_id)])[0]
    (trajectory,) = engine.trajectories(
        [(state, caption[:LONGEST_EDIT])], [pair_id], _exploring(store, pair.dataset_id)
    )
    p_error = _p_error(store, pair.dataset_id, trajectory)
    return CaptionCheck(
        caption=caption,
        s=float(trajectory.scores[0]),
        p_error=p_error,
        icc=engine.concreteness([caption])[0],
        suspects=suspect_words(trajectory, p_error),
    )


def why_abstract(store: Store, engine: Engine, pair_id: int) -> Abstractness | None:
    """What each word does to the concreteness of a pair's caption; None while the models are
    busy with something else: a page does not wait for that."""
    with store.reading() as session:
        caption = pair_queries.get_pair(session, pair_id).caption
    if not engine.text_lock.acquire(timeout=PATIENCE):
        return None
    try:
        icc, found = engine.why_abstract(caption)
    finally:
        engine.text_lock.release()
    return _abstractness(caption, icc, found)


def _exploring(store: Store, dataset_id: int) -> Exploring | None:
    """How the dataset's trajectories were made; None if it has none yet."""
    with store.reading() as session:
        run = run_queries.latest_run(session, dataset_id, "score")
    return scoring.exploring_of(run) if run is not None else None


def play(store: Store, engine: Engine, image: Image.Image, caption: str) -> PlaygroundResult:
    """One image, one caption, everything out; nothing is stored.

    The probability comes from the classifier of the dataset scored last with this very model;
    without one there is none, and `p_note` says so.
    """
    if not Caption.parse(caption).words:
        raise SettingsError("Type a caption first: it has no words yet.")
    image = images.to_rgb(image)
    with engine.lock:
        state = engine.encode([image])[0]
        trajectory = engine.trajectories([(state, caption[:LONGEST_EDIT])])[0]
        found = _classifier_for_model(store, engine)
        classifier, note = found if found is not None else (None, "")
        p_error = probabilities(classifier, [trajectory])[0] if classifier else None
        suspects = suspect_words(trajectory, p_error)
        offers = judge.suggest(
            engine.scorer,
            Case(image, state, trajectory, suspects, p_error),
            engine.captioner,
            judging(classifier),
            exploring=engine.exploring,
        )
        icc, words = engine.why_abstract(caption)
    info = engine.scorer.info
    return PlaygroundResult(
        caption=caption,
        s_0=float(trajectory.scores[0]),
        p_error=p_error,
        p_note=note or "no probability: no dataset has been scored with this model yet",
        icc=icc,
        looks_abstract=looks_abstract(icc),
        truncated=trajectory.truncated,
        suspects=suspects,
        trajectory=trajectory,
        suggestions=tuple(shown(caption, offer, n) for n, offer in enumerate(offers)),
        scored_by=f"{info.kind} · {Path(info.model).name}",
        limits=info.limits,
        abstractness=_abstractness(caption, icc, words),
    )


def _opened(store: Store, pair_id: int) -> Image.Image:
    return images.load_image(image_path(store, pair_id))


def _p_error(store: Store, dataset_id: int, trajectory: Trajectory) -> float | None:
    classifier = classifier_in_use(store, dataset_id)
    return probabilities(classifier, [trajectory])[0] if classifier is not None else None


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


def _abstractness(
    caption: str, icc: float, words: Sequence[concreteness.Contribution]
) -> Abstractness:
    return Abstractness(caption, icc, tuple((w.start, w.end, w.gain) for w in words))
