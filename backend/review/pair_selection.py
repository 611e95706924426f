"""Select pairs by queue, saved view, split or list of ids."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from backend.datasets.regular_files import read_regular
from backend.errors import SettingsError
from backend.jobs.reports import Selection
from backend.review.known_values import check_split
from backend.review.queue_form import as_query
from backend.store import Store
from db.queries import pairs as pair_queries
from db.queries import queue as queue_queries
from db.queries.queue import QueueFilter

_PAGE = 1000
#: Maximum number of ids or names listed in a message.
_SHOWN = 5


def read_ids(path: Path) -> list[str]:
    """Ids from a file, one per line; empty lines are skipped. Raises SettingsError."""
    try:
        text = read_regular(path.expanduser()).decode("utf-8-sig")
    except OSError as problem:
        raise SettingsError(
            f"The ids in '{path}' cannot be read: {problem.strerror or problem}."
        ) from problem
    except UnicodeDecodeError as problem:
        raise SettingsError(
            f"The ids in '{path}' are not UTF-8. Save the file as UTF-8."
        ) from problem
    ids = [line for line in text.replace("\r\n", "\n").split("\n") if line]
    if not ids:
        raise SettingsError(f"There is no id in '{path}'. Write one per line.")
    return ids


def select(
    store: Store,
    dataset_id: int,
    filter: QueueFilter | None = None,
    fields: Mapping[str, str] | None = None,
    splits: Sequence[str] = (),
    ids: Sequence[str] | None = None,
) -> Selection | None:
    """Pairs that satisfy all given criteria; None if none are given. `fields`: queue fields,
    `splits`: "" for pairs without a split. Raises SettingsError for splits and ids that the
    dataset does not have."""
    chosen: list[tuple[set[int], str]] = []
    if filter is not None:
        query = as_query(fields or {}) or "all unreviewed pairs"
        chosen.append((_queue(store, filter), f"the queue {query}"))
    if splits:
        chosen.append((_splits(store, dataset_id, splits), f"the split {', '.join(splits)}"))
    if ids is not None:
        chosen.append((_listed(store, dataset_id, ids), f"a list of {len(set(ids))} ids"))
    if not chosen:
        return None
    pair_ids = frozenset(set.intersection(*(ids for ids, _ in chosen)))
    return Selection(pair_ids, "; ".join(words for _, words in chosen))


def _queue(store: Store, filter: QueueFilter) -> set[int]:
    pair_ids: set[int] = set()
    after = None
    while True:
        with store.reading() as session:
            page = queue_queries.page(session, filter, after, _PAGE)
        pair_ids.update(row.pair_id for row in page.rows)
        if page.next_cursor is None:
            return pair_ids
        after = page.next_cursor


def _splits(store: Store, dataset_id: int, splits: Sequence[str]) -> set[int]:
    for split in splits:
        check_split(store, dataset_id, split)
    with store.reading() as session:
        return set(pair_queries.ids_of_splits(session, dataset_id, splits))


def _listed(store: Store, dataset_id: int, ids: Sequence[str]) -> set[int]:
    wanted = list(dict.fromkeys(ids))
    with store.reading() as session:
        known = pair_queries.ids_by_external_id(session, dataset_id, wanted)
    if missing := [name for name in wanted if name not in known]:
        listed = _some([f"'{name[:80]}'" for name in missing])
        raise SettingsError(
            f"{len(missing)} of {len(wanted)} ids are not in the dataset: {listed}."
        )
    return set(known.values())


def _some(names: Iterable[str]) -> str:
    every = list(names)
    more = f" and {len(every) - _SHOWN} more" if len(every) > _SHOWN else ""
    return ", ".join(every[:_SHOWN]) + more
