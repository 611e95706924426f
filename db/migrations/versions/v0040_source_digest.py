"""A digest of what was imported.

Revision ID: 0040
Revises: 0039
"""

import sqlalchemy as sa
from alembic import op

revision = "0040"
down_revision = "0039"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(
        "datasets", sa.Column("source_digest", sa.String(64), server_default="", nullable=False)
    )


def downgrade() -> None:
    op.drop_column("datasets", "source_digest")
