"""Tags: people's own words on pairs, and lists of suspects that other programs made."""

from collections.abc import Sequence
from dataclasses import dataclass

from backend.errors import SettingsError
from backend.store import Store
from db.queries import pair_tags as tag_queries
from db.queries.pair_tags import LONGEST


@dataclass(frozen=True)
class TagReport:
    """Number of pairs that a command has `changed`, and the dataset's tags afterwards."""

    changed: int
    tags: dict[str, int]


def tag_pairs(
    store: Store, pair_ids: Sequence[int], name: str, author: str, remove: bool = False
) -> int:
    """Tag pairs, or take the tag from them; returns how many that changed. Raises SettingsError for
    an unusable name."""
    name = tag_name(name)
    with store.writing() as session:
        if remove:
            return tag_queries.remove(session, pair_ids, name)
        return tag_queries.add(session, pair_ids, name, author)


def rename_tag(store: Store, dataset_id: int, name: str, new: str, author: str) -> int:
    """Rename a tag, or merge it into another; returns the number of its pairs. Raises
    SettingsError."""
    with store.writing(large=True) as session:
        if name not in tag_queries.counts(session, dataset_id):
            raise SettingsError(f"There is no tag '{name[:LONGEST]}'.")
        if name == tag_name(new):
            return len(tag_queries.ids_of(session, dataset_id, name))
        return tag_queries.rename(session, dataset_id, name, tag_name(new), author)


def tag_name(text: str) -> str:
    """A tag as it is stored: on one line, without doubled blanks. Raises SettingsError."""
    name = " ".join(text.split())
    if not name or len(name) > LONGEST or not name.isprintable() or ";" in name:
        raise SettingsError(
            f"A tag has 1 to {LONGEST} characters, without semicolons and control characters."
        )
    return name
