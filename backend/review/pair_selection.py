"""Select pairs by queue, saved view, split or list of ids, and tag them.

Values that only the store knows (splits, curators) are checked at each request, at one row of an
index each; names are listed only for a refusal.
"""

import difflib
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path

from sqlalchemy.orm import Session

from backend.datasets.safe_files.regular_files import read_regular
from backend.errors import SettingsError
from backend.jobs.export_choice import Selection
from backend.jobs.queue_pages import pages
from backend.review.queue_form import as_query
from backend.store import Store
from db.queries import pair_queries, request_queries, tag_queries, verdict_acts
from db.queries.queue_filter import QueueFilter
from db.queries.statements import chunks
from db.queries.tag_queries import LONGEST
from db.queries.undo_queries import AT_ONCE
from db.texts import has_controls, is_blank

#: Maximum number of names listed in a message.
_SHOWN_VALUES = 20


def check_values(store: Store, dataset_id: int, fields: Mapping[str, str]) -> None:
    """Raises SettingsError for a split that the dataset does not have and for a curator who has
    never decided anything, listing those that exist: a misspelt name would be an empty queue."""
    if split := fields.get("split"):
        check_split(store, dataset_id, split)
    if tag := fields.get("tag"):
        with store.reading() as session:
            tags = list(tag_queries.counts(session, dataset_id))
        if tag not in tags:
            missing = f"There is no tag '{tag[:80]}'"
            if not tags:
                raise SettingsError(f"{missing}: no pair has one yet.")
            raise SettingsError(f"{missing}.{_available_values('There are', tag, tags)}")
    if curator := fields.get("decided_by"):
        with store.reading() as session:
            if verdict_acts.has_decided(session, curator):
                return
            curators = verdict_acts.first_deciders(session, _SHOWN_VALUES + 1)
        missing = f"There is no verdict by '{curator[:80]}'"
        if not curators:
            raise SettingsError(f"{missing}: none has been given yet.")
        raise SettingsError(
            f"{missing}.{_available_values('There are verdicts by', curator, curators)}"
        )


def check_split(store: Store, dataset_id: int, name: str) -> None:
    """Raises SettingsError, which lists the dataset's splits; "" stands for pairs without one."""
    with store.reading() as session:
        if pair_queries.has_split(session, dataset_id, name):
            return
        splits = pair_queries.first_splits(session, dataset_id, _SHOWN_VALUES + 1)
    if not name:
        raise SettingsError(
            f"Every pair has a split.{_available_values('There are', name, splits)}"
        )
    missing = f"There is no split '{name[:80]}'"
    if not splits:
        raise SettingsError(f"{missing}: the dataset has no splits.")
    raise SettingsError(f"{missing}.{_available_values('There are', name, splits)}")


def _available_values(start: str, value: str, names: Sequence[str]) -> str:
    first_names = [*names[:_SHOWN_VALUES], "…"] if len(names) > _SHOWN_VALUES else names
    near = difflib.get_close_matches(value, names, n=1)
    hint = f" Did you mean '{near[0]}'?" if near else ""
    return f" {start}: {', '.join(first_names)}.{hint}"


def tag_pairs(
    store: Store,
    pair_ids: Sequence[int],
    name: str,
    author: str,
    remove: bool = False,
    request_id: str | None = None,
) -> list[int]:
    """Tag pairs, or take the tag from them, `AT_ONCE` in a transaction; returns those that have
    changed. Raises SettingsError for an unusable name. `request_id`: see
    `request_queries.run_idempotent`."""
    name = tag_name(name)
    changed_ids: list[int] = []
    for number, part in enumerate(chunks(pair_ids, AT_ONCE)):
        with store.writing() as session:

            def change(session: Session = session, part: Sequence[int] = part) -> list[int]:
                if remove:
                    return tag_queries.remove(session, part, name)
                return tag_queries.add(session, part, name, author)

            request = None if request_id is None else f"{request_id}:{number}"
            changed_ids += request_queries.run_idempotent(session, author, request, change)
    return changed_ids


