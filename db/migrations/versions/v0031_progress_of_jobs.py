"""How far a job is, and how it ended, as data beside the words.

Revision ID: 0031
Revises: 0030
"""

import sqlalchemy as sa
from alembic import op

revision = "0031"
down_revision = "0030"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("jobs", sa.Column("step", sa.JSON(), nullable=False, server_default="{}"))
    op.add_column("jobs", sa.Column("failure", sa.String(64), nullable=False, server_default=""))
    op.add_column("jobs", sa.Column("continued_by", sa.Integer(), nullable=True))


def downgrade() -> None:
    with op.batch_alter_table("jobs") as jobs:
        for name in ("continued_by", "failure", "step"):
            jobs.drop_column(name)
