"""All rows of a dataset for a long job: one short session a batch, so that no transaction stays
open meanwhile."""

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, TypeVar

from backend.store import Store


class _Row(Protocol):
    @property
    def id(self) -> int: ...


R = TypeVar("R", bound=_Row)
#: Rows of a batch.
SIZE = 5000


def read_in_batches(
    store: Store, query: Callable[..., Sequence[R]], dataset_id: int
) -> Iterator[R]:
    """The rows of a query `(session, dataset_id, after_id, limit)` that gives the next ones by
    their ids, such as `pair_queries.pairs_after`."""
    after_id = 0
    while rows := store.read(query, dataset_id, after_id, SIZE):
        yield from rows
        after_id = rows[-1].id
