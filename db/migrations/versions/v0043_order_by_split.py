"""The index of the table that is sorted by split.

Revision ID: 0043
Revises: 0042
"""

from alembic import op

revision = "0043"
down_revision = "0042"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_index("ix_pairs_by_split", "pairs", ["dataset_id", "split", "id"])


def downgrade() -> None:
    op.drop_index("ix_pairs_by_split", table_name="pairs")
