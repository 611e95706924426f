"""An index of the pairs without a caption, for the queue of pictures to be described.

Revision ID: 0029
Revises: 0028
"""

import sqlalchemy as sa
from alembic import op

revision = "0029"
down_revision = "0028"
branch_labels = None
depends_on = None

_UNCAPTIONED = sa.text("caption = ''")


def upgrade() -> None:
    op.create_index(
        "ix_pairs_uncaptioned", "pairs", ["dataset_id", "id"], sqlite_where=_UNCAPTIONED,
        postgresql_where=_UNCAPTIONED,
    )  # fmt: skip


def downgrade() -> None:
    op.drop_index("ix_pairs_uncaptioned", "pairs")
