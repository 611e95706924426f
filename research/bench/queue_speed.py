"""Latency of the review queue's queries: `python app.py bench --store 1000000`

Each query runs at many positions in the dataset. Curators notice the slow ones, so the 95th
percentile is reported along with the median.
"""

import random
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from backend.engine.english import word_lists
from backend.progress import Progress, no_progress
from backend.settings import load_settings
from backend.store import Store
from backend.workspace import MOST_COUNTED, QueueFilter, Range, Workspace
from research.bench.generated_store import generate

#: As many as a page of the table gets while it is scrolled.
TABLE_ROWS = 600


@dataclass(frozen=True)
class QueryLatency:
    """Latency of one query in milliseconds, over `times` executions."""

    question: str
    p50: float
    p95: float
    worst: float
    times: int


@dataclass(frozen=True)
class StoreReport:
    """`bytes_a_pair`: size of the database file over the number of pairs; None unless SQLite."""

    pairs: int
    bytes_a_pair: float | None
    answers: tuple[QueryLatency, ...]

    def table(self) -> str:
        size = f", {self.bytes_a_pair:.0f} bytes a pair" if self.bytes_a_pair else ""
        lines = [f"{self.pairs:,} pairs{size}", f"{'':40} {'p50':>8} {'p95':>8} {'worst':>8}  ms"]
        lines += [
            f"{a.question:40} {a.p50:8.1f} {a.p95:8.1f} {a.worst:8.1f}  ({a.times} times)"
            for a in self.answers
        ]
        return "\n".join(lines)


def bench_store(
    pairs: int, url: str | None, progress: Progress = no_progress, claims: int = 1
) -> StoreReport:
    """Generate a store (in a temporary folder, or at `url`) and measure it. `claims`: sentences of
    a caption."""
    with tempfile.TemporaryDirectory() as folder:
        workspace = Workspace(load_settings({"data_directory": folder, "database": url}))
        try:
            dataset_id = generate(workspace.store, pairs, progress=progress, claims=claims)
            workspace.engine.warm_up()  # as a server does
            return measure_store(workspace, dataset_id)
        finally:
            workspace.store.close()


def measure_store(workspace: Workspace, dataset_id: int, times: int = 60) -> StoreReport:
    """Run every query that the page issues while a curator works."""
    rng = random.Random(0)
    summary = workspace.summary(dataset_id)
    first = (
        workspace.review.queue_page(
            QueueFilter(dataset_id, order="position", descending=False), None, 1
        )
        .rows[0]
        .pair_id
    )
    places = [first + rng.randrange(summary.total) for _ in range(times)]
    usual = QueueFilter(dataset_id, "unreviewed")

    def range_filter() -> QueueFilter:
        low = rng.random() * 0.9
        return QueueFilter(
            dataset_id, "unreviewed", ranges=(Range("p_error", low, low + rng.random() * 0.1),)
        )

    def search_filter() -> QueueFilter:
        words = (rng.choice(word_lists.COLOURS), rng.choice(word_lists.IN_PLACES))
        return QueueFilter(dataset_id, "unreviewed", text=rng.choice((*words, "zebra", "a red ")))

    def page_and_count(filter: QueueFilter) -> None:
        workspace.review.queue_page(filter, None, 30)
        workspace.review.queue_count(filter, MOST_COUNTED + 1)

    def in_groups() -> QueueFilter:
        low, colour = rng.random() * 0.9, rng.choice(word_lists.COLOURS)
        where = f"(split = test or text = {colour}) and not p_error >= {low:.2f}"
        return workspace.review.filter_of(dataset_id, {"where": where})

    def table(order: str) -> None:
        """Two pages with all of their columns."""
        filter = workspace.review.filter_of(dataset_id, {"order": order, "review": "all"})
        place = workspace.review.queue_page(filter, None, TABLE_ROWS).next_cursor
        ids = [row.pair_id for row in workspace.review.queue_page(filter, place, TABLE_ROWS).rows]
        workspace.review.extras_of(ids)
        workspace.review.tags_of(ids)

    questions: list[tuple[str, Callable[[int], object]]] = [
        ("first page", lambda _: workspace.review.queue_page(usual, None, 30)),
        ("next and previous pair", lambda i: (
            workspace.review.next_pair(usual, places[i]),
            workspace.review.previous_pair(usual, places[i]))),
        ("one pair, everything about it", lambda i: workspace.review.open_pair(places[i])),
        ("counts of the dataset", lambda _: workspace.review.counts(dataset_id)),
        ("a range with its count", lambda _: page_and_count(range_filter())),
        ("most uncertain, with its count", lambda _: page_and_count(
            QueueFilter(dataset_id, "unreviewed", order="uncertainty"))),
        ("same kind of suspect word", lambda _: page_and_count(
            QueueFilter(dataset_id, suspect_kind="colour"))),
        ("text search with its count", lambda _: page_and_count(search_filter())),
        ("the bars and counts of the filters", lambda _: workspace.review.queue_values(usual)),
        ("groups with their count", lambda _: page_and_count(in_groups())),
        *((f"the table's first two pages by {order}", lambda _, order=order: table(order))
          for order in ("p_error", "external_id", "-caption", "split", "decision", "extra:width")),
    ]  # fmt: skip
    answers = [_time(name, ask, times) for name, ask in questions]
    return StoreReport(summary.total, _bytes_a_pair(workspace.store, summary.total), tuple(answers))


def _time(question: str, ask: Callable[[int], object], times: int) -> QueryLatency:
    milliseconds = []
    for number in range(times):
        began = time.perf_counter()
        ask(number)
        milliseconds.append(1000 * (time.perf_counter() - began))
    middle, slow = np.percentile(milliseconds, [50, 95])
    return QueryLatency(question, float(middle), float(slow), max(milliseconds), times)


def _bytes_a_pair(store: Store, pairs: int) -> float | None:
    url = store.opened.engine.url
    if store.opened.dialect != "sqlite" or not pairs:
        return None
    path = Path(str(url.database))
    files = (path, path.with_name(path.name + "-wal"))
    return sum(file.stat().st_size for file in files if file.exists()) / pairs
