"""Suggestions store their similarity to the caption and their origin; attempts are recorded.

Revision ID: 0010
Revises: 0009
"""

import sqlalchemy as sa
from alembic import op

from db.column_types import UtcDateTime

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("suggestions", sa.Column("similarity", sa.Double(), nullable=True))
    op.add_column("suggestions", sa.Column("provenance", sa.JSON(), nullable=True))
    op.create_table(
        "correction_attempts",
        sa.Column("pair_id", sa.Integer(), nullable=False),
        sa.Column("proposer", sa.String(length=64), nullable=False),
        sa.Column("run_id", sa.Integer(), nullable=False),
        sa.Column("outcome", sa.String(length=16), nullable=False),
        sa.Column("told", sa.String(length=255), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["pair_id"], ["pairs.id"], name=op.f("fk_correction_attempts_pair_id")
        ),
        sa.ForeignKeyConstraint(
            ["run_id"], ["runs.id"], name=op.f("fk_correction_attempts_run_id")
        ),
        sa.PrimaryKeyConstraint(
            "pair_id", "proposer", "run_id", name=op.f("pk_correction_attempts")
        ),
    )


def downgrade() -> None:
    op.drop_table("correction_attempts")
    op.drop_column("suggestions", "provenance")
    op.drop_column("suggestions", "similarity")
