"""Tags: people's own words on pairs.

Revision ID: 0025
Revises: 0024
"""

import sqlalchemy as sa
from alembic import op

revision = "0025"
down_revision = "0024"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "pair_tags",
        sa.Column("name", sa.String(length=64), nullable=False),
        sa.Column("pair_id", sa.Integer(), nullable=False),
        sa.Column("author", sa.String(length=255), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["pair_id"], ["pairs.id"], name=op.f("fk_pair_tags_pair_id")),
        sa.PrimaryKeyConstraint("name", "pair_id", name=op.f("pk_pair_tags")),
    )
    op.create_index(op.f("ix_pair_tags_pair_id"), "pair_tags", ["pair_id"], unique=False)


def downgrade() -> None:
    op.drop_index(op.f("ix_pair_tags_pair_id"), table_name="pair_tags")
    op.drop_table("pair_tags")
