"""The review queue, as used by curators and programs, and its saved views."""

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

from sqlalchemy.orm import Session

from backend.errors import SettingsError
from backend.jobs.errors_left import ErrorsLeft
from backend.jobs.export_choice import Selection
from backend.jobs.notices import Sentence, details_of, notices_of
from backend.loaded_models import Engine
from backend.review import pair_selection, queue_form
from backend.review.charts import errors_left, progress_of
from backend.review.pair_selection import check_values
from backend.review.queue_form import check_added
from backend.review.queue_values import QueueValues, read_values
from backend.review.search import PairSearch
from backend.review.views import ProgressView
from backend.settings import Settings
from backend.store import Store
from db.decisions import AT_RANDOM
from db.queries import blind_review, edit_queries, pair_queries, queue_queries, view_queries
from db.queries.pair_queries import ReviewCounts
from db.queries.queue_filter import QueueFilter, QueuePage, QueueRow
from db.queries.view_queries import ViewRow
from db.texts import has_controls, is_blank

LONGEST_NAME = 80
#: Pages stop counting a queue here and report only that there are more.
MOST_COUNTED = 10_000
#: From this many pairs on, a dataset's total is cached for this many seconds, because every key
#: press needs it.
LARGE, TOTALS_HOLD = 50_000, 3.0
#: What is left is estimated anew after so many verdicts, at the least and at the most.
ESTIMATED_EVERY = (3, 10)
#: In the queue of all undecided pairs, one pair in so many is drawn at random, in datasets that are
#: large enough to learn from them; see RESULTS.md, "Which pairs to show next".
MIXED_EVERY, LEAST_MIXED = 10, 200


@dataclass(frozen=True)
class QueueCaches:
    """What all readers share: results of searches, and for each dataset when its pairs were counted
    and their number; the errors that are left, and the numbers of pairs and of undecided ones when
    they were estimated, for each dataset (None) or, where verdicts are hidden, for each reader."""

    search: PairSearch
    totals: dict[int, tuple[float, int]] = field(default_factory=dict)
    estimates: dict[tuple[str | None, int], tuple[int, int, ErrorsLeft]] = field(
        default_factory=dict
    )
    notices: dict[int, tuple[float, tuple[Sentence, ...]]] = field(default_factory=dict)


def is_plain(filter: QueueFilter) -> bool:
    """Whether the queue has all undecided pairs of the dataset, whoever reads it, and whatever
    they have put aside."""
    plain = QueueFilter(
        filter.dataset_id, "unreviewed", reader=filter.reader, without=filter.without
    )
    return filter == replace(plain, order=filter.order, descending=filter.descending)


def sampling_of(filter: QueueFilter, pair_id: int, at_random: Collection[int] = ()) -> str:
    """How a pair of the queue comes to be shown (`db.decisions.SAMPLINGS`). `at_random`: those that
    were mixed in."""
    if pair_id in at_random:
        return AT_RANDOM
    if not is_plain(filter):
        return "filter"
    return AT_RANDOM if filter.order == "random" else "queue"


