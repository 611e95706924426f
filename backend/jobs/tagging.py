"""Tags that an operation gives, and takes back when it is run again."""

from collections.abc import Iterable

from backend.store import Store
from db.queries import tag_queries
from db.queries.statements import chunks

_AT_ONCE = 5000


def tag_exactly(
    store: Store, dataset_id: int, name: str, pair_ids: Iterable[int], author: str
) -> None:
    """Give the tag to these pairs, and take it from all others."""
    before, now = set(store.read(tag_queries.ids_of, dataset_id, name)), set(pair_ids)
    for part in chunks(sorted(before - now), _AT_ONCE):
        store.write(tag_queries.remove, part, name)
    for part in chunks(sorted(now - before), _AT_ONCE):
        store.write(tag_queries.add, part, name, author)
