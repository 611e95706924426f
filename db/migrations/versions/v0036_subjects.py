"""What the pronoun stands for with which a claim begins.

Revision ID: 0036
Revises: 0035
"""

import sqlalchemy as sa
from alembic import op

revision = "0036"
down_revision = "0035"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("claims", sa.Column("subject", sa.Text(), server_default="", nullable=False))


def downgrade() -> None:
    op.drop_column("claims", "subject")
