"""What people say about single claims of a caption.

Revision ID: 0034
Revises: 0033
"""

import sqlalchemy as sa
from alembic import op

revision = "0034"
down_revision = "0033"
branch_labels = None
depends_on = None

_LABELLED = sa.text("claim_labels IS NOT NULL")


def upgrade() -> None:
    for table in ("pairs", "verdicts"):
        op.add_column(table, sa.Column("claim_labels", sa.JSON()))
    op.add_column("verdicts", sa.Column("claim", sa.Integer()))
    op.create_index(
        op.f("ix_pairs_claim_labels"), "pairs", ["dataset_id", "id"],
        sqlite_where=_LABELLED, postgresql_where=_LABELLED,
    )  # fmt: skip


def downgrade() -> None:
    op.drop_index(op.f("ix_pairs_claim_labels"), table_name="pairs")
    op.drop_column("verdicts", "claim")
    for table in ("verdicts", "pairs"):
        op.drop_column(table, "claim_labels")
