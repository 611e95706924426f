"""What a second model says of a pair, which few pairs have and nobody sorts by, is a row of
`pair_numbers` instead of a column of `pairs`.

Revision ID: 0045
Revises: 0044
"""

import sqlalchemy as sa
from alembic import op

revision = "0045"
down_revision = "0044"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute(
        "INSERT INTO pair_numbers (pair_id, measure, value) SELECT id, 'second_opinion', "
        "second_opinion FROM pairs WHERE second_opinion IS NOT NULL"
    )
    op.drop_column("pairs", "second_opinion")


def downgrade() -> None:
    op.add_column("pairs", sa.Column("second_opinion", sa.Double()))
    op.execute(
        "UPDATE pairs SET second_opinion = (SELECT value FROM pair_numbers WHERE pair_id = "
        "pairs.id AND measure = 'second_opinion')"
    )
    op.execute("DELETE FROM pair_numbers WHERE measure = 'second_opinion'")