class Queue:
    """Pairs in the order in which they are reviewed. A row's `corrected_caption` is also the text
    of a bulk edit that lies below a verdict without a text."""

    def __init__(
        self, store: Store, engine: Engine, settings: Settings, caches: QueueCaches | None = None
    ) -> None:
        self._store = store
        self._settings = settings
        self._caches = caches or QueueCaches(PairSearch(store, engine))

    def queue_page(self, filter: QueueFilter, after: Any = None, limit: int = 24) -> QueuePage:
        """The next pairs."""
        with self._store.reading() as session:
            page = queue_queries.page(session, filter, after, limit)
            edited_texts = edit_queries.edited_texts(
                session, [row.pair_id for row in page.rows if row.verdict_version]
            )
        rows = (
            replace(row, corrected_caption=edited_texts[row.pair_id])
            if row.pair_id in edited_texts and not row.corrected_caption
            else row
            for row in page.rows
        )
        return replace(page, rows=tuple(rows))

    def queue_count(self, filter: QueueFilter, at_most: int | None = None) -> int:
        """The number of pairs in the queue; counting stops at `at_most`."""
        return self._store.read(queue_queries.count, filter, at_most)

    def count_held_by_others(self, filter: QueueFilter) -> int:
        """How many pairs the queue lacks because others have them on their screens."""
        return self._store.read(queue_queries.count_held_by_others, filter)

    def queue_values(self, filter: QueueFilter) -> QueueValues:
        """Histograms of the queue's numbers, and its words with their counts."""
        with self._store.reading() as session:
            return read_values(session, filter)

    def search(self, dataset_id: int, meaning: str = "", like: str = "") -> tuple[int, ...] | None:
        """Pairs found by caption meaning, or by similarity to another pair (see
        `backend.review.search`), nearest first; None: no search was requested. Raises
        SettingsError if there is nothing to compare yet."""
        if like:
            return self._caches.search.like(dataset_id, like)
        return self._caches.search.by_meaning(dataset_id, meaning) if meaning else None

    def queue_fields(
        self, dataset_id: int, queue: str = "", view: str | None = None
    ) -> dict[str, str] | None:
        """The fields of a queue given as in its URL or by the name of a saved view; None if neither
        is given. Raises SettingsError."""
        if queue and view is not None:
            raise SettingsError("Give a queue or a saved view, not both.")
        if view is not None:
            return self.view_fields(dataset_id, view)
        return queue_form.from_text(queue) if queue else None

    def filter_of(self, dataset_id: int, fields: Mapping[str, str]) -> QueueFilter:
        """Resolve the fields of a queue, including its searches, to a filter: used by pages,
        commands and exports alike. Raises SettingsError, also for a split and a curator that do not
        exist."""
        leaves = queue_form.groups_of(fields).leaves()
        for part in (fields, *(leaf.fields for leaf in leaves)):
            check_values(self._store, dataset_id, part)
            check_added(self._store, dataset_id, part)
        among = self.search(dataset_id, fields.get("meaning", ""), fields.get("like", ""))
        return queue_form.from_fields(dataset_id, fields, among)

    def select_pairs(
        self,
        dataset_id: int,
        queue: str = "",
        view: str | None = None,
        splits: Sequence[str] = (),
        ids: Sequence[str] | None = None,
    ) -> Selection | None:
        """Pairs selected by a queue (as in its URL) or the name of a saved view, by splits and by
        their ids, for `ExportChoice.only`; None if nothing is given. Raises SettingsError."""
        fields = self.queue_fields(dataset_id, queue, view)
        filter = None if fields is None else self.filter_of(dataset_id, fields)
        return pair_selection.select(self._store, dataset_id, filter, fields, splits, ids)

    def view_fields(self, dataset_id: int, name: str) -> dict[str, str]:
        """A saved view as queue fields. Raises SettingsError, which lists the existing views."""
        views = {row.name: row.fields for row in self.saved_views(dataset_id)}
        if name not in views:
            names = ", ".join(views) or "none"
            raise SettingsError(f"There is no view '{name}'; there are: {names}.")
        return queue_form.clean_fields(views[name])

    def first_pair(self, filter: QueueFilter) -> int | None:
        rows = self.queue_page(filter, None, 1).rows
        return rows[0].pair_id if rows else None

    def next_pair(self, filter: QueueFilter, pair_id: int) -> int | None:
        """The next pair in the queue; `pair_id` itself may no longer match. None at the end."""
        return self._store.read(queue_queries.next_pair, filter, pair_id)

    def following(self, filter: QueueFilter, pair_id: int, limit: int) -> tuple[QueueRow, ...]:
        """At most `limit` following pairs of the queue, in the order of `next_pair`."""
        return self._store.read(queue_queries.following, filter, pair_id, limit)

    def mix_random(
        self,
        filter: QueueFilter,
        rows: Sequence[QueueRow],
        before: int | None = None,
        shown: Collection[int] = (),
    ) -> tuple[tuple[QueueRow, ...], set[int]]:
        """The rows, which follow each other in the queue, with the next pairs of the random order
        mixed in, and the ids of these. `before`: the pair of the queue that precedes the rows;
        `shown`: pairs that are on the screen, or were drawn before and passed by.

        The random order is the same every time and independent of everything else: whoever decides
        its pairs without a gap has decided a random sample, which tells how many errors remain
        (`backend.engine.statistics.stopping`) and what the others look like
        (`backend.engine.detection.verdict_learning`).
        """
        every = [*([] if before is None else [before]), *(row.pair_id for row in rows)]
        count = sum(pair % MIXED_EVERY == 0 for pair in every)
        if not count or not self.is_mixable(filter):
            return tuple(rows), set()
        listed_pairs = {*shown, *every}
        sample = self.drawn_at_random(filter, count + len(listed_pairs))
        fresh = [row for row in sample if row.pair_id not in listed_pairs][:count]
        waiting = iter(fresh)
        mixture = (
            list(islice(waiting, 1)) if before is not None and before % MIXED_EVERY == 0 else []
        )
        for row in rows:
            mixture.append(row)
            if row.pair_id % MIXED_EVERY == 0:
                mixture.extend(islice(waiting, 1))
        return tuple(mixture), {row.pair_id for row in fresh}

    def is_mixable(self, filter: QueueFilter) -> bool:
        """Whether pairs drawn at random are mixed into the queue: it has all undecided pairs, in
        another order, and there are enough of them."""
        if filter.order == "random" or not is_plain(filter):
            return False
        counted_at, total = self._caches.totals.get(filter.dataset_id, (0.0, 0))
        if time.monotonic() - counted_at > TOTALS_HOLD:
            total = self.counts(filter.dataset_id).total
        return total >= LEAST_MIXED

    def drawn_at_random(self, filter: QueueFilter, limit: int = 1) -> tuple[QueueRow, ...]:
        """The first pairs of the queue in the random order."""
        return self.queue_page(replace(filter, order="random", descending=False), None, limit).rows

    def previous_pair(self, filter: QueueFilter, pair_id: int) -> int | None:
        """The previous pair in the queue, see `next_pair`; None at the start."""
        return self._store.read(queue_queries.previous_pair, filter, pair_id)

    def counts(self, dataset_id: int) -> ReviewCounts:
        """How far the review of a dataset has come. Verdicts are always recounted; the number of
        pairs of a large dataset may be a few seconds old, because every key press needs it."""
        counted_at, total = self._caches.totals.get(dataset_id, (0.0, 0))
        is_known = total >= LARGE and time.monotonic() - counted_at <= TOTALS_HOLD
        counts = self._store.read(
            pair_queries.review_counts, dataset_id, total if is_known else None
        )
        if not is_known:
            self._caches.totals[dataset_id] = (time.monotonic(), counts.total)
        return counts

    def errors_left(self, counts: ReviewCounts, is_anew: bool = False) -> ErrorsLeft:
        """The errors that are left, estimated on request or when some verdicts have come or gone,
        because every key press needs them: three to ten by its size, and each one near the end."""
        undecided_count = counts.total - counts.reviewed
        fewest, most = ESTIMATED_EVERY
        some = max(1, min(most, max(fewest, counts.total // 200), undecided_count // 8))
        with self._store.reading() as session:
            key = self._estimate_key(session, counts.dataset_id)
            total, before, estimate = self._caches.estimates.get(key, (0, 0, None))
            is_outdated = total != counts.total or abs(undecided_count - before) >= some
            if estimate is None or is_anew or is_outdated:
                if estimate is not None:  # for others, while this one is computed
                    self._caches.estimates[key] = (counts.total, undecided_count, estimate)
                estimate = errors_left(session, counts.dataset_id, undecided_count)
                self._caches.estimates[key] = (counts.total, undecided_count, estimate)
        return estimate

    def notices(self, dataset_id: int) -> tuple[Sentence, ...]:
        """What there is to say of the dataset as a whole, looked up every few seconds, because
        every key press shows it."""
        at, notices = self._caches.notices.get(dataset_id, (0.0, ()))
        if time.monotonic() - at > TOTALS_HOLD or not at:
            notices = notices_of(self._store, dataset_id)
            self._caches.notices[dataset_id] = (time.monotonic(), notices)
        return notices

    def details_of(self, dataset_id: int, page: str) -> dict[str, Any]:
        """What was found in the dataset as a whole; see `notices.details_of`."""
        return dict(details_of(self._store, dataset_id, page))

    def progress(self, dataset_id: int) -> ProgressView:
        """As `progress_of`; `errors_left` then says the same."""
        view = progress_of(self._store, dataset_id)
        with self._store.reading() as session:
            key = self._estimate_key(session, dataset_id)
        self._caches.estimates[key] = (view.total, view.total - view.reviewed, view.left)
        return view

    def _estimate_key(self, session: Session, dataset_id: int) -> tuple[str | None, int]:
        """Whose verdicts an estimate is from: everybody's, or the reader's own."""
        sees_all = blind_review.sees_all(session, dataset_id)
        return (None if sees_all else self._store.reader, dataset_id)

    def saved_views(self, dataset_id: int) -> list[ViewRow]:
        """Named queues, shared by everyone who works on the dataset."""
        return self._store.read(view_queries.list_views, dataset_id)

    def save_view(self, dataset_id: int, name: str, fields: dict[str, str]) -> None:
        """Save a queue under a name, replacing an existing view of that name."""
        name = " ".join(name.split())
        if is_blank(name) or len(name) > LONGEST_NAME or has_controls(name):
            raise SettingsError(f"A view's name has 1 to {LONGEST_NAME} characters, no controls.")
        self._store.write(view_queries.save_view, dataset_id, name, fields, self._settings.author)

    def delete_view(self, dataset_id: int, name: str) -> None:
        self._store.write(view_queries.delete_view, dataset_id, name)
