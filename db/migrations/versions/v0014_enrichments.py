"""A true but generic caption may be enriched: an accepted enrichment is not an error.

Revision ID: 0014
Revises: 0013
"""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None

_TABLES = ("pairs", "verdicts", "opinions")


def upgrade() -> None:
    op.add_column(
        "suggestions",
        sa.Column("kind", sa.String(length=16), server_default="correction", nullable=False),
    )
    for table in _TABLES:
        op.add_column(
            table, sa.Column("enriches", sa.Boolean(), server_default=sa.false(), nullable=False)
        )


def downgrade() -> None:
    for table in _TABLES:
        op.drop_column(table, "enriches")
    op.drop_column("suggestions", "kind")
