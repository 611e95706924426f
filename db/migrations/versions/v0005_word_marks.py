"""Words that curators mark as wrong: the ground truth for localisation.

Revision ID: 0005
Revises: 0004
"""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "word_marks",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("pair_id", sa.Integer(), nullable=False),
        sa.Column("start", sa.Integer(), nullable=False),
        sa.Column("end", sa.Integer(), nullable=False),
        sa.Column("author", sa.String(length=255), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["pair_id"], ["pairs.id"], name=op.f("fk_word_marks_pair_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_word_marks")),
        sa.UniqueConstraint(
            "pair_id", "author", "start", "end", name=op.f("uq_word_marks_pair_id_author_start_end")
        ),
    )


def downgrade() -> None:
    op.drop_table("word_marks")
