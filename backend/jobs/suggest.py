"""Stage of scoring: corrections for the pairs most likely to be wrong, and for one pair."""

import time
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from pathlib import Path

from PIL import Image

from backend.datasets.containers import locate
from backend.datasets.images import load_image
from backend.engine import memory
from backend.engine.correction import judge
from backend.engine.correction.suggestion import CorrectionContext
from backend.engine.detection.classifier import Classifier
from backend.engine.detection.types import SuspectWord
from backend.engine.trajectories.exploring import Exploring
from backend.engine.trajectories.trajectory import Trajectory
from backend.errors import ImageError, UnsafePath
from backend.jobs.classifiers import (
    as_far_as_read,
    classifier_in_use,
    judging,
    listened_to,
    suspects_by,
)
from backend.jobs.scoring_stages import CORRECTIONS
from backend.jobs.stored_suggestions import to_save
from backend.jobs.stored_trajectories import exploring_of, to_trajectory
from backend.loaded_models import Engine
from backend.progress import Progress
from backend.store import Store
from db.queries import pairs as pair_queries
from db.queries import suggestions as suggestion_queries
from db.queries import trajectories as trajectory_queries
from db.queries.pairs import PairRow
from db.queries.runs import RunRow
from db.queries.suggestions import Attempt

#: Corrections are prepared for pairs at least this likely to be wrong.
SUGGEST_ABOVE = 0.5
#: Share of a dataset that looks wrong to its detector where nothing is known yet.
USUAL_SHARE = 0.3
#: Pairs processed and committed together: at least, and at most as long as it takes less than
#: `_HELD` seconds, because pages that need the models wait meanwhile.
TOGETHER, MOST_TOGETHER = 8, 32
_HELD = 2.0
#: Corrections of a pair whose probability of error is computed ahead: it takes a trajectory each,
#: and the others get theirs when somebody looks at the pair (`jobs/later_steps.py`).
JUDGED_AHEAD = 1
#: Maximum number of pairs, most likely wrong first; the others get theirs when they are opened.
SUGGEST_AT_MOST = 1000


def likely_wrong(store: Store, dataset_id: int) -> list[int]:
    """Ids of the pairs for which corrections are prepared."""
    with store.reading() as session:
        likely = pair_queries.most_likely_wrong(session, dataset_id, SUGGEST_ABOVE, SUGGEST_AT_MOST)
    return [pair.id for pair in likely]


def suggest_likely(
    store: Store, engine: Engine, run: RunRow, root: Path, progress: Progress
) -> int:
    """Corrections for the pairs most likely to be wrong that have none yet."""
    dataset_id = run.dataset_id or 0
    classifier = classifier_in_use(store, dataset_id)
    with store.reading() as session:
        likely = pair_queries.most_likely_wrong(session, dataset_id, SUGGEST_ABOVE, SUGGEST_AT_MOST)
    # Only if needed, because it loads the captioner.
    proposer = _prepared_by(engine, classifier) if likely else ""
    suggested = done = 0
    together = TOGETHER
    while done < len(likely):
        progress(done, len(likely), CORRECTIONS.name)
        begun = time.monotonic()
        contexts = _contexts(
            store, engine, run, root, likely[done : done + together], classifier, proposer,
        )  # fmt: skip
        suggested += _suggest(
            store, engine, run.id, contexts, classifier, exploring_of(run), proposer, JUDGED_AHEAD
        )
        done += together
        together = _next_size(together, time.monotonic() - begun)
    progress(len(likely), len(likely), CORRECTIONS.name)
    return suggested


