"""Saved views of a dataset's queue."""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from db.column_types import now
from db.models import View
from db.queries.statements import check_text, insert_for, record


@dataclass(frozen=True)
class ViewRow:
    name: str
    fields: dict[str, Any]
    author: str


def list_views(session: Session, dataset_id: int) -> list[ViewRow]:
    """All views of a dataset, by name."""
    rows = session.execute(
        select(View.name, View.fields, View.author)
        .where(View.dataset_id == dataset_id)
        .order_by(View.name)
    )
    return [record(ViewRow, row) for row in rows]


def save_view(
    session: Session, dataset_id: int, name: str, fields: dict[str, Any], author: str
) -> None:
    """Save a view; replaces one of the same name."""
    check_text(name, "The view's name", 255)
    insert = insert_for(session, View)
    session.execute(
        insert.values(
            dataset_id=dataset_id, name=name, fields=fields, author=author, created_at=now()
        ).on_conflict_do_update(
            index_elements=["dataset_id", "name"],
            set_={"fields": insert.excluded.fields, "author": insert.excluded.author},
        )
    )


def delete_view(session: Session, dataset_id: int, name: str) -> None:
    """Delete a view, if it exists."""
    session.execute(delete(View).where(View.dataset_id == dataset_id, View.name == name))
