"""Rows that have other ids than at the last import, found by picture and caption: a table that was
filtered, sorted or joined is often numbered anew."""

from array import array
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from hashlib import blake2b

from backend.datasets.cells import split_proof
from backend.datasets.reading.pair_checks import derived_id
from db.queries.change_queries import StoredRow
from db.queries.pair_queries import NewPair


@dataclass(frozen=True, slots=True)
class _Row:
    """A row of the source, by its place among all; `content`: the hash of picture and caption."""

    place: int
    external_id: str
    content: int


@dataclass(frozen=True)
class Moves:
    """`pairs`: those whose rows have other ids; `new_ids`: of these pairs, and of others whose ids
    they take."""

    pairs: frozenset[int] = frozenset()
    new_ids: Mapping[int, str] = field(default_factory=dict)


class MovedRows:
    """Memory: 24 bytes per row that is as it was, and the other rows' ids."""

    def __init__(self) -> None:
        self._count = 0
        #: The pairs whose rows have their ids and say the same, or what these were corrected to;
        #: the places of these rows, and what they say.
        self._same, self._same_places = array("q"), array("q")
        self._same_contents = array("q")
        self._rows: list[_Row] = []

    def add(self, row: NewPair, stored_row: StoredRow | None) -> None:
        """`stored_row`: the one with the row's id."""
        self._count += 1
        if stored_row is not None and content_key(row) in _content_keys(stored_row):
            self._same.append(stored_row.id)
            self._same_places.append(self._count)
            self._same_contents.append(hash_of(content_key(row)))
        elif split_proof(row.image_path)[1]:
            self._rows.append(_Row(self._count, row.external_id, hash_of(content_key(row))))

    @property
    def ids(self) -> list[str]:
        """Of the rows that are not as they were."""
        return [row.external_id for row in self._rows]

    def moves(self, stored_rows: Iterable[StoredRow], holders: Iterable[StoredRow]) -> Moves:
        """`stored_rows`: of all pairs; `holders`: those with the `ids`.

        A pair says what its row does, else what was imported, else what it was corrected to.
        Pairs that say the same are told apart by their order, if as many rows say it; those that
        were hidden because their rows were gone count if as many came back. If not, those that have
        their ids keep them, and the others would be a guess.
        """
        rows_by_content: dict[int, list[_Row]] = {}
        for row in self._rows:
            rows_by_content.setdefault(row.content, []).append(row)
        places = dict(zip(self._same, self._same_places, strict=True))
        same_contents = dict(zip(self._same, self._same_contents, strict=True))
        stored_by_content: dict[int, list[StoredRow]] = {}
        for stored_row in stored_rows:
            said = same_contents.get(stored_row.id)
            contents = [said] if said is not None else map(hash_of, _content_keys(stored_row))
            content = next((each for each in contents if each in rows_by_content), None)
            if content is not None:
                stored_by_content.setdefault(content, []).append(stored_row)
        new_ids: dict[int, str] = {}
        for content, group in stored_by_content.items():
            same = [
                _Row(places[each.id], each.external_id, content)
                for each in group
                if each.id in places
            ]
            rows = [*rows_by_content[content], *same]
            if not _are_numbers(row.external_id for row in rows):
                rows = rows_by_content[content]
                group = [each for each in group if each.id not in places]
            shown = [each for each in group if not each.hidden]
            group = shown if len(shown) == len(rows) else group
            if len(group) == len(rows):
                rows.sort(key=lambda row: row.place)
                group.sort(key=lambda each: each.id)
                new_ids |= {
                    each.id: row.external_id
                    for row, each in zip(rows, group, strict=True)
                    if row.external_id != each.external_id
                }
        pairs = frozenset(new_ids)
        wanted = set(new_ids.values())
        displaced = (each for each in holders if each.id not in pairs)
        new_ids |= {each.id: _free_id(each) for each in displaced if each.external_id in wanted}
        return Moves(pairs, new_ids)


def _are_numbers(ids: Iterable[str]) -> bool:
    """Whether the rows are numbered, so that their ids say nothing but their order."""
    return all(each.isdecimal() for each in ids)


def _free_id(row: StoredRow) -> str:
    """An id that no row has, for a pair whose row is gone and whose id another one has now."""
    return f"{derived_id(split_proof(row.image_path)[0], row.caption)}#{row.id}"


def _content_keys(row: StoredRow) -> list[str]:
    """`content_key` with the caption that was imported, and with the one that was decided."""
    captions = (row.caption, row.corrected_caption or row.caption)
    return [content_key(replace(row, caption=caption)) for caption in captions]


def content_key(row: NewPair | StoredRow) -> str:
    """What a row says, whatever its picture is called: the picture's proof and the caption."""
    return f"{split_proof(row.image_path)[1]} {row.caption}"


def hash_of(text: str) -> int:
    """Of 64 bits, with a sign."""
    digest = blake2b(text.encode("utf-8", "replace"), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)
