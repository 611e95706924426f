"""Pairs whose rows changed, moved or disappeared in the source since the last import."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import Table, delete, exists, select, update
from sqlalchemy.orm import Session

from db.feature_tables import OF_CAPTION
from db.models import Base, Pair, Suggestion, Verdict
from db.queries.number_columns import columns_with_numbers
from db.queries.pair_queries import NewPair
from db.queries.statements import chunks, columns_of, lock_pairs, read_records, record
from db.queries.suggestion_queries import OUTDATED
from db.queries.undo_queries import reopen

#: What people did; it stays with the pair whatever the source does.
_HISTORY = {"verdicts", "opinions", "holds", "pair_tags"}
#: What was computed from picture and caption, with its value before that.
_COMPUTED: dict[str, Any] = dict.fromkeys(
    ("words_read", "suspect_word", "suspect_kind", *columns_with_numbers())
) | {"truncated": False}
_AT_ONCE = 1000


@dataclass(frozen=True)
class StoredRow:
    """What the store holds of a row of the source."""

    id: int
    external_id: str
    image_path: str
    caption: str
    split: str | None
    source_file: str
    hidden: bool
    extra: dict[str, Any]
    corrected_caption: str | None


@dataclass(frozen=True)
class Revision:
    """A pair and its row as the source has it now. `picture`: "other" than before, "unknown" if the
    database does not say what it was, or the "same"."""

    pair_id: int
    row: NewPair
    has_new_caption: bool
    picture: Literal["same", "unknown", "other"]


_COLUMNS = columns_of(Pair, StoredRow)


def stored_rows(
    session: Session, dataset_id: int, external_ids: Sequence[str]
) -> dict[str, StoredRow]:
    """The stored rows with these external ids, by id; those that do not exist are left out."""
    rows: dict[str, StoredRow] = {}
    for part in chunks(external_ids, _AT_ONCE):
        query = select(*_COLUMNS).where(Pair.dataset_id == dataset_id, Pair.external_id.in_(part))
        rows |= {row.external_id: row for row in read_records(session, StoredRow, query)}
    return rows


def rows_of(session: Session, pair_ids: Sequence[int]) -> Iterator[StoredRow]:
    """The stored rows of these pairs."""
    for part in chunks(pair_ids, _AT_ONCE):
        yield from read_records(session, StoredRow, select(*_COLUMNS).where(Pair.id.in_(part)))


def rows_of_dataset(session: Session, dataset_id: int) -> Iterator[StoredRow]:
    """All stored rows. Streamed."""
    query = select(*_COLUMNS).where(Pair.dataset_id == dataset_id)
    for row in session.execute(query.execution_options(yield_per=_AT_ONCE)):
        yield record(StoredRow, row)


def renumber_pairs(session: Session, _: int, new_ids: Mapping[int, str]) -> None:
    """Give pairs the ids of their rows; several may exchange theirs."""
    lock_pairs(session, list(new_ids))
    for ids in ({id: f"{id} is renumbered" for id in new_ids}, new_ids):
        rows = [{"id": id, "external_id": external_id} for id, external_id in ids.items()]
        session.execute(update(Pair), rows)


def shown_ids(session: Session, dataset_id: int) -> Iterator[int]:
    """Ids of the pairs that are not hidden. Streamed."""
    query = select(Pair.id).where(Pair.dataset_id == dataset_id, Pair.hidden.is_(False))
    yield from session.execute(query.execution_options(yield_per=10_000)).scalars()


def hidden_corrected_rows(session: Session, dataset_id: int) -> Iterator[StoredRow]:
    """The stored rows of hidden pairs whose captions were corrected. Streamed."""
    query = select(*_COLUMNS).where(
        Pair.dataset_id == dataset_id, Pair.hidden, Pair.corrected_caption.is_not(None)
    )
    for row in session.execute(query.execution_options(yield_per=_AT_ONCE)):
        yield record(StoredRow, row)


def set_hidden(session: Session, pair_ids: Sequence[int], is_hidden: bool) -> None:
    """Hide pairs from queue, scoring and export, or show them again. Nothing is deleted."""
    for part in chunks(sorted(pair_ids), _AT_ONCE):
        session.execute(update(Pair).where(Pair.id.in_(part)).values(hidden=is_hidden))


def revise_pairs(
    session: Session, revisions: Sequence[Revision], computed: Sequence[Table]
) -> None:
    """Give pairs the values of their rows. What was computed from a caption or picture that is
    replaced is forgotten, so that it is computed again. Verdicts and corrected captions stay,
    except that a pair with another picture is undecided again: they were about the old one.
    `computed`: tables of features about pictures and captions (`feature_tables`)."""
    if not revisions:
        return
    lock_pairs(session, [revision.pair_id for revision in revisions])
    session.execute(
        update(Pair),
        [{"id": revision.pair_id, **vars(revision.row)} for revision in revisions],
    )
    replaced_ids = [revision.pair_id for revision in revisions if revision.picture == "other"]
    reopen(session, replaced_ids)
    _forget(session, replaced_ids, {"verdicts", "holds"})
    for part in chunks(replaced_ids, _AT_ONCE):  # those left: verdicts refer to them
        session.execute(
            update(Suggestion).where(Suggestion.pair_id.in_(part)).values(kind=OUTDATED)
        )
    unknown_ids = [revision.pair_id for revision in revisions if revision.picture == "unknown"]
    _forget(session, unknown_ids, _HISTORY)
    reworded_ids = [r.pair_id for r in revisions if r.has_new_caption and r.picture == "same"]
    _forget(session, reworded_ids, _HISTORY)
    of_captions = [table for table in computed if table.info == OF_CAPTION]
    for tables, pair_ids in (
        (computed, [*replaced_ids, *unknown_ids]), (of_captions, reworded_ids),
    ):  # fmt: skip
        for part in chunks(pair_ids, _AT_ONCE):
            for table in tables:
                session.execute(delete(table).where(table.c.pair_id.in_(part)))


def _forget(session: Session, pair_ids: Sequence[int], except_tables: set[str]) -> None:
    """Delete what was computed for these pairs. A suggestion that a verdict refers to stays."""
    is_judged = exists().where(Verdict.suggestion_id == Suggestion.id)
    for part in chunks(pair_ids, _AT_ONCE):
        # Read from the schema, dependents first, so that no table can be forgotten.
        for table in reversed(Base.metadata.sorted_tables):
            if "pair_id" not in table.c or table.name in except_tables:
                continue
            stale = delete(table).where(table.c.pair_id.in_(part))
            session.execute(stale.where(~is_judged) if table.name == "suggestions" else stale)
        session.execute(update(Pair).where(Pair.id.in_(part)).values(**_COMPUTED))
