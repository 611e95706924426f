"""Datasets and the problems found while importing or scoring them."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime

from sqlalchemy import delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from db.errors import AlreadyExists, MissingRow
from db.models import (
    Claim,
    Classifier,
    CorrectionAttempt,
    Dataset,
    Detection,
    ImportProblem,
    Job,
    Opinion,
    Pair,
    Run,
    Suggestion,
    Trajectory,
    Verdict,
    View,
    WordMark,
)
from db.queries.statements import check_text, record


@dataclass(frozen=True)
class DatasetRow:
    """`root`: the directory that image paths are relative to. `source`: what was imported."""

    id: int
    name: str
    source: str
    root: str
    note: str
    created_at: datetime
    overlap_share: float
    overlap_people: int


@dataclass(frozen=True)
class NewProblem:
    """A row that did not go in: where it is, what is wrong with it."""

    file: str
    row: int | None
    kind: str
    message: str
    external_id: str | None = None


_COLUMNS = (
    Dataset.id,
    Dataset.name,
    Dataset.source,
    Dataset.root,
    Dataset.note,
    Dataset.created_at,
    Dataset.overlap_share,
    Dataset.overlap_people,
)


def create_dataset(
    session: Session, name: str, source: str, root: str, note: str = ""
) -> DatasetRow:
    """Raises `AlreadyExists` if the name is taken; then the whole transaction is rolled back."""
    check_text(name, "The dataset's name", 255)
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
    return [
        record(DatasetRow, row) for row in session.execute(select(*_COLUMNS).order_by(Dataset.id))
    ]


def get_dataset(session: Session, name_or_id: str | int) -> DatasetRow:
    """Raises `MissingRow` with the names that exist."""
    matches = (
        Dataset.id == name_or_id if isinstance(name_or_id, int) else Dataset.name == name_or_id
    )
    row = session.execute(select(*_COLUMNS).where(matches)).one_or_none()
    if row is None:
        names = ", ".join(f"'{dataset.name}'" for dataset in list_datasets(session)[:10])
        raise MissingRow(
            f"There is no dataset '{name_or_id}' in this database. "
            + (f"It has {names}." if names else "It has none yet: import one first.")
        )
    return record(DatasetRow, row)


def lock(session: Session, dataset_id: int) -> None:
    """Let others who want the same wait until this transaction ends."""
    session.execute(select(Dataset.id).where(Dataset.id == dataset_id).with_for_update())


def set_overlap(session: Session, dataset_id: int, share: float, people: int) -> None:
    """A share of the pairs is handed to so many people each. ValueError if that makes no sense."""
    if not 0 <= share <= 1 or people < 2:
        raise ValueError("an overlap is a share from 0 to 1 and two people or more")
    session.execute(
        update(Dataset)
        .where(Dataset.id == dataset_id)
        .values(overlap_share=share, overlap_people=people)
    )


def delete_dataset(session: Session, dataset_id: int) -> None:
    """Delete a dataset and everything known about it, verdicts included. Images are not touched."""
    get_dataset(session, dataset_id)
    pairs = select(Pair.id).where(Pair.dataset_id == dataset_id).scalar_subquery()
    for of_pair in (
        Verdict, Suggestion, CorrectionAttempt, Detection, Trajectory, WordMark, Opinion, Claim,
    ):  # fmt: skip
        session.execute(
            delete(of_pair).where(of_pair.pair_id.in_(pairs)),
            execution_options={"synchronize_session": False},
        )
    for of_dataset in (Pair, ImportProblem, Classifier, Job, Run, View):
        session.execute(
            delete(of_dataset).where(of_dataset.dataset_id == dataset_id),
            execution_options={"synchronize_session": False},
        )
    session.execute(delete(Dataset).where(Dataset.id == dataset_id))


def add_problems(session: Session, dataset_id: int, problems: Sequence[NewProblem]) -> None:
    """Report rows that did not go in. Text is kept as it can be: unstorable characters are
    replaced, because a report must never fail over the very thing it reports."""
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
) -> list[NewProblem]:
    """In the order in which they were found."""
    rows = session.execute(
        select(
            ImportProblem.file,
            ImportProblem.row,
            ImportProblem.kind,
            ImportProblem.message,
            ImportProblem.external_id,
        )
        .where(ImportProblem.dataset_id == dataset_id)
        .order_by(ImportProblem.id)
        .offset(offset)
        .limit(limit)
    )
    return [record(NewProblem, row) for row in rows]


def count_problems(session: Session, dataset_id: int) -> int:
    query = select(func.count()).select_from(ImportProblem)
    return session.execute(query.where(ImportProblem.dataset_id == dataset_id)).scalar_one()


def clear_problems(session: Session, dataset_id: int, kind: str | None = None) -> None:
    """Forget the problems (of one kind), before what found them looks again."""
    forget = delete(ImportProblem).where(ImportProblem.dataset_id == dataset_id)
    session.execute(forget if kind is None else forget.where(ImportProblem.kind == kind))


def _storable(value: str) -> str:
    return value.replace("\x00", "\ufffd").encode("utf-8", "replace").decode("utf-8")
