"""Trained classifiers; earlier ones are kept and can be restored."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import bindparam, insert, select, update
from sqlalchemy.orm import Session

from db.errors import MissingRow
from db.models import Classifier
from db.queries.statements import columns_of, find_record, get_record, lock_dataset, read_records


@dataclass(frozen=True)
class ClassifierRow:
    """All columns but the payload. `basis`: what it was trained on; `report`: its metrics."""

    id: int
    dataset_id: int
    name: str
    kind: str
    basis: str
    report: dict[str, Any]
    active: bool
    created_at: datetime


_COLUMNS = columns_of(Classifier, ClassifierRow)
_ACTIVE = select(*_COLUMNS).where(
    Classifier.dataset_id == bindparam("dataset_id"), Classifier.active
)


def add_classifier(
    session: Session,
    dataset_id: int,
    *,
    name: str,
    kind: str,
    basis: str,
    payload: bytes,
    report: dict[str, Any],
) -> ClassifierRow:
    """Store a classifier in its library's own safe format. It is not active yet."""
    classifier_id = session.execute(
        insert(Classifier)
        .values(
            dataset_id=dataset_id, name=name, kind=kind, basis=basis, payload=payload, report=report
        )
        .returning(Classifier.id)
    ).scalar_one()
    return get_classifier(session, classifier_id)


def get_classifier(session: Session, classifier_id: int) -> ClassifierRow:
    """Raises `MissingRow`."""
    query = select(*_COLUMNS).where(Classifier.id == classifier_id)
    return get_record(session, ClassifierRow, query, f"There is no classifier {classifier_id}.")


def activate(session: Session, classifier_id: int) -> ClassifierRow:
    """Make a classifier the active one of its dataset, replacing the previous one."""
    dataset_id = get_classifier(session, classifier_id).dataset_id
    lock_dataset(session, dataset_id)  # serialises concurrent adoptions
    session.execute(
        update(Classifier)
        .where(Classifier.dataset_id == dataset_id, Classifier.active)
        .values(active=False)
    )
    session.execute(update(Classifier).where(Classifier.id == classifier_id).values(active=True))
    return get_classifier(session, classifier_id)


def active(session: Session, dataset_id: int) -> ClassifierRow | None:
    """The active classifier of a dataset, None if there is none yet."""
    return find_record(session, ClassifierRow, _ACTIVE, dataset_id=dataset_id)


def amend_report(session: Session, classifier_id: int, **figures: Any) -> None:
    """Add figures to a classifier's report, or replace them. Raises `MissingRow`."""
    report = {**get_classifier(session, classifier_id).report, **figures}
    session.execute(update(Classifier).where(Classifier.id == classifier_id).values(report=report))


def list_classifiers(session: Session, dataset_id: int) -> list[ClassifierRow]:
    """All classifiers of a dataset, newest first."""
    query = select(*_COLUMNS).where(Classifier.dataset_id == dataset_id)
    return read_records(session, ClassifierRow, query.order_by(Classifier.id.desc()))


def get_payload(session: Session, classifier_id: int) -> bytes:
    """The serialised classifier. Raises `MissingRow`."""
    payload = session.scalar(select(Classifier.payload).where(Classifier.id == classifier_id))
    if payload is None:
        raise MissingRow(f"There is no classifier {classifier_id}.")
    return payload
