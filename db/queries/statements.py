"""Small helpers shared by the query modules."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields
from functools import lru_cache
from typing import Any, TypeVar

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    CursorResult,
    Executable,
    Row,
    Select,
    Table,
    and_,
    bindparam,
    delete,
    insert,
    select,
    true,
    update,
)
from sqlalchemy.dialects.postgresql import Insert as PostgresqlInsert
from sqlalchemy.dialects.postgresql import insert as postgresql_insert
from sqlalchemy.dialects.sqlite import Insert as SqliteInsert
from sqlalchemy.dialects.sqlite import insert as sqlite_insert
from sqlalchemy.orm import DeclarativeBase, Session

from db.errors import MissingRow, UnstorableText
from db.measures import MEASURES, MeasuredRecord
from db.models import Dataset, Pair
from db.texts import has_controls, is_blank

Item = TypeVar("Item")
Record = TypeVar("Record")


def insert_for(session: Session, table: type[DeclarativeBase]) -> SqliteInsert | PostgresqlInsert:
    """An INSERT of the session's dialect, which supports ON CONFLICT."""
    return _insert(session.get_bind().dialect.name, table)


def _insert(dialect: str, table: type[DeclarativeBase]) -> SqliteInsert | PostgresqlInsert:
    return sqlite_insert(table) if dialect == "sqlite" else postgresql_insert(table)


def run(
    session: Session, statement: Executable, /, **values: Any
) -> CursorResult[*tuple[Any, ...]]:
    """Execute a statement with these values of its `bindparam`s, on the connection: without the
    ORM's bookkeeping, which takes longer than most answers. Rows are as the session has them."""
    return session.connection().execute(statement, values)


def any_of(name: str) -> BindParameter[Any]:
    """A parameter that takes a list: `column.in_(any_of("pair_ids"))`."""
    return bindparam(name, expanding=True)


def save_rows(
    session: Session,
    model: type[DeclarativeBase],
    key: Sequence[str],
    rows: Sequence[Mapping[str, Any]],
    except_for: Sequence[str] = (),
    only_where: Callable[[Any], ColumnElement[bool]] | None = None,
) -> None:
    """Insert rows, all with the same columns; one that exists with the same `key` gets the new
    values, `except_for` these columns. `only_where`: a condition on the row that exists, given the
    new values as columns. In order of the key, so that two processes cannot deadlock."""
    if not rows:
        return
    names = tuple(name for name in rows[0] if name not in (*key, *except_for))
    build = _upsert if only_where is None else _upsert.__wrapped__  # a condition may hold values
    statement = build(session.get_bind().dialect.name, model, tuple(key), names, only_where)
    session.connection().execute(
        statement, sorted(rows, key=lambda row: [row[name] for name in key])
    )


@lru_cache(maxsize=200)
def _upsert(
    dialect: str,
    model: type[DeclarativeBase],
    key: tuple[str, ...],
    names: tuple[str, ...],
    only_where: Callable[[Any], ColumnElement[bool]] | None,
) -> SqliteInsert | PostgresqlInsert:
    """Of `save_rows`: building it takes longer than writing a row. `names`: of the columns that an
    existing row gets anew."""
    insert = _insert(dialect, model)
    new = insert.excluded
    return insert.on_conflict_do_update(
        index_elements=key,
        set_={name: new[name] for name in names},
        where=only_where(new) if only_where is not None else None,
    )


def table_of(model: type[DeclarativeBase]) -> Table[Any]:
    """The model's table, for statements that run many times without the ORM's bookkeeping."""
    table = model.__table__
    assert isinstance(table, Table)
    return table


def set_columns(session: Session, values_by_pair: Mapping[int, Mapping[str, Any]]) -> None:
    """Set columns of pairs, by name: the same ones of each pair. In order of id, so that two
    processes cannot deadlock."""
    if not values_by_pair:
        return
    pairs = table_of(Pair)
    names = next(iter(values_by_pair.values()))
    session.connection().execute(
        update(pairs)
        .where(pairs.c.id == bindparam("pair"))
        .values({name: bindparam(f"new_{name}") for name in names}),
        [
            {"pair": pair_id, **{f"new_{name}": value for name, value in values.items()}}
            for pair_id, values in sorted(values_by_pair.items())
        ],
    )


def replace_rows(
    session: Session, dataset_id: int, model: Any, rows: Sequence[Mapping[str, Any]]
) -> None:
    """Store rows of a dataset's pairs, all of a table; replaces the dataset's earlier ones."""
    pairs = select(Pair.id).where(Pair.dataset_id == dataset_id).scalar_subquery()
    session.execute(delete(model).where(model.pair_id.in_(pairs)))
    for part in chunks(rows, 5000):
        session.connection().execute(insert(table_of(model)), list(part))


