"""When a dataset was imported last, and how its source was read.

Revision ID: 0044
Revises: 0043
"""

import sqlalchemy as sa
from alembic import op

revision = "0044"
down_revision = "0043"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("datasets", sa.Column("imported_at", sa.DateTime(timezone=True)))
    op.add_column(
        "datasets", sa.Column("read_options", sa.JSON(), server_default="{}", nullable=False)
    )


def downgrade() -> None:
    op.drop_column("datasets", "read_options")
    op.drop_column("datasets", "imported_at")
