"""Pairs store how specific their caption is, and which pictures it fits better.

Revision ID: 0013
Revises: 0012
"""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("pairs", sa.Column("specificity", sa.Double(), nullable=True))
    op.create_index("ix_pairs_specificity", "pairs", ["dataset_id", "specificity", "id"])
    op.create_table(
        "retrievals",
        sa.Column("pair_id", sa.Integer(), nullable=False),
        sa.Column("run_id", sa.Integer(), nullable=False),
        sa.Column("rank", sa.Integer(), nullable=False),
        sa.Column("of", sa.Integer(), nullable=False),
        sa.Column("likeness", sa.Double(), nullable=False),
        sa.Column("better", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["pair_id"], ["pairs.id"], name=op.f("fk_retrievals_pair_id")),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_retrievals_run_id")),
        sa.PrimaryKeyConstraint("pair_id", name=op.f("pk_retrievals")),
    )
    op.create_index("ix_retrievals_run", "retrievals", ["run_id", "pair_id"])


def downgrade() -> None:
    op.drop_table("retrievals")
    op.drop_index("ix_pairs_specificity", "pairs")
    op.drop_column("pairs", "specificity")
