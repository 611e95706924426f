"""Keys of programs."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import delete, insert, select
from sqlalchemy.orm import Session

from db.errors import MissingRow
from db.models import ApiKey, Curator
from db.queries.statements import check_text, find_record, read_records, record


@dataclass(frozen=True)
class ApiKeyRow:
    """`name`: the account for which the key acts; `may_review`: whether it may write."""

    id: int
    name: str
    label: str
    may_review: bool
    created_at: datetime


_ROWS = select(ApiKey.id, Curator.name, ApiKey.label, ApiKey.may_review, ApiKey.created_at).join(
    Curator, ApiKey.curator_id == Curator.id
)


def add_key(
    session: Session, curator_id: int, label: str, digest: bytes, may_review: bool
) -> ApiKeyRow:
    check_text(label, "The key's label", 80)
    session.execute(
        insert(ApiKey).values(
            curator_id=curator_id, label=label, digest=digest, may_review=may_review
        )
    )
    return record(ApiKeyRow, session.execute(_ROWS.where(ApiKey.digest == digest)).one())


def list_keys(session: Session, name: str | None = None) -> list[ApiKeyRow]:
    """The keys of an account (None: of all), oldest first."""
    query = _ROWS if name is None else _ROWS.where(Curator.name == name)
    return read_records(session, ApiKeyRow, query.order_by(ApiKey.id))


def find_key(session: Session, digest: bytes) -> ApiKeyRow | None:
    """The key with this digest; None if there is none, or its account is inactive."""
    return find_record(session, ApiKeyRow, _ROWS.where(ApiKey.digest == digest, Curator.active))


def remove_key(session: Session, key_id: int, name: str | None = None) -> None:
    """Remove a key, if `name` is given only of this account. Raises MissingRow."""
    if key_id not in {key.id for key in list_keys(session, name)}:
        raise MissingRow(f"There is no key {key_id}.")
    session.execute(delete(ApiKey).where(ApiKey.id == key_id))
