"""Pairs store how far the image supports their phrases, and each phrase's attribution.

Revision ID: 0012
Revises: 0011
"""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

_COLUMNS = ("support", "weakest")


def upgrade() -> None:
    for name in _COLUMNS:
        op.add_column("pairs", sa.Column(name, sa.Double(), nullable=True))
        op.create_index(f"ix_pairs_{name}", "pairs", ["dataset_id", name, "id"])
    op.create_table(
        "phrase_scores",
        sa.Column("pair_id", sa.Integer(), nullable=False),
        sa.Column("run_id", sa.Integer(), nullable=False),
        sa.Column("phrases", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["pair_id"], ["pairs.id"], name=op.f("fk_phrase_scores_pair_id")),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_phrase_scores_run_id")),
        sa.PrimaryKeyConstraint("pair_id", "run_id", name=op.f("pk_phrase_scores")),
    )
    op.create_index("ix_phrase_scores_run", "phrase_scores", ["run_id", "pair_id"])


def downgrade() -> None:
    op.drop_index("ix_phrase_scores_run", table_name="phrase_scores")
    op.drop_table("phrase_scores")
    for name in _COLUMNS:
        op.drop_index(f"ix_pairs_{name}", table_name="pairs")
        op.drop_column("pairs", name)
