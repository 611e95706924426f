"""Second opinions: what a model behind a server says about pairs.

Revision ID: 0026
Revises: 0025
"""

import sqlalchemy as sa
from alembic import op

revision = "0026"
down_revision = "0025"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("pairs", sa.Column("second_opinion", sa.Double(), nullable=True))
    op.create_table(
        "second_opinions",
        sa.Column("pair_id", sa.Integer(), nullable=False),
        sa.Column("run_id", sa.Integer(), nullable=False),
        sa.Column("p_yes", sa.Double(), nullable=True),
        sa.Column("deletions", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["pair_id"], ["pairs.id"], name=op.f("fk_second_opinions_pair_id")),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_second_opinions_run_id")),
        sa.PrimaryKeyConstraint("pair_id", "run_id", name=op.f("pk_second_opinions")),
    )
    op.create_index("ix_second_opinions_run", "second_opinions", ["run_id", "pair_id"])


def downgrade() -> None:
    op.drop_table("second_opinions")
    op.drop_column("pairs", "second_opinion")