def rename_tag(
    store: Store, dataset_id: int, name: str, new: str, author: str, request_id: str | None = None
) -> tuple[list[int], list[int]]:
    """Rename a tag, or merge it into another, `AT_ONCE` pairs in a transaction; returns its pairs,
    and those of them that did not have the other. Raises SettingsError. `request_id`: see
    `request_queries.run_idempotent`; of a tag of more pairs, a second request renames what is
    left."""
    new = tag_name(new)

    def first() -> tuple[list[int], list[int]]:
        ids = tag_queries.ids_of(session, dataset_id, name)
        if not ids:
            raise SettingsError(f"There is no tag '{name[:LONGEST]}'.")
        return (ids, []) if name == new else _rename_tag(session, ids[:AT_ONCE], name, new, author)

    with store.writing() as session:
        moved_ids, added_ids = request_queries.run_idempotent(session, author, request_id, first)
    while name != new and (ids := store.read(tag_queries.ids_of, dataset_id, name)):
        with store.writing() as session:
            more = _rename_tag(session, ids[:AT_ONCE], name, new, author)
        moved_ids, added_ids = moved_ids + more[0], added_ids + more[1]
    return moved_ids, added_ids


def _rename_tag(
    session: Session, pair_ids: Sequence[int], name: str, new: str, author: str
) -> tuple[list[int], list[int]]:
    """The pairs that had the tag, and those of them that did not have the new one."""
    moved_ids = tag_queries.remove(session, pair_ids, name)
    return moved_ids, tag_queries.add(session, moved_ids, new, author)


def tag_name(text: str) -> str:
    """A tag as it is stored: on one line, without doubled blanks. Raises SettingsError."""
    name = " ".join(text.split())
    if is_blank(name) or len(name) > LONGEST or has_controls(name) or ";" in name:
        raise SettingsError(
            f"A tag has 1 to {LONGEST} characters, without semicolons and controls."
        )
    return name


_PAGE = 1000
#: Maximum number of ids or names listed in a message.
_SHOWN = 5


def read_text(path: Path) -> str:
    """The text of a file that a user names. Raises SettingsError."""
    try:
        return read_regular(path.expanduser()).decode("utf-8-sig")
    except OSError as problem:
        raise SettingsError(f"'{path}' cannot be read: {problem.strerror or problem}.") from problem
    except UnicodeDecodeError as problem:
        raise SettingsError(f"'{path}' is not UTF-8. Save it as UTF-8.") from problem


def read_ids(path: Path) -> list[str]:
    """Ids from a file, one per line; empty lines are skipped. Raises SettingsError."""
    text = read_text(path)
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
    selections: list[tuple[set[int], str]] = []
    if filter is not None:
        query = as_query(fields or {}) or "all undecided pairs"
        rows = chain.from_iterable(pages(store, filter, size=_PAGE))
        selections.append(({row.pair_id for row in rows}, f"the queue {query}"))
    if splits:
        for split in splits:
            check_split(store, dataset_id, split)
        with store.reading() as session:
            of_splits = set(pair_queries.ids_of_splits(session, dataset_id, splits))
        selections.append((of_splits, f"the split {', '.join(splits)}"))
    if ids is not None:
        selections.append((_existing_ids(store, dataset_id, ids), f"a list of {len(set(ids))} ids"))
    if not selections:
        return None
    pair_ids = frozenset(set.intersection(*(ids for ids, _ in selections)))
    return Selection(pair_ids, "; ".join(words for _, words in selections))


def _existing_ids(store: Store, dataset_id: int, ids: Sequence[str]) -> set[int]:
    distinct_ids = list(dict.fromkeys(ids))
    id_of = store.read(pair_queries.ids_by_external_id, dataset_id, distinct_ids)
    if missing := [name for name in distinct_ids if name not in id_of]:
        names = ", ".join(f"'{name[:80]}'" for name in missing[:_SHOWN])
        more = f" and {len(missing) - _SHOWN} more" if len(missing) > _SHOWN else ""
        raise SettingsError(
            f"{len(missing)} of {len(distinct_ids)} ids are not in the dataset: {names}{more}."
        )
    return set(id_of.values())
