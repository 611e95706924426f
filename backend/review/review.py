"""The review operations as one object: `workspace.review`."""

from PIL import Image

from backend.bound import bound
from backend.datasets import images
from backend.datasets.containers import ImageFile
from backend.jobs.dataset_models import DatasetEngines
from backend.jobs.stored_suggestions import in_order
from backend.review import ask_models, bulk_edits, labels, near_duplicates, picture_map, tags
from backend.review.pair import image_path, suspects_of, view_of
from backend.review.plane import plane_of
from backend.review.progress import progress_of
from backend.review.queue import Queue, QueueCaches
from backend.review.verdicts import Verdicts
from backend.review.views import PairView, PlaygroundResult
from backend.settings import Settings
from backend.store import Store
from db.queries import pairs as pair_queries
from db.queries import runs as run_queries
from db.queries import suggestions as suggestion_queries
from db.queries.suggestions import SuggestionRow


class Review(Queue, Verdicts):
    """The queue, single pairs, verdicts, and interactive model queries.

    Bound here, documented elsewhere: `edit_captions` in `backend.review.bulk_edits`,
    `apply_labels` and `undo_labels` in `backend.review.labels`, `tag_pairs`, `rename_tag` and
    `tags` in `backend.review.tags`, `suggest`,
    `check_caption` and `why_abstract` in `backend.review.ask_models`, `progress` and `plane` in the
    modules of the same name, `map` and `map_region` in `picture_map`, `duplicates`, `keep_one` and
    `keep_in_all` in `near_duplicates`.
    """

    def __init__(
        self,
        store: Store,
        engines: DatasetEngines,
        settings: Settings,
        caches: QueueCaches | None = None,
    ) -> None:
        Queue.__init__(self, store, engines.of_session, settings, caches)
        self._engines = engines
        self.suggest = engines.bound(ask_models.suggest, engines.of_pair)
        self.check_caption = engines.bound(ask_models.check_caption, engines.of_pair)
        self.why_abstract = engines.bound(ask_models.why_abstract, engines.of_pair)
        self.complete = engines.bound(ask_models.complete, engines.of_pair)
        self.map_region = picture_map.region_of
        self.suspects_of = bound(suspects_of, store)
        self.edit_captions = bound(bulk_edits.edit_captions, store)
        self.apply_labels = bound(labels.apply_labels, store)
        self.undo_labels = bound(labels.undo_labels, store)
        self.tag_pairs = bound(tags.tag_pairs, store)
        self.rename_tag = bound(tags.rename_tag, store)
        self.tags = bound(tags.tags_of, store)
        self.progress = bound(progress_of, store)
        self.plane = bound(plane_of, store)
        self.map = bound(picture_map.map_of, store)
        self.duplicates = bound(near_duplicates.groups_of, store)
        self.keep_one = bound(near_duplicates.keep_one, store, self._settings)
        self.keep_in_all = bound(near_duplicates.keep_in_all, store, self._settings)

    def playground(
        self,
        image: Image.Image,
        caption: str,
        dataset_id: int | None = None,
        anyway: bool = False,
        model: str | None = None,
    ) -> PlaygroundResult:
        """See `backend.review.ask_models.play`. `model`: as in `--model`; by default the dataset's
        or the session's models."""
        engine = self._engines.of_dataset_or_session(dataset_id, model)
        return ask_models.play(self._store, engine, image, caption, anyway)

    def seen_by(self, reader: str) -> "Review":
        """The same operations for one of several curators, see `Store.seen_by`."""
        store = self._store.seen_by(reader)
        return Review(store, self._engines, self._settings, self._caches)

    def open_pair(self, pair_id: int) -> PairView:
        """Everything about one pair, from the store alone: fast, no model is queried."""
        return view_of(self._store, pair_id, self._settings.corrector)

    def image_path(self, pair_id: int) -> ImageFile:
        """The pair's image, checked to lie inside its dataset's root."""
        return image_path(self._store, pair_id)

    def thumbnail(self, pair_id: int, size: int = 160) -> bytes:
        """A small JPEG of the pair's image, cached next to the store."""
        path = self.image_path(pair_id)
        return images.cached_thumbnail(path, size, self._settings.data_directory / "thumbnails")

    def suggestions(self, pair_id: int, kind: str = "correction") -> list[SuggestionRow]:
        """The stored suggestions for a pair, in the order in which pages show them; `kind`:
        corrections, or *boost* for richer captions."""
        with self._store.reading() as session:
            pair = pair_queries.get_pair(session, pair_id)
            run = run_queries.latest_run(session, pair.dataset_id, "score")
            rows = suggestion_queries.list_suggestions(
                session, pair_id, run.id if run else None, kind=kind
            )
        return in_order(pair.caption, rows) if kind == "correction" else rows
