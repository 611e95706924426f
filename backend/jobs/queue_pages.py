"""A queue, page by page."""

from collections.abc import Iterator, Sequence

from backend.store import Store
from db.queries import queue_queries
from db.queries.queue_filter import QueueFilter, QueueRow


def pages(
    store: Store, filter: QueueFilter, limit: int | None = None, size: int = 24
) -> Iterator[Sequence[QueueRow]]:
    """The first `limit` pairs of a queue (None: all), in pages of `size`."""
    after, row_count = None, 0
    while limit is None or row_count < limit:
        most = size if limit is None else min(size, limit - row_count)
        page = store.read(queue_queries.page, filter, after, most)
        if page.rows:
            yield page.rows
        row_count += len(page.rows)
        if page.next_cursor is None:
            return
        after = page.next_cursor
