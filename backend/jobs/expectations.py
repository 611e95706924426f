"""Stage of scoring: the captioner's expectation of every word.

One forward pass per caption, stored with the trajectories. Without a captioner nothing is done, and
earlier results are kept.
"""

from collections.abc import Iterator, Sequence

from PIL import Image

from backend.engine.expectation import Expectation
from backend.jobs.stage import Sample, Stage
from backend.jobs.stored_trajectories import expectation_row
from backend.jobs.workers import Opened, Task
from backend.loaded_models import Engine
from db.queries import expectation_queries as queries
from db.queries import pairs as pair_queries
from db.queries.pairs import PairCaption

#: Pairs read and committed together.
BATCH = 96


class Expectations(Stage):
    """What this captioner lacks under this run."""

    name = "What the captioner expects"
    part = "captioner_seconds"

    def remaining(self) -> int:
        scoring = self.scoring
        if (captioner := scoring.engine.captioner) is None:
            return 0
        with scoring.store.reading() as session:
            unread = queries.count_unexpected(session, scoring.run_id, captioner.identity)
            if not self.has_begun:
                unread += pair_queries.count_unscored(session, scoring.dataset_id, scoring.run_id)
        return unread

    def seconds(self, sample: Sample) -> float:
        return sample.captioner_seconds

    def batches(self) -> Iterator[list[PairCaption]]:
        scoring = self.scoring
        captioner, run_id = scoring.engine.captioner, scoring.run_id
        if captioner is None:
            return
        for batch in scoring.store.batches(
            lambda session, after: pair_queries.pairs_of(
                session, queries.unexpected(session, run_id, captioner.identity, after, BATCH)
            )
        ):
            yield [PairCaption(pair.id, pair.image_path, pair.caption) for pair in batch]

    def task(self) -> Task[PairCaption, dict[int, Expectation]]:
        return _read

    def save(self, batch: Sequence[PairCaption], result: dict[int, Expectation]) -> None:
        rows = {pair_id: expectation_row(expectation) for pair_id, expectation in result.items()}
        with self.scoring.store.writing() as session:
            queries.save_expectations(session, self.scoring.run_id, rows)


def _read(engine: Engine, batch: Sequence[PairCaption], opened: Opened) -> dict[int, Expectation]:
    """Expectations by pair, of pairs whose picture can be read."""
    readable = [
        (pair.pair_id, image, pair.caption)
        for pair in batch
        if isinstance(image := opened[pair.image_path], Image.Image)
    ]
    computed = engine.expectations([(image, caption) for _, image, caption in readable])
    return dict(zip((pair_id for pair_id, *_ in readable), computed, strict=True))
