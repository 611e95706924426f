"""The numbers of measures that have no column of their own, such as those of plug-ins.

Revision ID: 0035
Revises: 0034
"""

import sqlalchemy as sa
from alembic import op

revision = "0035"
down_revision = "0034"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "pair_numbers",
        sa.Column("pair_id", sa.Integer(), nullable=False),
        sa.Column("measure", sa.String(40), nullable=False),
        sa.Column("value", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(["pair_id"], ["pairs.id"], name=op.f("fk_pair_numbers_pair_id")),
        sa.PrimaryKeyConstraint("pair_id", "measure", name=op.f("pk_pair_numbers")),
    )


def downgrade() -> None:
    op.drop_table("pair_numbers")
