"""Everything about one pair as pages show it, from the store alone: fast, no model is asked."""

from collections.abc import Sequence
from pathlib import Path

from backend import concreteness
from backend.datasets import images
from backend.datasets.containers import locate
from backend.errors import ImageError, UnsafePath
from backend.pipeline.offers import in_order, shown
from backend.pipeline.scoring import to_suspects, to_trajectory
from backend.store import Store
from backend.views import Likeness, PairView, VerdictView
from db.queries import classifiers as classifier_queries
from db.queries import datasets as dataset_queries
from db.queries import detections as detection_queries
from db.queries import pairs as pair_queries
from db.queries import queue as queue_queries
from db.queries import runs as run_queries
from db.queries import signals as signal_queries
from db.queries import suggestions as suggestion_queries
from db.queries import trajectories as trajectory_queries
from db.queries import verdicts as verdict_queries
from db.queries import word_marks as word_mark_queries
from db.queries.classifiers import ClassifierRow
from db.queries.datasets import DatasetRow
from db.queries.suggestions import SuggestionRow


def view_of(
    store: Store, pair_id: int, reader: str | None = None, corrector: str | None = None
) -> PairView:
    """Everything about one pair, from the store alone: fast, no model is asked.

    To a `reader` whose own opinion the pair waits for, it shows nothing of what others said.
    `corrector`: the vision-language model that may be asked, if there is one.
    """
    with store.reading() as session:
        pair = pair_queries.get_pair(session, pair_id)
        dataset = dataset_queries.get_dataset(session, pair.dataset_id)
        stored = trajectory_queries.get_trajectory(session, pair_id)
        detection = detection_queries.get_detection(session, pair_id)
        history = verdict_queries.history(session, pair_id)
        run = run_queries.latest_run(session, pair.dataset_id, "score")
        offers = suggestion_queries.list_suggestions(session, pair_id, run.id if run else None)
        classifier = classifier_queries.active(session, pair.dataset_id)
        marks = word_mark_queries.of_pair(session, pair_id)
        word, kind = pair.suspect_word, pair.suspect_kind
        alike = signal_queries.suspects_like(session, pair.dataset_id, word, kind)
        blind = reader is not None and queue_queries.waits_for(
            session, pair_id, reader, dataset.overlap_share, dataset.overlap_people
        )
    trajectory = to_trajectory(pair.caption, stored) if stored is not None else None
    return PairView(
        pair_id=pair.id,
        dataset_id=pair.dataset_id,
        external_id=pair.external_id,
        caption=pair.caption,
        split=pair.split,
        image_name=pair.image_path,
        image_size=_image_size(dataset, pair.image_path),
        version=pair.verdict_version,
        decision=None if blind else pair.decision,
        corrected_caption=None if blind else pair.corrected_caption,
        s_0=pair.s_0,
        gain=pair.gain,
        p_error=pair.p_error,
        icc=pair.icc,
        looks_abstract=looks_abstract(pair.icc),
        truncated=bool(pair.truncated),
        words_read=len(trajectory.first_step_scores) if trajectory is not None else None,
        suspects=to_suspects(detection) if detection is not None else (),
        trajectory=trajectory,
        wrong_words=() if blind else tuple(marks),
        likeness=Likeness(word, kind, *alike),
        disagreement=pair.disagreement,
        may_ask=_may_ask(corrector, offers),
        suggestions=tuple(
            shown(pair.caption, row, row.id, row.provenance)
            for row in in_order(pair.caption, offers)
        ),
        basis=basis_of(pair.p_error, classifier),
        scored_by=f"{run.scorer_kind} · {Path(run.model).name}" if run is not None else "",
        limits=str(run.parameters.get("limits", "")) if run is not None else "",
        history=tuple(
            VerdictView(v.decision, v.corrected_caption, v.author, v.created_at)
            for v in history
            if not blind
        ),
    )


def _may_ask(corrector: str | None, offers: Sequence[SuggestionRow]) -> str:
    """The session's corrector, unless it has offered something already."""
    name = Path(corrector or "").name
    return "" if any(one.proposer.startswith(name[:40]) for one in offers if name) else name


def _image_size(dataset: DatasetRow, relative: str) -> tuple[int, int] | None:
    """Width and height, or None if the image is gone: the page says so instead of failing."""
    try:
        return images.image_size(locate(Path(dataset.root), relative))
    except (ImageError, UnsafePath, OSError):
        return None


def looks_abstract(icc: float | None) -> bool:
    return icc is not None and icc < concreteness.ABSTRACT_THRESHOLD


def basis_of(p_error: float | None, classifier: ClassifierRow | None) -> str:
    """What a shown probability rests on, in words."""
    if p_error is None or classifier is None:
        return "not scored yet"
    verdicts = int(classifier.report.get("verdicts", 0))
    if verdicts:
        return f"{verdicts} verdicts and injected noise"
    return str(classifier.report.get("basis_note") or "injected noise, no verdicts yet")
