"""Datasets, and the problems found while importing or scoring them."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Select, bindparam, delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from db.errors import AlreadyExists, MissingRow
from db.feature_tables import added_tables
from db.models import Base, Dataset, ImportProblem, Pair, Verdict
from db.queries.blind_review import built_once, pair_columns
from db.queries.pair_queries import PAIR_FIELDS, PairRow
from db.queries.statements import (
    check_name,
    check_text,
    columns_of,
    find_record,
    read_records,
    record_of,
    run,
)

#: In `DatasetRow.models`: the model was made to score pictures of a kind that it does not know.
UNFAMILIAR = "unfamiliar"


@dataclass(frozen=True)
class DatasetRow:
    """`root`: the directory that image paths are relative to. `source`: what was imported;
    `source_digest`: SHA-256 of its rows in hexadecimal digits, "" if it is not known;
    `imported_at`, `read_options`: see `db.models.Dataset`."""

    id: int
    name: str
    source: str
    root: str
    note: str
    guidelines: str
    created_at: datetime
    overlap_share: float
    overlap_people: int
    models: dict[str, Any]
    source_digest: str
    imported_at: datetime | None
    read_options: dict[str, Any]

    @property
    def is_unfamiliar(self) -> bool:
        """Whether the model did not know the pictures that it scored."""
        return bool(self.models.get(UNFAMILIAR))


@dataclass(frozen=True)
class ProblemRow:
    """A row that could not be imported: where it is, what is wrong with it."""

    file: str
    row: int | None
    kind: str
    message: str
    external_id: str | None = None


_COLUMNS = columns_of(Dataset, DatasetRow)


def create_dataset(
    session: Session, name: str, source: str, root: str, note: str = ""
) -> DatasetRow:
    """Raises `AlreadyExists` if the name is taken; then the whole transaction is rolled back."""
    check_name(name, "The dataset's name", 255)
    try:
        session.execute(insert(Dataset).values(name=name, source=source, root=root, note=note))
    except IntegrityError as error:
        session.rollback()
        raise AlreadyExists(
            f"There is already a dataset named '{name}'. Choose another name, or add to that one."
        ) from error
    return get_dataset(session, name)


def list_datasets(session: Session) -> list[DatasetRow]:
    """All datasets, oldest first."""
    return read_records(session, DatasetRow, select(*_COLUMNS).order_by(Dataset.id))


def last_used(session: Session) -> int | None:
    """The dataset of the last verdict, else the newest; None if there is none."""
    of_last = select(Pair.dataset_id).join(Verdict, Verdict.pair_id == Pair.id)
    last: int | None = session.scalar(of_last.order_by(Verdict.id.desc()).limit(1))
    return last or session.scalar(select(func.max(Dataset.id)))


def get_dataset(session: Session, name_or_id: str | int) -> DatasetRow:
    """Raises `MissingRow` with the names that exist."""
    matches = (
        Dataset.id == name_or_id if isinstance(name_or_id, int) else Dataset.name == name_or_id
    )
    dataset = find_record(session, DatasetRow, select(*_COLUMNS).where(matches))
    if dataset is None:
        names = ", ".join(f"'{row.name}'" for row in list_datasets(session)[:10])
        raise MissingRow(
            f"There is no dataset '{name_or_id}' in this database. "
            + (f"It has {names}." if names else "It has none yet: import one first.")
        )
    return dataset


def names_of(session: Session, dataset_ids: Collection[int]) -> dict[int, str]:
    """The names of the existing datasets among these, by id, in one statement."""
    query = select(Dataset.id, Dataset.name).where(Dataset.id.in_(dataset_ids))
    return {row.id: row.name for row in session.execute(query)}


def pair_and_dataset(session: Session, pair_id: int) -> tuple[PairRow, DatasetRow]:
    """A pair with the dataset that it belongs to, in one statement. Raises `MissingRow`."""
    query, names = _pair_and_dataset(session, None)
    row: Sequence[Any] | None = run(session, query, pair_id=pair_id).one_or_none()
    if row is None:
        raise MissingRow(f"There is no pair {pair_id}; its dataset may have been deleted.")
    values = dict(zip(names, row, strict=False))
    return record_of(PairRow, values), DatasetRow(*row[len(names) :])


@built_once
def _pair_and_dataset(
    session: Session, dataset_id: int | None
) -> tuple[Select[*tuple[Any, ...]], tuple[str, ...]]:
    """The statement, and the names of the pair's columns, which come first."""
    of_pair = pair_columns(session, PAIR_FIELDS, dataset_id)
    query = select(*of_pair, *_COLUMNS).join(Dataset, Dataset.id == Pair.dataset_id)
    names = tuple(str(column.key) for column in of_pair)
    return query.where(Pair.id == bindparam("pair_id")), names


def remember_models(session: Session, dataset_id: int, models: Mapping[str, Any]) -> None:
    """Store the models of a dataset for future scoring, by the names of the settings."""
    session.execute(update(Dataset).where(Dataset.id == dataset_id).values(models=dict(models)))


