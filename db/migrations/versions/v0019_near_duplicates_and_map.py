"""Groups of near duplicates, and where pictures lie on the map.

Revision ID: 0019
Revises: 0018
"""

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "near_duplicates",
        sa.Column("pair_id", sa.Integer(), nullable=False),
        sa.Column("group_id", sa.Integer(), nullable=False),
        sa.Column("similarity", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(["pair_id"], ["pairs.id"], name=op.f("fk_near_duplicates_pair_id")),
        sa.PrimaryKeyConstraint("pair_id", name=op.f("pk_near_duplicates")),
    )
    op.create_index("ix_near_duplicates_group", "near_duplicates", ["group_id", "pair_id"])
    op.create_table(
        "map_places",
        sa.Column("pair_id", sa.Integer(), nullable=False),
        sa.Column("x", sa.Double(), nullable=False),
        sa.Column("y", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(["pair_id"], ["pairs.id"], name=op.f("fk_map_places_pair_id")),
        sa.PrimaryKeyConstraint("pair_id", name=op.f("pk_map_places")),
    )
    op.create_index("ix_map_places_place", "map_places", ["x", "y", "pair_id"])


def downgrade() -> None:
    op.drop_table("map_places")
    op.drop_table("near_duplicates")
