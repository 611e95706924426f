"""What acts of pages have led to, by the id of their request: one that arrives twice is done once.

Revision ID: 0041
Revises: 0040
"""

import sqlalchemy as sa
from alembic import op

revision = "0041"
down_revision = "0040"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "page_requests",
        sa.Column("id", sa.String(64), nullable=False),
        sa.Column("author", sa.String(255), nullable=False),
        sa.Column("outcome", sa.JSON()),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", "author", name=op.f("pk_page_requests")),
    )


def downgrade() -> None:
    op.drop_table("page_requests")
