"""Pairs that are gone from their source can be hidden.

Revision ID: 0023
Revises: 0022
"""

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(
        "pairs", sa.Column("hidden", sa.Boolean(), server_default=sa.false(), nullable=False)
    )
    op.create_index(
        "ix_pairs_hidden",
        "pairs",
        ["dataset_id", "id"],
        sqlite_where=sa.text("hidden"),
        postgresql_where=sa.text("hidden"),
    )


def downgrade() -> None:
    op.drop_index("ix_pairs_hidden", table_name="pairs")
    op.drop_column("pairs", "hidden")
