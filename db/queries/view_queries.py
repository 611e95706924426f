"""Saved views: queues under a name."""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import bindparam, delete, select
from sqlalchemy.orm import Session

from db.column_types import now
from db.models import View
from db.queries.statements import (
    check_name,
    columns_of,
    read_records,
    save_rows,
)


@dataclass(frozen=True)
class ViewRow:
    name: str
    fields: dict[str, Any]
    author: str


_VIEWS = (
    select(*columns_of(View, ViewRow))
    .where(View.dataset_id == bindparam("dataset_id"))
    .order_by(View.name)
)


def list_views(session: Session, dataset_id: int) -> list[ViewRow]:
    """All views of a dataset, by name."""
    return read_records(session, ViewRow, _VIEWS, dataset_id=dataset_id)


def save_view(
    session: Session, dataset_id: int, name: str, fields: dict[str, Any], author: str
) -> None:
    """Save a view; replaces one of the same name."""
    check_name(name, "The view's name", 255)
    view = ViewRow(name, fields, author)
    row = {"dataset_id": dataset_id, **vars(view), "created_at": now()}
    save_rows(session, View, ("dataset_id", "name"), [row], except_for=("created_at",))


def delete_view(session: Session, dataset_id: int, name: str) -> None:
    """Delete a view, if it exists."""
    session.execute(delete(View).where(View.dataset_id == dataset_id, View.name == name))
