"""Stages of scoring for which a captioner is needed: what it expects of every word, and a new
caption, as a suggestion, for every picture without one. Without a captioner nothing is done, and
earlier results are kept.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from PIL import Image

from backend.engine.correction.recaption import PROPOSER, in_form
from backend.engine.expectation import Expectation
from backend.jobs.scoring.image_batches import readable
from backend.jobs.scoring.stage import BatchStage, Sample
from backend.jobs.scoring.stored_rows import expectation_row, scored_claims
from backend.jobs.scoring.workers import Opened, Task
from backend.loaded_models import Engine
from db.queries import claim_queries, pair_queries, suggestion_queries, trajectory_queries
from db.queries.pair_queries import PairCaption
from db.queries.statements import chunks
from db.queries.suggestion_queries import NewSuggestion

#: Pairs whose words are read and committed together.
BATCH = 96
#: Pictures that are described and committed together.
_TOGETHER = 8


class _Unread(NamedTuple):
    """A claim that the captioner has not read: `start`: where it begins in the caption of its
    pair."""

    pair_id: int
    image_path: str
    start: int
    text: str


class Expectations(BatchStage):
    """The captioner's expectation of every word: what this captioner lacks under this run. One
    forward pass per caption, stored with the trajectories."""

    name = "Asking the captioner"
    part = "captioner_seconds"
    usual_cost = 0.2

    def remaining(self) -> int:
        scoring = self.scoring
        if (captioner := scoring.engine.captioner) is None:
            return 0
        with scoring.store.reading() as session:
            unread = trajectory_queries.count_unexpected(
                session, scoring.run_id, captioner.identity
            )
            if not self.has_begun:
                unread += pair_queries.count_unscored(session, scoring.dataset_id, scoring.run_id)
        return unread

    def seconds(self, sample: Sample) -> float:
        return sample.captioner_seconds

    def batches(self) -> Iterator[list[_Unread]]:
        scoring = self.scoring
        captioner, run_id = scoring.engine.captioner, scoring.run_id
        if captioner is None:
            return
        size = scoring.workers.batch_size(BATCH)
        for batch in scoring.store.batches(
            lambda session, after: pair_queries.pairs_of(
                session,
                trajectory_queries.without_expectation(
                    session, run_id, captioner.identity, after, size
                ),
            )
        ):
            with scoring.store.reading() as session:
                rows = trajectory_queries.trajectories_of(
                    session, run_id, [pair.id for pair in batch]
                )
                claims = claim_queries.claims_of(session, [pair.id for pair in batch])
            yield [
                _Unread(pair.id, pair.image_path, claim.start, claim.question(pair.caption))
                for pair in batch
                for claim in scored_claims(
                    pair.caption, rows.get(pair.id, ()), claims.get(pair.id, ())
                )
            ]

    def task(self) -> Task[_Unread, dict[tuple[int, int], Expectation]]:
        return _read

    def save(self, batch: Sequence[_Unread], result: dict[tuple[int, int], Expectation]) -> None:
        rows = {key: expectation_row(expectation) for key, expectation in result.items()}
        self.scoring.store.write(trajectory_queries.save_expectations, self.scoring.run_id, rows)


def _read(
    engine: Engine, batch: Sequence[_Unread], pictures: Opened
) -> dict[tuple[int, int], Expectation]:
    """Expectations by pair and start of the claim, of pairs whose picture can be read."""
    texts = readable(batch, pictures)
    expectations = engine.expectations([(image, unread.text) for unread, image in texts])
    keys = [(unread.pair_id, unread.start) for unread, _ in texts]
    return dict(zip(keys, expectations, strict=True))


class Descriptions(BatchStage):
    """New captions, as suggestions; without a captioner the curator writes them."""

    name = "Describing pictures without a caption"
    part = "suggestions_seconds"
    usual_cost = 1.5

    def remaining(self) -> int:
        if self.scoring.engine.captioner is None:
            return 0
        return self.scoring.store.read(
            pair_queries.count_without_description, self.scoring.dataset_id
        )

    def total(self) -> int:
        return self.remaining()

    def seconds(self, sample: Sample) -> float:
        engine = self.scoring.engine
        return sample.seconds(lambda: _describe(engine, sample.images)) if self.remaining() else 0

    def batches(self) -> Iterator[Sequence[PairCaption]]:
        if self.scoring.engine.captioner is not None:
            rows = self.scoring.store.read(
                pair_queries.without_description, self.scoring.dataset_id
            )
            pairs = [PairCaption(pair_id, path, "") for pair_id, path in rows]
            yield from chunks(pairs, self.scoring.workers.batch_size(_TOGETHER))

    def task(self) -> Task[PairCaption, dict[int, tuple[str, float]]]:
        return _describe_together

    def save(self, batch: Sequence[PairCaption], result: dict[int, tuple[str, float]]) -> None:
        rows = [
            NewSuggestion(pair_id, PROPOSER.name, text, 0.0, s, run_id=self.scoring.run_id)
            for pair_id, (text, s) in result.items()
        ]
        self.scoring.store.write(suggestion_queries.save_suggestions, rows)


def _describe_together(
    engine: Engine, batch: Sequence[PairCaption], pictures: Opened
) -> dict[int, tuple[str, float]]:
    """A caption and its score by pair, of pairs whose picture can be read."""
    pairs = readable(batch, pictures)
    if not pairs:
        return {}
    with engine.lock:
        images = [image for _, image in pairs]
        texts = _describe(engine, images)
        requests = [
            (state, [text]) for state, text in zip(engine.encode(images), texts, strict=True)
        ]
        scores = engine.scorer.score(requests)
    return {
        pair.pair_id: (text, float(s[0]))
        for (pair, _), text, s in zip(pairs, texts, scores, strict=True)
        if text
    }


def _describe(engine: Engine, images: Sequence[Image.Image]) -> list[str]:
    captioner = engine.captioner
    assert captioner is not None
    return [in_form(text, "A") for text in captioner.describe_all(captioner.encode(images))]
