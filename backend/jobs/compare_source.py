"""What changed in a source since its last import; found out before anything is written."""

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from backend.datasets.caption_writers import without_writer, writer_of
from backend.datasets.cells import split_proof
from backend.datasets.reading.pair_checks import derived_id
from backend.datasets.safe_files.containers import file_of, locate
from backend.errors import UnsafePath
from backend.jobs.dataset_reports import SourceChanges
from backend.jobs.moved_rows import MovedRows, Moves, content_key, hash_of
from backend.store import Store
from db.queries import change_queries
from db.queries.change_queries import Revision, StoredRow
from db.queries.pair_queries import NewPair


@dataclass
class Comparison:
    """`changes`: the counts. `followed`: pairs without own ids by the id that their row has now,
    if it says what they were corrected to, by the place of their picture in the source, if the
    caption changed otherwise, or by `content_key`, if only the place did. `gone`: ids
    of pairs without a row. `replaced`: pairs with another picture; `unproved`: nobody can tell,
    because an earlier version imported them and their file was written since. `renumbered`:
    rows that differ from before by their ids alone. `new_ids`: sorted hashes of the ids of new rows
    without own ids; None: nothing was compared.

    Memory: 32 bytes per pair, 40 per new row, and the rows and pairs that differ.
    """

    changes: SourceChanges = field(default_factory=SourceChanges)
    followed: dict[str, StoredRow] = field(default_factory=dict)
    gone: list[int] = field(default_factory=list)
    replaced: int = 0
    unproved: int = 0
    renumbered: int = 0
    new_ids: NDArray[np.int64] | None = None

    def knows(self, row: NewPair) -> bool:
        """Whether a row that no pair has was new when rows were compared. Its text was written
        since if not: added, it would stand beside the pair that it changes."""
        if self.new_ids is None or not has_derived_id(row):
            return True
        return _holds(self.new_ids, row.external_id)


@dataclass(frozen=True)
class FirstImport:
    """The root of a dataset, and when it was imported first."""

    root: Path
    time: datetime

    def is_older_than(self, image_path: str) -> bool:
        """Whether the file of a picture was written since, or cannot be looked at."""
        try:
            write_time = file_of(locate(self.root, image_path)).stat().st_mtime
        except (OSError, UnsafePath):
            return True
        return write_time > self.time.timestamp()


