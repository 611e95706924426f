"""Trajectories keep what a captioner expects of the caption's words.

Revision ID: 0017
Revises: 0016
"""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None

_TABLES = ("trajectories", "copy_trajectories")


def upgrade() -> None:
    for table in _TABLES:
        op.add_column(table, sa.Column("expectation", sa.LargeBinary(), nullable=True))
        op.add_column(table, sa.Column("captioner", sa.String(length=64), nullable=True))


def downgrade() -> None:
    for table in _TABLES:
        op.drop_column(table, "captioner")
        op.drop_column(table, "expectation")
