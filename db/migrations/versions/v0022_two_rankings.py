"""Probabilities of error in two columns: the next ranking is written next to the one in use.

Revision ID: 0022
Revises: 0021
"""

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None

#: Name, columns before the probability, and condition of each index on the second column.
_INDEXES = (
    ("p_error", (), None),
    ("suspect_word", ("suspect_word",), None),
    ("suspect_kind", ("suspect_kind",), None),
    ("split", ("split",), None),
    ("unreviewed", (), "decision IS NULL"),
    ("decided", ("decision",), "decision IS NOT NULL"),
)


def upgrade() -> None:
    op.execute("ALTER TABLE pairs RENAME COLUMN p_error TO p_error_even")
    op.add_column("pairs", sa.Column("p_error_odd", sa.Double(), nullable=True))
    op.add_column(
        "datasets",
        sa.Column("ranking", sa.Integer(), server_default=sa.text("0"), nullable=False),
    )
    op.add_column("datasets", sa.Column("ranking_claim", sa.String(length=32), nullable=True))
    for name, columns, condition in _INDEXES:
        where = None if condition is None else sa.text(condition)
        op.create_index(
            f"ix_pairs_{name}_odd",
            "pairs",
            ["dataset_id", *columns, sa.text("p_error_odd DESC"), "id"],
            sqlite_where=where,
            postgresql_where=where,
        )


def downgrade() -> None:
    op.execute(
        "UPDATE pairs SET p_error_even = p_error_odd WHERE dataset_id IN "
        "(SELECT id FROM datasets WHERE ranking % 2 = 1)"
    )
    for name, _, _ in _INDEXES:
        op.drop_index(f"ix_pairs_{name}_odd", table_name="pairs")
    op.drop_column("datasets", "ranking_claim")
    op.drop_column("datasets", "ranking")
    op.drop_column("pairs", "p_error_odd")
    op.execute("ALTER TABLE pairs RENAME COLUMN p_error_even TO p_error")
