"""Verdicts given together share a name, so that one undo reverts them all.

Revision ID: 0006
Revises: 0005
"""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("verdicts", sa.Column("batch", sa.String(length=32), nullable=True))


def downgrade() -> None:
    op.drop_column("verdicts", "batch")
