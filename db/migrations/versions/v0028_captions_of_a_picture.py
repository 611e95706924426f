"""An index of pairs by picture, for the captions of one picture and the order by picture.

Revision ID: 0028
Revises: 0027
"""

import sqlalchemy as sa
from alembic import op

revision = "0028"
down_revision = "0027"
branch_labels = None
depends_on = None


def upgrade() -> None:
    picture = sa.text("substr(image_path, 1, 400)")
    op.create_index("ix_pairs_picture", "pairs", ["dataset_id", picture, "id"])


def downgrade() -> None:
    op.drop_index("ix_pairs_picture", "pairs")
