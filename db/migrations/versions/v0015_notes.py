"""A note with a verdict, and a dataset's guidelines.

Revision ID: 0015
Revises: 0014
"""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None

_COLUMNS = (("datasets", "guidelines"), ("pairs", "note"), ("verdicts", "note"))
_NOTED = sa.text("note != ''")


def upgrade() -> None:
    for table, column in _COLUMNS:
        op.add_column(table, sa.Column(column, sa.Text(), server_default="", nullable=False))
    op.create_index(
        "ix_pairs_noted", "pairs", ["dataset_id", "id"], sqlite_where=_NOTED,
        postgresql_where=_NOTED,
    )  # fmt: skip


def downgrade() -> None:
    op.drop_index("ix_pairs_noted", table_name="pairs")
    for table, column in _COLUMNS:
        op.drop_column(table, column)
