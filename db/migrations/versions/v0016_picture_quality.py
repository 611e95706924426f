"""What is wrong with pictures, apart from their captions.

Revision ID: 0016
Revises: 0015
"""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None

_NUMBERS = (
    "brightness_perc_5", "brightness_perc_99", "aspect_ratio", "entropy", "blurriness",
    "blurriness_grayscale_std", "size",
)  # fmt: skip


def upgrade() -> None:
    op.create_table(
        "picture_signals",
        sa.Column("pair_id", sa.Integer(), nullable=False),
        *(sa.Column(name, sa.Double(), nullable=False) for name in _NUMBERS),
        sa.Column("pixels", sa.String(length=32), nullable=False),
        sa.Column("phash", sa.String(length=16), nullable=False),
        sa.ForeignKeyConstraint(["pair_id"], ["pairs.id"], name=op.f("fk_picture_signals_pair_id")),
        sa.PrimaryKeyConstraint("pair_id", name=op.f("pk_picture_signals")),
    )
    op.create_table(
        "picture_issues",
        sa.Column("pair_id", sa.Integer(), nullable=False),
        sa.Column("issue", sa.String(length=32), nullable=False),
        sa.ForeignKeyConstraint(["pair_id"], ["pairs.id"], name=op.f("fk_picture_issues_pair_id")),
        sa.PrimaryKeyConstraint("pair_id", "issue", name=op.f("pk_picture_issues")),
    )
    op.create_index("ix_picture_issues_issue", "picture_issues", ["issue", "pair_id"])


def downgrade() -> None:
    op.drop_table("picture_issues")
    op.drop_table("picture_signals")
