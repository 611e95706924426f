"""The review operations as one object: `workspace.review`."""

from collections.abc import Sequence
from typing import Any

from PIL import Image

from backend.datasets.safe_files import images
from backend.datasets.safe_files.containers import ImageFile
from backend.engine.claims.finding import find_claims
from backend.engine.detection.types import SuspectWord
from backend.errors import SettingsError
from backend.jobs.scoring.dataset_constants import choice_in, constants_in, switch_constant
from backend.jobs.scoring.dataset_models import DatasetEngines, languages_read
from backend.jobs.scoring.stored_rows import in_order, leading_claim, to_suspects
from backend.review import ask_models, pair_selection
from backend.review.pair import image_path, languages_not_read, view_of
from backend.review.queue import Queue, QueueCaches
from backend.review.verdicts import Verdicts
from backend.review.views import (
    Abstractness,
    CaptionCheck,
    ClaimsFound,
    ConstantView,
    PairView,
    SuggestionView,
)
from backend.settings import Settings
from backend.store import Store
from db.queries import (
    claim_queries,
    dataset_queries,
    detection_queries,
    pair_queries,
    request_queries,
    run_queries,
    suggestion_queries,
    tag_queries,
)
from db.queries.queue_filter import QueueFilter, QueueRow
from db.queries.suggestion_queries import SuggestionRow
from db.texts import is_blank

#: Captions that are looked at to say what those of a dataset consist of.
SAMPLED_CAPTIONS = 300


