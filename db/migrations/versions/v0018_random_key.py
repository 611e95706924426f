"""Columns get descriptive names; the random order of a queue is `random`, in saved views too.

Revision ID: 0018
Revises: 0017
"""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None

_VIEWS = sa.table("views", sa.column("id", sa.Integer()), sa.column("fields", sa.JSON()))


#: Table, earlier name and name of a column.
_COLUMNS = (
    ("pairs", "lot", "random_key"),
    ("verdicts", "stands", "standing_version"),
    ("correction_attempts", "told", "detail"),
)


def upgrade() -> None:
    for table, old, new in _COLUMNS:
        op.execute(f"ALTER TABLE {table} RENAME COLUMN {old} TO {new}")
    _rename_index("lot", "random_key")
    _rename_order("lot", "random")


def downgrade() -> None:
    for table, old, new in _COLUMNS:
        op.execute(f"ALTER TABLE {table} RENAME COLUMN {new} TO {old}")
    _rename_index("random_key", "lot")
    _rename_order("random", "lot")


def _rename_index(old: str, new: str) -> None:
    if op.get_bind().dialect.name == "postgresql":
        op.execute(f"ALTER INDEX ix_pairs_{old} RENAME TO ix_pairs_{new}")
    else:  # SQLite cannot rename an index
        op.drop_index(f"ix_pairs_{old}", table_name="pairs")
        op.create_index(f"ix_pairs_{new}", "pairs", ["dataset_id", new, "id"], unique=False)


def _rename_order(old: str, new: str) -> None:
    connection = op.get_bind()
    for view in connection.execute(sa.select(_VIEWS)).all():
        if view.fields.get("order") == old:
            connection.execute(
                _VIEWS.update()
                .where(_VIEWS.c.id == view.id)
                .values(fields={**view.fields, "order": new})
            )
