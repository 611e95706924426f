"""What corrections of stored pairs start from, and what new captions of them are worth."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from PIL import Image

from backend.engine.correction import judge
from backend.engine.correction.suggestion import CorrectionContext, Suggestion
from backend.engine.detection.classifier import Classifier
from backend.jobs.scoring.classifiers import (
    classifier_captioner,
    classifier_in_use,
    complete_trajectories,
    doubting,
    judging,
    steps_needed_by,
    suspects_by,
)
from backend.jobs.scoring.dataset_models import scored_by_this_model
from backend.jobs.scoring.dataset_pairs import prepare_scorer
from backend.jobs.scoring.image_batches import open_picture
from backend.jobs.scoring.stored_rows import exploring_of, scored_pairs
from backend.loaded_models import Engine
from backend.store import Store
from db.queries import dataset_queries
from db.queries.queue_filter import QueueRow
from db.queries.run_queries import RunRow


class PairContexts:
    """The contexts of a dataset's pairs, by its newest scores and the classifier in use."""

    def __init__(
        self,
        store: Store,
        engine: Engine,
        dataset_id: int,
        reason_to_skip: Callable[[str], str] = lambda caption: "",
    ) -> None:
        """`reason_to_skip`: why a caption is left out, "" if it is not. Raises NotScored, and
        ModelMismatch for a dataset that another model has scored."""
        self.store, self.engine = store, engine
        self._reason_to_skip = reason_to_skip
        dataset = store.read(dataset_queries.get_dataset, dataset_id)
        self.run: RunRow = scored_by_this_model(store, engine, dataset)
        prepare_scorer(store, engine, dataset_id)
        self.classifier: Classifier | None = classifier_in_use(store, dataset_id)
        self._root = Path(dataset.root)

    def of(self, rows: Sequence[QueueRow]) -> Iterator[tuple[QueueRow, CorrectionContext | str]]:
        """Each pair with its context, or with the reason why it cannot be corrected."""
        pairs, scored_captions = scored_pairs(self.store, self.run, [row.pair_id for row in rows])
        captions = {pair.id: caption for pair, caption in zip(pairs, scored_captions, strict=True)}
        for row in rows:
            if row.pair_id not in captions:
                yield row, "not scored"
                continue
            text = captions[row.pair_id].leading.trajectory.caption.text
            if why := self._reason_to_skip(text):
                yield row, why
                continue
            image = self.open_picture(row)
            if isinstance(image, str):
                yield row, "image unreadable"
                continue
            with self.engine.lock:
                state = self.engine.scorer.of_pair(self.engine.encode([image])[0], row.pair_id)
            caption = complete_trajectories(
                self.store, self.engine, self.run, row.pair_id, state, captions[row.pair_id]
            )
            claim, trajectory = caption.leading.claim, caption.leading.trajectory
            p_error = row.p_error if caption.is_single else caption.leading.p_error
            suspects = suspects_by(self.classifier, trajectory, p_error)
            yield row, CorrectionContext(image, state, trajectory, suspects, p_error, claim=claim)

    def open_picture(self, row: QueueRow) -> Image.Image | str:
        """The pair's picture, or why it cannot be read."""
        return open_picture(self._root, row.image_path)

    def judge(
        self, context: CorrectionContext, proposals: dict[str, str], keep: bool = True
    ) -> list[Suggestion]:
        """Each proposal with its scores; `keep`: even if it does not improve on the caption."""
        with self.engine.lock:
            return judge.judge_all(
                self.engine.scorer, [(context, proposals)], judging(self.classifier),
                suspects_of=doubting(self.classifier),
                exploring=steps_needed_by(self.classifier, exploring_of(self.run)), keep=keep,
                classifier_captioner=classifier_captioner(self.engine, self.classifier),
            )[0]  # fmt: skip
