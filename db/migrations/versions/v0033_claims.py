"""Captions of several claims: a trajectory for each of them, and their newest numbers.

What was called a claim, a pair on somebody's screen, is a hold; holds last for minutes, so that
none is taken along.

Revision ID: 0033
Revises: 0032
"""

import sqlalchemy as sa
from alembic import op

revision = "0033"
down_revision = "0032"
branch_labels = None
depends_on = None

_KEY, _SHORTER_KEY = ("pair_id", "run_id", "start"), ("pair_id", "run_id")


def upgrade() -> None:
    op.drop_table("claims")
    _create_holds("holds")
    op.create_table(
        "claims",
        sa.Column("pair_id", sa.Integer(), nullable=False),
        sa.Column("start", sa.Integer(), nullable=False),
        sa.Column("end", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("repeats", sa.Boolean(), server_default=sa.false(), nullable=False),
        *(sa.Column(name, sa.Double()) for name in ("s_0", "gain", "icc", "p_error")),
        sa.ForeignKeyConstraint(["pair_id"], ["pairs.id"], name=op.f("fk_claims_pair_id")),
        sa.PrimaryKeyConstraint("pair_id", "start", name=op.f("pk_claims")),
    )
    op.add_column("pairs", sa.Column("claims", sa.Integer()))
    op.add_column("pairs", sa.Column("vague_claims", sa.Integer()))
    op.add_column(
        "trajectories",
        sa.Column("start", sa.Integer(), server_default=sa.text("0"), nullable=False),
    )
    op.add_column("trajectories", sa.Column("end", sa.Integer()))
    _replace_key(_KEY)


def downgrade() -> None:
    op.execute('DELETE FROM trajectories WHERE "end" IS NOT NULL')
    _replace_key(_SHORTER_KEY)
    op.drop_column("trajectories", "end")
    op.drop_column("trajectories", "start")
    op.drop_column("pairs", "vague_claims")
    op.drop_column("pairs", "claims")
    op.drop_table("claims")
    op.drop_table("holds")
    _create_holds("claims")


def _create_holds(name: str) -> None:
    op.create_table(
        name,
        sa.Column("pair_id", sa.Integer(), nullable=False),
        sa.Column("curator", sa.String(255), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["pair_id"], ["pairs.id"], name=op.f(f"fk_{name}_pair_id")),
        sa.PrimaryKeyConstraint("pair_id", name=op.f(f"pk_{name}")),
    )
    op.create_index(op.f(f"ix_{name}_curator"), name, ["curator"])


def _replace_key(columns: tuple[str, ...]) -> None:
    with op.batch_alter_table("trajectories") as table:  # SQLite copies the table
        table.drop_constraint("pk_trajectories", type_="primary")
        table.create_primary_key("pk_trajectories", list(columns))
