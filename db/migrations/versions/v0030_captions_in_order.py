"""An index of the beginnings of captions, for a table sorted by them; it also finds pairs without.

Revision ID: 0030
Revises: 0029
"""

import sqlalchemy as sa
from alembic import op

revision = "0030"
down_revision = "0029"
branch_labels = None
depends_on = None

_UNCAPTIONED = sa.text("caption = ''")


def upgrade() -> None:
    start = sa.text("substr(caption, 1, 80)")
    op.create_index("ix_pairs_caption", "pairs", ["dataset_id", start, "id"])
    op.drop_index("ix_pairs_uncaptioned", "pairs")
    # Where indexes promise the same, SQLite takes the newest: whole datasets are read as they lie,
    # and few of their pairs by the indexes of those few.
    for name, only in (("position", None), ("noted", "note != ''"), ("hidden", "hidden")):
        op.drop_index(f"ix_pairs_{name}", "pairs")
        where = None if only is None else sa.text(only)
        op.create_index(
            f"ix_pairs_{name}", "pairs", ["dataset_id", "id"], sqlite_where=where,
            postgresql_where=where,
        )  # fmt: skip


def downgrade() -> None:
    op.create_index(
        "ix_pairs_uncaptioned", "pairs", ["dataset_id", "id"], sqlite_where=_UNCAPTIONED,
        postgresql_where=_UNCAPTIONED,
    )  # fmt: skip
    op.drop_index("ix_pairs_caption", "pairs")
