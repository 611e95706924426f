"""Stage of scoring: the captioner's expectation of every word.

One forward pass per caption, stored with the trajectories and committed batch by batch, so that a
kill loses at most one batch. Without a captioner nothing is done, and earlier results are kept.
"""

from collections.abc import Iterator, Sequence

from PIL import Image

from backend.engine.expectation import Expectation
from backend.jobs.scoring_stages import CAPTIONER
from backend.jobs.stored_expectations import to_row
from backend.jobs.workers import Opened, Question, Workers
from backend.loaded_models import Engine
from backend.progress import Progress
from backend.store import Store
from db.queries import expectations as queries
from db.queries import pairs as pair_queries
from db.queries.runs import RunRow

#: Pairs read and committed together.
BATCH = 96


def remember_expectations(
    store: Store, workers: Workers, run: RunRow, total: int, progress: Progress
) -> int:
    """Compute the expectations that this captioner lacks under this run; returns how many."""
    captioner = workers.engine.captioner
    if captioner is None:
        return 0
    with store.reading() as session:
        unread = queries.count_unexpected(session, run.id, captioner.identity)
    before = max(0, total - unread)
    done = 0
    for _, computed in workers.map(_read, _waiting(store, run, captioner.identity)):
        rows = {pair_id: to_row(expectation) for pair_id, expectation in computed.items()}
        with store.writing() as session:
            queries.save_expectations(session, run.id, rows)
        done += len(rows)
        progress(min(before + done, total), total, CAPTIONER.name)
    return done


def _read(engine: Engine, batch: Sequence[Question], opened: Opened) -> dict[int, Expectation]:
    """Expectations by pair, of pairs whose picture can be read."""
    readable = [
        (pair.pair_id, image, pair.caption)
        for pair in batch
        if isinstance(image := opened[pair.image_path], Image.Image)
    ]
    computed = engine.expectations([(image, caption) for _, image, caption in readable])
    return dict(zip((pair_id for pair_id, *_ in readable), computed, strict=True))


def _waiting(store: Store, run: RunRow, captioner: str) -> Iterator[list[Question]]:
    after = 0
    while True:
        with store.reading() as session:
            ids = queries.unexpected(session, run.id, captioner, after, BATCH)
            batch = pair_queries.pairs_of(session, ids)
        if not ids:
            return
        after = ids[-1]
        if batch:
            yield [Question(pair.id, pair.image_path, pair.caption) for pair in batch]