class Review(Queue, Verdicts):
    """The queue, single pairs, verdicts, and questions to models."""

    def __init__(
        self,
        store: Store,
        engines: DatasetEngines,
        settings: Settings,
        caches: QueueCaches | None = None,
    ) -> None:
        Queue.__init__(self, store, engines.of_session, settings, caches)
        self._engines = engines

    # ---------------------------------------------------------------- with the dataset's models

    def suggest(self, pair_id: int, claim: int | None = None) -> tuple[SuggestionView, ...]:
        """See `ask_models.suggest`."""
        return ask_models.suggest(self._store, self._engines.of_pair(pair_id), pair_id, claim)

    def complete(self, pair_id: int) -> bool:
        """See `ask_models.complete`."""
        return ask_models.complete(self._store, self._engines.of_pair(pair_id), pair_id)

    def find_picture(self, dataset_id: int, image: Image.Image) -> tuple[int, ...]:
        """See `PairSearch.like_picture`."""
        engine = self._engines.of_dataset(dataset_id)
        return self._caches.search.like_picture(dataset_id, engine, image)

    def check_caption(self, pair_id: int, caption: str) -> CaptionCheck:
        """See `ask_models.check_caption`. Raises SettingsError for an empty caption."""
        if is_blank(caption):
            raise SettingsError("The caption is empty.")
        engine = self._engines.of_pair(pair_id)
        return ask_models.check_caption(self._store, engine, pair_id, caption)

    def why_abstract(self, pair_id: int) -> Abstractness | None:
        """See `ask_models.why_abstract`."""
        return ask_models.why_abstract(self._store, self._engines.of_pair(pair_id), pair_id)

    def tags(self, dataset_id: int) -> dict[str, int]:
        """The tags of a dataset with their numbers of pairs."""
        return self._store.read(tag_queries.counts, dataset_id)

    def tags_of(self, pair_ids: Sequence[int]) -> dict[int, tuple[str, ...]]:
        """The tags of each of these pairs that has some."""
        return self._store.read(tag_queries.of_pairs, pair_ids)

    def tag(
        self,
        pair_ids: Sequence[int],
        name: str,
        author: str,
        remove: bool = False,
        request_id: str | None = None,
    ) -> list[int]:
        """See `pair_selection.tag_pairs`."""
        return pair_selection.tag_pairs(self._store, pair_ids, name, author, remove, request_id)

    def rename_tag(
        self, dataset_id: int, name: str, new: str, author: str, request_id: str | None = None
    ) -> tuple[list[int], list[int]]:
        """See `pair_selection.rename_tag`."""
        return pair_selection.rename_tag(self._store, dataset_id, name, new, author, request_id)

    # ---------------------------------------------------------------- one pair

    def seen_by(self, reader: str) -> "Review":
        """The same operations for one of several curators, see `Store.seen_by`."""
        store = self._store.seen_by(reader)
        return Review(store, self._engines, self._settings, self._caches)

    def open_pair(self, pair_id: int, claim: int | None = None) -> PairView:
        """Everything about one pair, from the store alone: fast, no model is queried. `claim`:
        where the selected one starts, by default the most suspicious."""
        corrector = self._engines.of_session.chat_model_name
        return view_of(self._store, pair_id, corrector, claim, self._settings)

    def leading_claims(self, rows: Sequence[QueueRow]) -> dict[int, tuple[int, int]]:
        """The characters of the most suspicious claim of each of these pairs whose caption has
        several."""
        numbers = {row.pair_id: row.numbers for row in rows}
        claims = self._store.read(claim_queries.of_several, numbers)
        leading = {pair_id: leading_claim(rows) for pair_id, rows in claims.items()}
        return {pair_id: (row.start, row.end) for pair_id, row in leading.items()}

    def is_unfamiliar(self, dataset_id: int) -> bool:
        """Whether the dataset's model was told to score pictures that it does not know."""
        return self._store.read(dataset_queries.get_dataset, dataset_id).is_unfamiliar

    def languages_not_read(self, dataset_id: int, rows: Sequence[Any]) -> dict[int, str]:
        """See `pair.languages_not_read`, for the model of the dataset's scores."""
        run = self._store.read(run_queries.latest_run, dataset_id, "score")
        return languages_not_read(rows, languages_read(run))

    def claims_found(self, dataset_id: int) -> ClaimsFound:
        """What captions consist of by their form, whatever they are scored as."""
        sample = QueueFilter(dataset_id, order="random", descending=False, captioned=True)
        rows = self.queue_page(sample, None, SAMPLED_CAPTIONS).rows
        divisions = [find_claims(row.caption) for row in rows]
        tags = [len(claims) for claims in divisions if claims[0].kind == "tag"]
        sentences = [len(claims) for claims in divisions if claims[0].kind != "tag"]
        several = [number for number in sentences if number > 1]
        is_sample = len(rows) == SAMPLED_CAPTIONS
        models = self._store.read(dataset_queries.get_dataset, dataset_id).models
        return ClaimsFound(
            self.counts(dataset_id).total if is_sample else len(rows), len(rows),
            len(several), sum(several) / max(1, len(several)),
            len(tags), sum(tags) / max(1, len(tags)),
            str(models.get("claims", "")),
            tuple(each.in_words() for each in constants_in(models)),
        )  # fmt: skip

    def constants(self, dataset_id: int) -> tuple[ConstantView, ...]:
        """The constant parts that were known when the dataset was scored last."""
        models = self._store.read(dataset_queries.get_dataset, dataset_id).models
        choice = choice_in(models)
        return tuple(
            ConstantView(
                part.text, part.place, part.captions, part.of, part.writer, part.count,
                part.is_stated, part.is_left_out, choice.leaves_out(part),
            )
            for part in constants_in(models)
        )  # fmt: skip

    def switch_constant(
        self, dataset_id: int, text: str, is_left_out: bool
    ) -> tuple[ConstantView, ...]:
        """Leave a constant part out, or judge it, from the next scoring on; all of them
        afterwards. Raises NotFound."""
        self._store.write(switch_constant, dataset_id, text, is_left_out)
        return self.constants(dataset_id)

    def toggle_constant(
        self, dataset_id: int, text: str, author: str, request_id: str | None
    ) -> bool:
        """Leave out a constant part that is judged, or judge one that is not; whether it is left
        out then. Raises NotFound. `request_id`: see `request_queries.run_idempotent`."""
        with self._store.writing() as session:

            def toggle() -> bool:
                models = dataset_queries.get_dataset(session, dataset_id).models
                choice = choice_in(models)
                parts = [part for part in constants_in(models) if part.text == text]
                leave_out = not any(choice.leaves_out(part) for part in parts)
                switch_constant(session, dataset_id, text, leave_out)
                return leave_out

            return request_queries.run_idempotent(session, author, request_id, toggle)

    def image_path(self, pair_id: int) -> ImageFile:
        """The pair's image, checked to lie inside its dataset's root."""
        return image_path(self._store, pair_id)

    def thumbnail(self, pair_id: int, size: int = 160) -> bytes:
        """A small JPEG of the pair's image, cached next to the store."""
        path = self.image_path(pair_id)
        return images.cached_thumbnail(path, size, self._settings.data_directory / "thumbnails")

    def suspects_of(self, pair_ids: Sequence[int]) -> dict[int, tuple[SuspectWord, ...]]:
        """The suspect words of these pairs; pairs that have not been scored are omitted."""
        detections = self._store.read(detection_queries.detections_of, pair_ids)
        return {pair: to_suspects(detection) for pair, detection in detections.items()}

    def extras_of(self, pair_ids: Sequence[int]) -> dict[int, dict[str, Any]]:
        """The columns of the source of these pairs."""
        return self._store.read(pair_queries.extras_of, pair_ids)

    def suggestions(self, pair_id: int, kind: str = "correction") -> list[SuggestionRow]:
        """The stored suggestions for a pair, in the order in which pages show them; `kind`:
        corrections, or *boost* for richer captions."""
        with self._store.reading() as session:
            pair = pair_queries.get_pair(session, pair_id)
            run = run_queries.latest_run(session, pair.dataset_id, "score")
            rows = suggestion_queries.list_suggestions(
                session, pair_id, run.id if run else None, kind=kind
            )
        if kind != "correction":
            return rows
        return [each.row for each in in_order(pair.caption, rows)]
