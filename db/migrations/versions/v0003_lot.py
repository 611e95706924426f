"""Pairs get a random number, whose order is that of the random audit.

Revision ID: 0003
Revises: 0002
"""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(
        "pairs", sa.Column("lot", sa.Double(), server_default=sa.text("0"), nullable=False)
    )
    if op.get_bind().dialect.name == "sqlite":
        # random() is a whole number of 64 bits with a sign.
        op.execute("UPDATE pairs SET lot = (random() & 9007199254740991) / 9007199254740992.0")
    else:
        op.execute("UPDATE pairs SET lot = random()")
    op.create_index("ix_pairs_lot", "pairs", ["dataset_id", "lot", "id"], unique=False)


def downgrade() -> None:
    op.drop_index("ix_pairs_lot", table_name="pairs")
    op.drop_column("pairs", "lot")