class Comparer:
    """Compares the rows of a source, batch by batch, with what the store holds of them."""

    def __init__(
        self,
        store: Store,
        dataset_id: int,
        first: FirstImport,
        renumbered: frozenset[int] = frozenset(),
    ) -> None:
        """`renumbered`: pairs that have got the ids of their rows since the last import."""
        self._store, self._dataset_id, self._first = store, dataset_id, first
        self._counts: Counter[str] = Counter()
        self._present = array("q")
        #: Of each new row without an id of its own: hashes of its id, of its picture's place and
        #: proof, and of its `content_key`.
        self._ids, self._places = array("q"), array("q")
        self._proofs, self._contents = array("q"), array("q")
        self._unread: set[str] = set()
        self._moved_rows, self._renumbered = MovedRows(), renumbered

    def add(self, rows: Iterable[NewPair], left_out: Iterable[str] = ()) -> None:
        """`left_out`: ids of rows that cannot be imported; these are not gone."""
        pairs = list(rows)
        ids = [*(row.external_id for row in pairs), *left_out]
        stored_rows = self._store.read(change_queries.stored_rows, self._dataset_id, ids)
        self._present.extend(row.id for row in stored_rows.values())
        for row in pairs:
            stored_row = stored_rows.get(row.external_id)
            if stored_row is None:
                kind = "new"
            else:
                picture = picture_of(row, stored_row, self._first)
                self._counts[f"{picture} picture"] += 1
                kind = kind_of(_as_imported(row, stored_row, picture), stored_row)
                if stored_row.id in self._renumbered and kind == "same":
                    self._counts["renumbered"] += 1
                    kind = "moved"
            self._counts[kind] += 1
            if not has_derived_id(row):
                self._moved_rows.add(row, stored_row)
            elif stored_row is None:
                place, proof = split_proof(row.image_path)
                self._ids.append(hash_of(row.external_id))
                self._places.append(hash_of(place))
                self._proofs.append(hash_of(proof))
                self._contents.append(hash_of(content_key(row)))

    def add_unread(self, file: str) -> None:
        """Rows of this file could not be identified, so none of its pairs is taken for gone."""
        self._unread.add(file)

    def moves(self) -> Moves:
        """Which pairs have rows with other ids now."""
        ids = self._moved_rows.ids
        if not ids:
            return Moves()
        with self._store.reading() as session:
            every = change_queries.rows_of_dataset(session, self._dataset_id)
            holders = change_queries.stored_rows(session, self._dataset_id, ids)
            return self._moved_rows.moves(every, holders.values())

    def result(self) -> Comparison:
        gone_ids = array("q")
        candidates: list[StoredRow] = []
        new, new_ids = {*self._places, *self._contents}, np.sort(np.array(self._ids, np.int64))
        with self._store.reading() as session:
            shown_ids = np.fromiter(change_queries.shown_ids(session, self._dataset_id), np.int64)
            absent = np.setdiff1d(shown_ids, np.array(self._present, np.int64)).tolist()
            for row in change_queries.rows_of(session, absent):
                if row.source_file in self._unread:
                    continue
                gone_ids.append(row.id)
                keys = {hash_of(_place_of(row)), hash_of(content_key(row))}
                if has_derived_id(row) and not keys.isdisjoint(new):
                    candidates.append(row)
            corrected_rows = change_queries.hidden_corrected_rows(session, self._dataset_id)
            returned = [row for row in corrected_rows if _holds(new_ids, _id_as_corrected(row))]
        present = set(self._present) if returned else set()
        returned = [row for row in returned if row.id not in present]
        corrections, edits, moves = self._follow(candidates, returned)
        matches = corrections | edits | moves
        followed_ids = {row.id for row in matches.values()}
        gone = [id for id in gone_ids if id not in followed_ids]
        corrected_keys = {hash_of(id) for id in corrections}
        proofs = {
            key: proof
            for key, proof in zip(self._ids, self._proofs, strict=True)
            if key in corrected_keys
        }
        replaced = sum(
            _has_other_proof(row, proofs[hash_of(id)]) for id, row in corrections.items()
        )
        changes = SourceChanges(
            new=self._counts["new"] - len(matches),
            changed=self._counts["changed"] + len(edits) + replaced,
            moved=self._counts["moved"] + len(moves),
            gone=len(gone),
            same=self._counts["same"] + len(corrections) - replaced,
        )
        return Comparison(
            changes,
            matches,
            gone,
            self._counts["other picture"] + replaced,
            self._counts["unknown picture"],
            self._counts["renumbered"],
            new_ids,
        )

    def _follow(
        self, gone_rows: Sequence[StoredRow], hidden_rows: Sequence[StoredRow]
    ) -> tuple[dict[str, StoredRow], dict[str, StoredRow], dict[str, StoredRow]]:
        """The pairs that are followed to the caption that they were corrected to, by the id of its
        row, to another caption, by place, and to a new place, by `content_key`. An id that is
        derived from both changes with either. A pair is followed if it is the only one of its key
        that is gone, and exactly one is new; anything else would be a guess. `hidden_rows`: gone
        before; they are followed to the caption that they were corrected to."""
        ids = np.array(self._ids, np.int64)
        corrections = dict(_only_ones(hidden_rows, ids, _id_as_corrected))
        corrections |= dict(_only_ones(gone_rows, ids, _id_as_corrected))
        corrected_ids = {row.id for row in corrections.values()}
        gone_rows = [row for row in gone_rows if row.id not in corrected_ids]
        is_other = ~np.isin(ids, [hash_of(id) for id in corrections])
        places = np.array(self._places, np.int64)[is_other]
        contents = np.array(self._contents, np.int64)[is_other]
        proofs = dict(zip(self._places, self._proofs, strict=True))
        edits = {}
        for place, row in _only_ones(gone_rows, places, _place_of):
            _, proof = split_proof(row.image_path)
            if not proof or hash_of(proof) == proofs[hash_of(place)]:
                edits[place] = row
        edited_ids = {row.id for row in edits.values()}
        unmatched = [row for row in gone_rows if row.id not in edited_ids]
        is_unmatched = ~np.isin(places, [hash_of(place) for place in edits])
        return corrections, edits, dict(_only_ones(unmatched, contents[is_unmatched], content_key))


def _holds(sorted_hashes: NDArray[np.int64], text: str) -> bool:
    key = hash_of(text)
    place = int(np.searchsorted(sorted_hashes, key))
    return place < len(sorted_hashes) and int(sorted_hashes[place]) == key


