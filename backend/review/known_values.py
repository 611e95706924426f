"""Values of a queue that only the store knows: splits of the dataset, curators who have decided.

The checks are made at each request, so they cost one row of an index each; names are listed only
for a refusal.
"""

import difflib
from collections.abc import Mapping, Sequence

from backend.errors import SettingsError
from backend.store import Store
from db.queries import pair_tags as tag_queries
from db.queries import pairs as pair_queries
from db.queries import verdicts as verdict_queries

#: Maximum number of names listed in a message.
_SHOWN = 20


def check_values(store: Store, dataset_id: int, fields: Mapping[str, str]) -> None:
    """Raises SettingsError for a split that the dataset does not have and for a curator who has
    never decided anything, listing those that exist: a misspelt name would be an empty queue."""
    if split := fields.get("split"):
        check_split(store, dataset_id, split)
    if tag := fields.get("tag"):
        _check_tag(store, dataset_id, tag)
    if curator := fields.get("decided_by"):
        _check_curator(store, curator)


def check_split(store: Store, dataset_id: int, name: str) -> None:
    """Raises SettingsError, which lists the dataset's splits; "" stands for pairs without one."""
    with store.reading() as session:
        if pair_queries.has_split(session, dataset_id, name):
            return
        splits = pair_queries.first_splits(session, dataset_id, _SHOWN + 1)
    if not name:
        raise SettingsError(f"Every pair has a split.{_those('There are', name, splits)}")
    missing = f"There is no split '{name[:80]}'"
    if not splits:
        raise SettingsError(f"{missing}: the dataset has no splits.")
    raise SettingsError(f"{missing}.{_those('There are', name, splits)}")


def _check_tag(store: Store, dataset_id: int, name: str) -> None:
    with store.reading() as session:
        tags = list(tag_queries.counts(session, dataset_id))
    if name not in tags:
        missing = f"There is no tag '{name[:80]}'"
        if not tags:
            raise SettingsError(f"{missing}: no pair has one yet.")
        raise SettingsError(f"{missing}.{_those('There are', name, tags)}")


def _check_curator(store: Store, name: str) -> None:
    with store.reading() as session:
        if verdict_queries.has_decided(session, name):
            return
        curators = verdict_queries.first_deciders(session, _SHOWN + 1)
    missing = f"There is no verdict by '{name[:80]}'"
    if not curators:
        raise SettingsError(f"{missing}: none has been given yet.")
    raise SettingsError(f"{missing}.{_those('There are verdicts by', name, curators)}")


def _those(start: str, given: str, names: Sequence[str]) -> str:
    shown = [*names[:_SHOWN], "…"] if len(names) > _SHOWN else names
    near = difflib.get_close_matches(given, names, n=1)
    hint = f" Did you mean '{near[0]}'?" if near else ""
    return f" {start}: {', '.join(shown)}.{hint}"
