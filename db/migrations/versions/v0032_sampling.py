"""How a pair had come to be shown to whoever judged it.

Revision ID: 0032
Revises: 0031
"""

import sqlalchemy as sa
from alembic import op

revision = "0032"
down_revision = "0031"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for table in ("pairs", "verdicts"):
        op.add_column(
            table, sa.Column("sampling", sa.String(16), nullable=False, server_default="")
        )


def downgrade() -> None:
    for table in ("verdicts", "pairs"):
        op.drop_column(table, "sampling")