def _next_size(together: int, seconds: float) -> int:
    """How many pairs to process together after so many took so long.

    >>> _next_size(8, 0.5), _next_size(32, 0.5), _next_size(16, 1.5), _next_size(32, 3.0)
    (16, 32, 16, 16)
    """
    if seconds > _HELD:
        return max(TOGETHER, together // 2)
    return min(MOST_TOGETHER, 2 * together) if seconds < _HELD / 2 else together


def _contexts(
    store: Store,
    engine: Engine,
    run: RunRow,
    root: Path,
    pairs: Sequence[PairRow],
    classifier: Classifier | None,
    proposer: str,
) -> dict[int, CorrectionContext]:
    """Contexts by pair, of pairs that have a trajectory, a readable image and no suggestions yet,
    and for which `proposer` has not already failed to find any."""
    with store.reading() as session:
        known = suggestion_queries.attempted(session, [pair.id for pair in pairs], proposer, run.id)
        stored = trajectory_queries.trajectories_of(session, run.id, [pair.id for pair in pairs])
        waiting = [
            pair for pair in pairs
            if pair.id in stored
            and pair.id not in known
            and not suggestion_queries.list_suggestions(session, pair.id, run.id)
        ]  # fmt: skip
    images: dict[int, Image.Image] = {}
    for pair in waiting:
        try:
            images[pair.id] = load_image(locate(root, pair.image_path))
        except (ImageError, UnsafePath, OSError):
            continue
    with engine.lock:
        encoded = dict(zip(images, engine.encode(list(images.values())), strict=True))
    contexts = {}
    for pair in waiting:
        if pair.id in images:
            trajectory = to_trajectory(pair.caption, stored[pair.id])
            suspects = suspects_by(classifier, trajectory, pair.p_error)
            state = engine.scorer.of_pair(encoded[pair.id], pair.id)
            contexts[pair.id] = CorrectionContext(
                images[pair.id], state, trajectory, suspects, pair.p_error
            )
    return contexts


def suggest_for(
    store: Store,
    engine: Engine,
    run_id: int | None,
    pair_id: int,
    image: Image.Image,
    trajectory: Trajectory,
    suspects: tuple[SuspectWord, ...],
    p_error: float | None,
    classifier: Classifier | None,
    exploring: Exploring | None = None,
) -> int:
    """Compute and store the suggestions of one pair; returns how many."""
    with engine.lock:
        state = engine.scorer.of_pair(engine.encode([image])[0], pair_id)
    context = CorrectionContext(image, state, trajectory, suspects, p_error)
    return _suggest(store, engine, run_id, {pair_id: context}, classifier, exploring)


def _suggest(
    store: Store,
    engine: Engine,
    run_id: int | None,
    contexts: Mapping[int, CorrectionContext],
    classifier: Classifier | None,
    exploring: Exploring | None,
    proposer: str = "",
    judged: int | None = None,
) -> int:
    """Compute and store the suggestions of each pair; returns how many. `proposer`: the name
    under which it is recorded that there is nothing to suggest; "": not recorded. `judged`: as in
    `judge.suggest_all`."""
    if not contexts:
        return 0
    with engine.lock:
        suggested = judge.suggest_all(
            engine.scorer,
            list(contexts.values()),
            engine.captioner,
            judging(classifier),
            exploring=as_far_as_read(classifier, exploring or engine.exploring),
            listened_to=listened_to(engine, classifier),
            judged=judged,
        )
    memory.give_back()
    rows = [
        to_save(pair_id, suggestion, run_id)
        for pair_id, suggestions in zip(contexts, suggested, strict=True)
        for suggestion in suggestions
    ]
    with store.writing() as session:
        suggestion_queries.save_suggestions(session, rows)
        if run_id is not None and proposer:
            for pair_id, suggestions in zip(contexts, suggested, strict=True):
                if not suggestions:
                    suggestion_queries.save_attempt(
                        session, Attempt(pair_id, proposer, run_id, "no better")
                    )
    return len(rows)


def _prepared_by(engine: Engine, classifier: Classifier | None) -> str:
    """The name of attempts; it depends on captioner and classifier, whose proposals may differ."""
    captioner = engine.captioner
    digest = blake2b(str(captioner.name if captioner is not None else "").encode(), digest_size=8)
    digest.update(classifier.to_bytes() if classifier is not None else b"")
    return f"prepared {digest.hexdigest()}"
