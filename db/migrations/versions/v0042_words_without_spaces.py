"""Han and kana are divided into words; until now each character was one.

Trajectories of such captions name their words by number, so they are deleted, and the next scoring
computes them again. What people see of them until then is stored by characters, and stays.

Revision ID: 0042
Revises: 0041
"""

import re

import sqlalchemy as sa
from alembic import op

revision = "0042"
down_revision = "0041"
branch_labels = None
depends_on = None

_UNSPACED = re.compile(
    "[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f]"
)
_AT_ONCE = 5000
_BY_WORD = ("trajectories", "copy_trajectories")


def upgrade() -> None:
    connection = op.get_bind()
    after = 0
    batch = sa.text("SELECT id, caption FROM pairs WHERE id > :after ORDER BY id LIMIT :most")
    while rows := connection.execute(batch, {"after": after, "most": _AT_ONCE}).all():
        after = rows[-1].id
        pairs = [{"pair": row.id} for row in rows if _UNSPACED.search(row.caption)]
        for table in _BY_WORD if pairs else ():
            connection.execute(sa.text(f"DELETE FROM {table} WHERE pair_id = :pair"), pairs)


def downgrade() -> None:
    pass
