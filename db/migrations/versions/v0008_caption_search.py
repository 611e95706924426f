"""Captions can be searched without reading them all: a trigram index on either database.

Revision ID: 0008
Revises: 0007
"""

from alembic import op

from db.caption_search import POSTGRESQL, SQLITE

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    if op.get_bind().dialect.name == "sqlite":
        for statement in SQLITE:
            op.execute(statement)
        op.execute("INSERT INTO pair_captions (pair_captions) VALUES ('rebuild')")
    else:
        for statement in POSTGRESQL:
            op.execute(statement)


def downgrade() -> None:
    if op.get_bind().dialect.name == "sqlite":
        for name in ("insert", "delete", "update"):
            op.execute(f"DROP TRIGGER pair_captions_{name}")
        op.execute("DROP TABLE pair_captions")
    else:
        op.execute("DROP INDEX ix_pairs_caption_trigrams")