def _only_ones(
    rows: Iterable[StoredRow], hashes: NDArray[np.int64], key_of: Callable[[StoredRow], str]
) -> Iterator[tuple[str, StoredRow]]:
    """The rows that are alone with their key, of those keys whose hash occurs once."""
    distinct, numbers = np.unique(hashes, return_counts=True)
    once = set(distinct[numbers == 1].tolist())
    by_key: dict[str, list[StoredRow]] = {}
    for row in rows:
        if hash_of(key := key_of(row)) in once:
            by_key.setdefault(key, []).append(row)
    yield from ((key, alone[0]) for key, alone in by_key.items() if len(alone) == 1)


def kind_of(row: NewPair, stored_row: StoredRow | None) -> str:
    """'new', 'changed' (caption, split, or proof of the picture), 'moved' (only the picture's
    place) or 'same'."""
    if stored_row is None:
        return "new"
    place, proof = split_proof(row.image_path)
    known_place, known_proof = split_proof(stored_row.image_path)
    is_other_picture = bool(proof and known_proof and proof != known_proof)
    if _has_other_text(row, stored_row) or is_other_picture:
        return "changed"
    return "same" if place == known_place else "moved"


def picture_of(
    row: NewPair, stored_row: StoredRow, first: FirstImport
) -> Literal["same", "unknown", "other"]:
    """The picture of a row, compared with the one that was imported. Without a proof of that one,
    the same place is trusted if its file has not been written since."""
    place, proof = split_proof(row.image_path)
    known_place, known_proof = split_proof(stored_row.image_path)
    if proof and known_proof:
        return "same" if proof == known_proof else "other"
    is_trusted = place == known_place and not first.is_older_than(known_place)
    return "same" if is_trusted else "unknown"


def _has_other_text(row: NewPair, stored_row: StoredRow) -> bool:
    return row.caption != stored_row.caption or (row.split or None) != (stored_row.split or None)


def _has_other_proof(row: StoredRow, proof_hash: int) -> bool:
    """Whether its picture is another than one with this proof."""
    known_proof = split_proof(row.image_path)[1]
    return bool(known_proof) and proof_hash not in (hash_of(known_proof), hash_of(""))


def _place_of(row: StoredRow) -> str:
    return split_proof(row.image_path)[0]


def _id_as_corrected(row: StoredRow) -> str:
    """The id that follows from the caption that was decided."""
    return derived_id(_place_of(row), row.corrected_caption or row.caption)


def _as_imported(row: NewPair, stored_row: StoredRow, picture: str) -> NewPair:
    """A row that says what its pair was corrected to, as after `apply`, says nothing new: the pair
    keeps the caption that was judged, its scores and its verdict. Of another picture (`picture_of`)
    nobody has judged it."""
    if picture != "other" and row.caption == stored_row.corrected_caption:
        row = replace(row, caption=stored_row.caption, external_id=stored_row.external_id)
    return row


def has_derived_id(row: NewPair | StoredRow) -> bool:
    """Whether the id follows from picture and caption, for want of one in the source."""
    return row.external_id == derived_id(split_proof(row.image_path)[0], row.caption)


def revision(
    row: NewPair, stored_row: StoredRow, first: FirstImport, takes_changes: bool
) -> Revision | None:
    """What to write for a row that is known; None: nothing. The address of the same picture always
    follows the source: at the old one is nothing, or another picture; so does who wrote the
    caption. A picture that is another, or may be, is a change like that of a caption."""
    picture = picture_of(row, stored_row, first)
    row = _as_imported(row, stored_row, picture)
    if not takes_changes:
        has_moved = split_proof(row.image_path)[0] != split_proof(stored_row.image_path)[0]
        if picture == "other" or (picture == "unknown" and not has_moved):
            return None
        if row.caption != stored_row.caption:
            # An id that is derived from the caption stays with it.
            row = replace(row, external_id=stored_row.external_id)
            row = replace(row, extra=_with_writer(row.extra, stored_row.extra))
        row = replace(row, caption=stored_row.caption, split=stored_row.split)
    if row.caption == stored_row.caption and writer_of(row.extra) is None:
        row = replace(row, extra=_with_writer(row.extra, stored_row.extra))
    if row.image_path == stored_row.image_path and not _has_other_text(row, stored_row):
        if writer_of(row.extra) == writer_of(stored_row.extra):
            return None
        row = replace(row, extra=_with_writer(stored_row.extra, row.extra))
    return Revision(stored_row.id, row, row.caption != stored_row.caption, picture)


def _with_writer(columns: Mapping[str, Any], origin: Mapping[str, Any]) -> dict[str, Any]:
    """The columns, with the writer that `origin` names."""
    writer = writer_of(origin)
    return without_writer(columns) | (writer.cells() if writer is not None else {})
