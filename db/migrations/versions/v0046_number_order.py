"""The numbers of measures without a column have an index in their order, by dataset.

Revision ID: 0046
Revises: 0045
"""

import sqlalchemy as sa
from alembic import op

revision = "0046"
down_revision = "0045"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("pair_numbers", sa.Column("dataset_id", sa.Integer()))
    op.execute(
        "UPDATE pair_numbers SET dataset_id = "
        "(SELECT dataset_id FROM pairs WHERE pairs.id = pair_numbers.pair_id)"
    )
    with op.batch_alter_table("pair_numbers") as table:
        table.alter_column("dataset_id", existing_type=sa.Integer(), nullable=False)
        table.create_foreign_key(
            op.f("fk_pair_numbers_dataset_id"), "datasets", ["dataset_id"], ["id"]
        )
    op.create_index(
        op.f("ix_pair_numbers_order"), "pair_numbers",
        ["dataset_id", "measure", "value", "pair_id"],
    )  # fmt: skip


def downgrade() -> None:
    op.drop_index(op.f("ix_pair_numbers_order"), "pair_numbers")
    with op.batch_alter_table("pair_numbers") as table:
        table.drop_constraint(op.f("fk_pair_numbers_dataset_id"), type_="foreignkey")
        table.drop_column("dataset_id")
