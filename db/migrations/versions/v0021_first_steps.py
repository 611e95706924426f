"""Trajectories say whether they are whole, or only their first step.

Revision ID: 0021
Revises: 0020
"""

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None

_TABLES = ("trajectories", "copy_trajectories")


def upgrade() -> None:
    for table in _TABLES:  # all that earlier versions computed are whole
        op.add_column(
            table, sa.Column("whole", sa.Boolean(), server_default=sa.true(), nullable=False)
        )
    op.create_index(
        "ix_trajectories_first_step",
        "trajectories",
        ["run_id", "pair_id"],
        sqlite_where=sa.text("whole IS 0"),
        postgresql_where=sa.text("whole IS false"),
    )


def downgrade() -> None:
    op.drop_index("ix_trajectories_first_step", table_name="trajectories")
    for table in _TABLES:
        op.drop_column(table, "whole")
