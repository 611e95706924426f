"""Trajectories keep the second opinion of a model that has two scores.

Revision ID: 0009
Revises: 0008
"""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

_COLUMNS = ("second_scores", "second_first_step_scores")


def upgrade() -> None:
    for name in _COLUMNS:
        op.add_column("trajectories", sa.Column(name, sa.LargeBinary(), nullable=True))


def downgrade() -> None:
    for name in _COLUMNS:
        op.drop_column("trajectories", name)
