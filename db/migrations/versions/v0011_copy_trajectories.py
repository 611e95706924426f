"""Trajectories of the noisy copies that a detector is trained on are stored, like those of pairs.

Revision ID: 0011
Revises: 0010
"""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "copy_trajectories",
        sa.Column("run_id", sa.Integer(), nullable=False),
        sa.Column("pair_id", sa.Integer(), nullable=False),
        sa.Column("caption", sa.LargeBinary(), nullable=False),
        sa.Column("scores", sa.LargeBinary(), nullable=False),
        sa.Column("similarities", sa.LargeBinary(), nullable=False),
        sa.Column("removed", sa.LargeBinary(), nullable=False),
        sa.Column("first_step_scores", sa.LargeBinary(), nullable=False),
        sa.Column("truncated", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("captions", sa.LargeBinary(), nullable=True),
        sa.Column("second_scores", sa.LargeBinary(), nullable=True),
        sa.Column("second_first_step_scores", sa.LargeBinary(), nullable=True),
        sa.ForeignKeyConstraint(
            ["pair_id"], ["pairs.id"], name=op.f("fk_copy_trajectories_pair_id")
        ),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_copy_trajectories_run_id")),
        sa.PrimaryKeyConstraint("run_id", "pair_id", "caption", name=op.f("pk_copy_trajectories")),
    )
    op.create_index("ix_copy_trajectories_pair_id", "copy_trajectories", ["pair_id"])


def downgrade() -> None:
    op.drop_table("copy_trajectories")
