"""A verdict that only labels: the caption is wrong, and the pair stays as it is.

Revision ID: 0024
Revises: 0023
"""

from db.decision_check import replace_decision_check

revision = "0024"
down_revision = "0023"
branch_labels = None
depends_on = None

_BEFORE = ("correct", "correction", "drop", "abstract", "unsure")
_AFTER = ("correct", "correction", "drop", "wrong", "abstract", "unsure")


def upgrade() -> None:
    replace_decision_check(_BEFORE, _AFTER)


def downgrade() -> None:
    replace_decision_check(_AFTER, _BEFORE)
