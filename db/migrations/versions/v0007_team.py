"""Several curators: accounts, claims, each one's own opinion; what pairs have in common.

Revision ID: 0007
Revises: 0006
"""

from collections.abc import Iterable
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

_DECISION_IS_KNOWN = "decision IN ('correct', 'correction', 'drop', 'abstract', 'unsure')"
_CORRECTION_HAS_CAPTION = "(decision = 'correction') = (corrected_caption IS NOT NULL)"


def upgrade() -> None:
    op.create_table(
        "curators",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("password_hash", sa.String(length=255), nullable=False),
        sa.Column("role", sa.String(length=16), nullable=False),
        sa.Column("active", sa.Boolean(), server_default=sa.true(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint(
            "role IN ('curator', 'adjudicator')", name=op.f("ck_curators_role_is_known")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_curators")),
        sa.UniqueConstraint("name", name=op.f("uq_curators_name")),
    )
    op.create_table(
        "logins",
        sa.Column("token_digest", sa.LargeBinary(length=32), nullable=False),
        sa.Column("curator_id", sa.Integer(), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["curator_id"], ["curators.id"], name=op.f("fk_logins_curator_id")),
        sa.PrimaryKeyConstraint("token_digest", name=op.f("pk_logins")),
    )
    op.create_index(op.f("ix_logins_curator_id"), "logins", ["curator_id"], unique=False)
    op.create_table(
        "claims",
        sa.Column("pair_id", sa.Integer(), nullable=False),
        sa.Column("curator", sa.String(length=255), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["pair_id"], ["pairs.id"], name=op.f("fk_claims_pair_id")),
        sa.PrimaryKeyConstraint("pair_id", name=op.f("pk_claims")),
    )
    op.create_index(op.f("ix_claims_curator"), "claims", ["curator"], unique=False)
    op.create_table(
        "opinions",
        sa.Column("pair_id", sa.Integer(), nullable=False),
        sa.Column("author", sa.String(length=255), nullable=False),
        sa.Column("decision", sa.String(length=16), nullable=False),
        sa.Column("corrected_caption", sa.Text(), nullable=True),
        sa.Column("settles", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("decided_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint(_DECISION_IS_KNOWN, name=op.f("ck_opinions_decision_is_known")),
        sa.CheckConstraint(
            _CORRECTION_HAS_CAPTION, name=op.f("ck_opinions_correction_has_caption")
        ),
        sa.ForeignKeyConstraint(["pair_id"], ["pairs.id"], name=op.f("fk_opinions_pair_id")),
        sa.PrimaryKeyConstraint("pair_id", "author", name=op.f("pk_opinions")),
    )
    _opinions_from_verdicts()
    for name, kind, default in (
        ("overlap_share", sa.Double(), "0"),
        ("overlap_people", sa.Integer(), "2"),
    ):
        column = sa.Column(name, kind, server_default=sa.text(default), nullable=False)
        op.add_column("datasets", column)
    op.add_column("pairs", sa.Column("suspect_word", sa.String(length=64), nullable=True))
    op.add_column("pairs", sa.Column("suspect_kind", sa.String(length=32), nullable=True))
    op.add_column("pairs", sa.Column("disagreement", sa.Double(), nullable=True))
    op.create_index(
        "ix_pairs_disagreement", "pairs", ["dataset_id", sa.text("disagreement DESC"), "id"]
    )
    for name in ("suspect_word", "suspect_kind"):
        op.create_index(
            f"ix_pairs_{name}", "pairs", ["dataset_id", name, sa.text("p_error DESC"), "id"]
        )


def downgrade() -> None:
    for name in ("suspect_kind", "suspect_word", "disagreement"):
        op.drop_index(f"ix_pairs_{name}", table_name="pairs")
        op.drop_column("pairs", name)
    op.drop_column("datasets", "overlap_people")
    op.drop_column("datasets", "overlap_share")
    for table in ("opinions", "claims", "logins", "curators"):
        op.drop_table(table)


def _opinions_from_verdicts() -> None:
    """Each curator's newest decision on a pair that they have not undone."""
    bind = op.get_bind()
    acts = bind.execute(
        sa.text(
            "SELECT pair_id, author, version, decision, corrected_caption, created_at, undoes,"
            " redoes FROM verdicts ORDER BY pair_id, version"
        )
    )
    waiting: list[dict[str, Any]] = []
    insert = sa.text(
        "INSERT INTO opinions (pair_id, author, decision, corrected_caption, decided_at) VALUES"
        " (:pair_id, :author, :decision, :corrected_caption, :created_at)"
    )
    of_pair: list[Any] = []
    for act in acts:
        if of_pair and act.pair_id != of_pair[0].pair_id:
            waiting += _standing(of_pair)
            of_pair = []
        of_pair.append(act)
    waiting += _standing(of_pair)
    if waiting:
        bind.execute(insert, waiting)


def _standing(acts: Iterable[Any]) -> list[dict[str, Any]]:
    """Each author's decision on one pair that is still in effect."""
    given: dict[int, Any] = {}
    taken_back: set[int] = set()
    for act in acts:
        if act.undoes is not None:
            taken_back.add(act.undoes)
        elif act.redoes is not None:
            taken_back.discard(act.redoes)
        else:
            given[act.version] = act
    last = {act.author: act for version, act in given.items() if version not in taken_back}
    return [
        {
            "pair_id": act.pair_id,
            "author": act.author,
            "decision": act.decision,
            "corrected_caption": act.corrected_caption,
            "created_at": act.created_at,
        }
        for act in last.values()
    ]
