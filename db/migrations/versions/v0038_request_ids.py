"""The ids under which pages request an undo or a redo: a second request undoes nothing more.

Revision ID: 0038
Revises: 0037
"""

import sqlalchemy as sa
from alembic import op

revision = "0038"
down_revision = "0037"
branch_labels = None
depends_on = None

_REQUESTED = sa.text("request_id IS NOT NULL")


def upgrade() -> None:
    op.add_column("verdicts", sa.Column("request_id", sa.String(32)))
    op.create_index(
        op.f("ix_verdicts_request_id"), "verdicts", ["request_id"],
        sqlite_where=_REQUESTED, postgresql_where=_REQUESTED,
    )  # fmt: skip


def downgrade() -> None:
    op.drop_index(op.f("ix_verdicts_request_id"), table_name="verdicts")
    op.drop_column("verdicts", "request_id")
