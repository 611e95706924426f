"""Stage of scoring: the captioner's expectation of every word.

One forward pass per caption, stored with the trajectories and committed batch by batch, so that a
kill loses at most one batch. Without a captioner nothing is done, and earlier results are kept.
"""

from collections.abc import Iterator
from pathlib import Path

from PIL import Image

from backend.jobs.image_batches import open_ahead
from backend.jobs.scoring_stages import CAPTIONER
from backend.jobs.stored_expectations import to_row
from backend.loaded_models import Engine
from backend.progress import Progress
from backend.store import Store
from db.queries import expectations as queries
from db.queries import pairs as pair_queries
from db.queries.pairs import PairRow
from db.queries.runs import RunRow

#: Pairs read and committed together.
BATCH = 96


def remember_expectations(
    store: Store, engine: Engine, run: RunRow, root: Path, total: int, progress: Progress
) -> int:
    """Compute the expectations that this captioner lacks under this run; returns how many."""
    captioner = engine.captioner
    if captioner is None:
        return 0
    with store.reading() as session:
        unread = queries.count_unexpected(session, run.id, captioner.identity)
    before = max(0, total - unread)
    done = 0
    for batch, opened in open_ahead(root, _waiting(store, run, captioner.identity)):
        readable = [p for p in batch if isinstance(opened[p.image_path], Image.Image)]
        asked = [(opened[pair.image_path], pair.caption) for pair in readable]
        computed = engine.expectations(asked)  # type: ignore[arg-type]  # pictures, as just checked
        with store.writing() as session:
            queries.save_expectations(
                session,
                run.id,
                {
                    pair.id: to_row(expectation)
                    for pair, expectation in zip(readable, computed, strict=True)
                },
            )
        done += len(readable)
        progress(min(before + done, total), total, CAPTIONER.name)
    return done


def _waiting(store: Store, run: RunRow, captioner: str) -> Iterator[list[PairRow]]:
    after = 0
    while True:
        with store.reading() as session:
            ids = queries.unexpected(session, run.id, captioner, after, BATCH)
            batch = pair_queries.pairs_of(session, ids)
        if not ids:
            return
        after = ids[-1]
        if batch:
            yield batch
