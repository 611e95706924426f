"""Where words of a caption are in its picture.

Revision ID: 0039
Revises: 0038
"""

import sqlalchemy as sa
from alembic import op

revision = "0039"
down_revision = "0038"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "word_regions",
        sa.Column("pair_id", sa.Integer(), nullable=False),
        sa.Column("run_id", sa.Integer(), nullable=False),
        sa.Column("regions", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["pair_id"], ["pairs.id"], name=op.f("fk_word_regions_pair_id")),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_word_regions_run_id")),
        sa.PrimaryKeyConstraint("pair_id", "run_id", name=op.f("pk_word_regions")),
    )
    op.create_index(op.f("ix_word_regions_run"), "word_regions", ["run_id", "pair_id"])


def downgrade() -> None:
    op.drop_table("word_regions")