def set_overlap(session: Session, dataset_id: int, share: float, people: int) -> None:
    """Set the share of pairs judged by several people each. Raises ValueError if invalid."""
    if not 0 <= share <= 1 or people < 2:
        raise ValueError("an overlap is a share from 0 to 1 and two people or more")
    session.execute(
        update(Dataset)
        .where(Dataset.id == dataset_id)
        .values(overlap_share=share, overlap_people=people)
    )


def move_dataset(session: Session, dataset_id: int, source: str, root: str) -> None:
    """Record that the dataset's files have moved."""
    session.execute(
        update(Dataset).where(Dataset.id == dataset_id).values(source=source, root=root)
    )


def set_last_import(
    session: Session,
    dataset_id: int,
    digest: str,
    imported_at: datetime,
    read_options: dict[str, Any],
) -> None:
    """Record an import that has ended; see `db.models.Dataset`."""
    session.execute(
        update(Dataset)
        .where(Dataset.id == dataset_id)
        .values(source_digest=digest, imported_at=imported_at, read_options=read_options)
    )


def rename_dataset(session: Session, dataset_id: int, name: str) -> None:
    """Raises `AlreadyExists` if the name is taken (then the whole transaction is rolled back),
    `MissingRow`."""
    check_name(name, "The dataset's name", 255)
    get_dataset(session, dataset_id)
    try:
        session.execute(update(Dataset).where(Dataset.id == dataset_id).values(name=name))
    except IntegrityError as error:
        session.rollback()
        raise AlreadyExists(
            f"There is already a dataset named '{name}'. Choose another name."
        ) from error


def set_guidelines(session: Session, dataset_id: int, text: str) -> None:
    """Raises `MissingRow`, and `UnstorableText` if the text cannot be stored."""
    check_text(text, "The guidelines")
    get_dataset(session, dataset_id)
    session.execute(update(Dataset).where(Dataset.id == dataset_id).values(guidelines=text))


def delete_dataset(session: Session, dataset_id: int) -> None:
    """Delete a dataset and everything known about it, verdicts included. Images are not touched."""
    get_dataset(session, dataset_id)
    pairs = select(Pair.id).where(Pair.dataset_id == dataset_id).scalar_subquery()
    # Read from the schema, dependents first, so that no table can be forgotten.
    for table in (*added_tables(session), *reversed(Base.metadata.sorted_tables)):
        if "pair_id" in table.c:
            session.execute(delete(table).where(table.c.pair_id.in_(pairs)))
        elif "dataset_id" in table.c:
            session.execute(delete(table).where(table.c.dataset_id == dataset_id))
    session.expire_all()
    session.execute(delete(Dataset).where(Dataset.id == dataset_id))


def add_problems(session: Session, dataset_id: int, problems: Sequence[ProblemRow]) -> None:
    """Store rows that could not be imported. Unstorable characters are replaced, because a report
    must never fail over the very thing it reports."""
    if problems:
        session.execute(
            insert(ImportProblem),
            [
                {"dataset_id": dataset_id}
                | {
                    key: _storable(value) if isinstance(value, str) else value
                    for key, value in asdict(problem).items()
                }
                for problem in problems
            ],
        )


def list_problems(
    session: Session, dataset_id: int, offset: int = 0, limit: int = 100
) -> list[ProblemRow]:
    """Problems of a dataset in the order in which they were found."""
    query = select(*columns_of(ImportProblem, ProblemRow))
    query = query.where(ImportProblem.dataset_id == dataset_id).order_by(ImportProblem.id)
    return read_records(session, ProblemRow, query.offset(offset).limit(limit))


def count_problems(session: Session, dataset_id: int) -> int:
    query = select(func.count()).select_from(ImportProblem)
    return session.execute(query.where(ImportProblem.dataset_id == dataset_id)).scalar_one()


def files_with_problem(session: Session, dataset_id: int, kind: str) -> set[str]:
    """The files that a problem of this kind was reported for."""
    query = select(ImportProblem.file).where(
        ImportProblem.dataset_id == dataset_id, ImportProblem.kind == kind
    )
    return set(session.execute(query).scalars())


def count_pairs_with_problem(session: Session, dataset_id: int, kind: str) -> int:
    """Pairs whose image a problem of this kind was reported for."""
    files = select(ImportProblem.file).where(
        ImportProblem.dataset_id == dataset_id, ImportProblem.kind == kind
    )
    query = select(func.count(Pair.id))
    query = query.where(Pair.dataset_id == dataset_id, Pair.image_path.in_(files))
    return session.execute(query).scalar_one()


def clear_problems(
    session: Session, dataset_id: int, kind: str | None = None, keep: str | None = None
) -> None:
    """Delete the problems before the dataset is imported again, except those of the kind `keep`;
    or those of one kind with pictures of its pairs, before these are read again: rows that an
    import left out stay listed."""
    forget = delete(ImportProblem).where(ImportProblem.dataset_id == dataset_id)
    if keep is not None:
        forget = forget.where(ImportProblem.kind != keep)
    if kind is not None:
        pictures = select(Pair.image_path).where(Pair.dataset_id == dataset_id)
        forget = forget.where(ImportProblem.kind == kind, ImportProblem.file.in_(pictures))
    session.execute(forget)


def _storable(value: str) -> str:
    return value.replace("\x00", "\ufffd").encode("utf-8", "replace").decode("utf-8")
