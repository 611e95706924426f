"""Named states of a dataset, and acts that bring one back.

Revision ID: 0037
Revises: 0036
"""

import sqlalchemy as sa
from alembic import op

revision = "0037"
down_revision = "0036"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "snapshots",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("dataset_id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(255), nullable=False),
        sa.Column("author", sa.String(255), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("pairs", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["dataset_id"], ["datasets.id"], name=op.f("fk_snapshots_dataset_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_snapshots")),
        sa.UniqueConstraint("dataset_id", "name", name=op.f("uq_snapshots_dataset_id_name")),
    )
    op.create_table(
        "snapshot_pairs",
        sa.Column("snapshot_id", sa.Integer(), nullable=False),
        sa.Column("pair_id", sa.Integer(), nullable=False),
        sa.Column("caption", sa.Text(), nullable=False),
        sa.Column("split", sa.String(255)),
        sa.Column("standing_version", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["snapshot_id"], ["snapshots.id"], name=op.f("fk_snapshot_pairs_snapshot_id")
        ),
        sa.ForeignKeyConstraint(["pair_id"], ["pairs.id"], name=op.f("fk_snapshot_pairs_pair_id")),
        sa.PrimaryKeyConstraint("snapshot_id", "pair_id", name=op.f("pk_snapshot_pairs")),
    )
    op.create_index(op.f("ix_snapshot_pairs_pair_id"), "snapshot_pairs", ["pair_id"])
    op.add_column("verdicts", sa.Column("restores", sa.Integer()))


def downgrade() -> None:
    op.drop_column("verdicts", "restores")
    op.drop_table("snapshot_pairs")
    op.drop_table("snapshots")