def lock_dataset(session: Session, dataset_id: int) -> None:
    """Lock the dataset until this transaction ends; others that lock it wait."""
    session.execute(select(Dataset.id).where(Dataset.id == dataset_id).with_for_update())


def lock_pairs(session: Session, pair_ids: Sequence[int]) -> None:
    """Lock these pairs until this transaction ends; other writers wait.

    For transactions that write several pairs in an order other than that of their ids, or more than
    once: without it two of them can deadlock, and PostgreSQL aborts one. A no-op on SQLite, which
    has a single writer.
    """
    if session.get_bind().dialect.name != "postgresql":
        return
    for part in chunks(sorted(set(pair_ids)), 1000):
        query = select(Pair.id).where(Pair.id.in_(part)).order_by(Pair.id)
        session.execute(query.with_for_update()).all()


def in_dataset(dataset_id: int | BindParameter[int]) -> ColumnElement[bool]:
    """Condition: a pair of the dataset that is not hidden. Hidden pairs take part in nothing but
    imports, the history and what is asked for by id."""
    return and_(Pair.dataset_id == dataset_id, Pair.hidden.is_(False))


def chunks(items: Sequence[Item], size: int) -> Iterator[Sequence[Item]]:
    """Slices of at most `size`, in order."""
    for start in range(0, len(items), size):
        yield items[start : start + size]


def columns_of(model: type[DeclarativeBase], kind: type[Any]) -> tuple[Any, ...]:
    """The model's columns that are named like the fields of the dataclass `kind` (`record`)."""
    return tuple(getattr(model, field.name) for field in fields(kind))


def record(kind: type[Record], row: Row[*tuple[Any, ...]]) -> Record:
    """An instance of `kind` from a row whose columns are named like its fields."""
    return record_of(kind, dict(zip(row._fields, row, strict=True)))


def record_of(kind: type[Record], values: dict[str, Any]) -> Record:
    """The same from the values by name. The numbers of a `Measured` are named like measures."""
    if issubclass(kind, MeasuredRecord):
        values["numbers"] = {name: values.pop(name) for name in MEASURES}
    return kind(**values)


def read_records(
    session: Session, kind: type[Record], query: Select[*tuple[Any, ...]], **values: Any
) -> list[Record]:
    """All rows of the query, as `record` has them. `values`: of its parameters, as in `run`."""
    return [record(kind, row) for row in run(session, query, **values)]


def find_record(
    session: Session, kind: type[Record], query: Select[*tuple[Any, ...]], **values: Any
) -> Record | None:
    """The only row of the query; None if there is none. `values`: as in `run`."""
    row = run(session, query, **values).one_or_none()
    return None if row is None else record(kind, row)


def get_record(
    session: Session,
    kind: type[Record],
    query: Select[*tuple[Any, ...]],
    missing: str,
    /,
    **values: Any,
) -> Record:
    """The only row of the query. Raises `MissingRow` with the message `missing`. `values`: as in
    `run`."""  # fmt: skip
    only = find_record(session, kind, query, **values)
    if only is None:
        raise MissingRow(missing)
    return only


def check_text(value: str, what: str, longest: int | None = None) -> None:
    """Raise UnstorableText for a text that one of the databases would reject or silently change."""
    if "\x00" in value:
        raise UnstorableText(f"{what} holds a NUL character. Remove it and try again.")
    if not value.isascii():
        try:
            value.encode("utf-8")
        except UnicodeEncodeError:
            raise UnstorableText(
                f"{what} holds half a surrogate pair, which is not a character. Repair its "
                "encoding."
            ) from None
    if longest is not None and len(value) > longest:
        raise UnstorableText(
            f"{what} is {len(value):,} characters long; at most {longest} are allowed."
        )


def check_name(value: str, what: str, longest: int) -> None:
    """As `check_text`, for a name: it can be seen, and fits on a line."""
    check_text(value, what, longest)
    if is_blank(value) or has_controls(value):
        raise UnstorableText(f"{what} is empty or holds controls. Name it on one line.")


def check_number(value: float | None, what: str) -> None:
    """Raise ValueError for NaN and infinities, which would break the orders of the queue."""
    if value is not None and not math.isfinite(value):
        raise ValueError(f"{what} must be a finite number, not {value}")


def outside_of(intervals: Sequence[tuple[int, int]]) -> ColumnElement[bool]:
    """Pairs whose id lies in none of these (first, last)."""
    return and_(true(), *(~Pair.id.between(first, last) for first, last in intervals))
