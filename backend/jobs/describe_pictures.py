"""Stage of scoring: a new caption, as a suggestion, for every picture without one."""

from collections.abc import Iterator, Sequence

from PIL import Image

from backend.engine.correction.recaption import PROPOSER, in_form
from backend.jobs.stage import Sample, Stage
from backend.jobs.workers import Opened, Task
from backend.loaded_models import Engine
from db.queries import pairs as pair_queries
from db.queries import suggestions as suggestion_queries
from db.queries.pairs import PairCaption
from db.queries.statements import chunks
from db.queries.suggestions import NewSuggestion

#: Pictures that are described and committed together.
_TOGETHER = 8


class Descriptions(Stage):
    """Without a captioner nothing is suggested, and the curator writes the caption."""

    name = "Describing pictures without a caption"
    part = "suggestions_seconds"

    def remaining(self) -> int:
        return len(self._lacking()) if self.scoring.engine.captioner is not None else 0

    def total(self) -> int:
        return self.remaining()

    def _lacking(self) -> list[tuple[int, str]]:
        with self.scoring.store.reading() as session:
            return pair_queries.without_description(session, self.scoring.dataset_id)

    def seconds(self, sample: Sample) -> float:
        engine = self.scoring.engine
        return sample.seconds(lambda: _described(engine, sample.images)) if self.remaining() else 0

    def batches(self) -> Iterator[Sequence[PairCaption]]:
        if self.scoring.engine.captioner is not None:
            pairs = [PairCaption(pair_id, path, "") for pair_id, path in self._lacking()]
            yield from chunks(pairs, _TOGETHER)

    def task(self) -> Task[PairCaption, dict[int, tuple[str, float]]]:
        return _describe_together

    def save(self, batch: Sequence[PairCaption], result: dict[int, tuple[str, float]]) -> None:
        rows = [
            NewSuggestion(pair_id, PROPOSER.name, text, 0.0, s, run_id=self.scoring.run_id)
            for pair_id, (text, s) in result.items()
        ]
        with self.scoring.store.writing() as session:
            suggestion_queries.save_suggestions(session, rows)


def _describe_together(
    engine: Engine, batch: Sequence[PairCaption], opened: Opened
) -> dict[int, tuple[str, float]]:
    """A caption and its score by pair, of pairs whose picture can be read."""
    readable = [
        (pair.pair_id, image)
        for pair in batch
        if isinstance(image := opened[pair.image_path], Image.Image)
    ]
    if not readable:
        return {}
    with engine.lock:
        images = [image for _, image in readable]
        texts = _described(engine, images)
        requests = [
            (state, [text]) for state, text in zip(engine.encode(images), texts, strict=True)
        ]
        scores = engine.scorer.score(requests)
    return {
        pair_id: (text, float(s[0]))
        for (pair_id, _), text, s in zip(readable, texts, scores, strict=True)
        if text
    }


def _described(engine: Engine, images: Sequence[Image.Image]) -> list[str]:
    captioner = engine.captioner
    assert captioner is not None
    return [in_form(text, "A") for text in captioner.describe_all(captioner.encode(images))]
