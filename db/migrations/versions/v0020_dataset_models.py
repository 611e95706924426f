"""A dataset remembers the models that it was scored with.

Revision ID: 0020
Revises: 0019
"""

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("datasets", sa.Column("models", sa.JSON(), server_default="{}", nullable=False))


def downgrade() -> None:
    op.drop_column("datasets", "models")
