"""Accounts, logins, and keys of programs."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from db.column_types import now
from db.errors import AlreadyExists, MissingRow, UnstorableText
from db.models import ROLES, ApiKey, Curator, Login
from db.queries.statements import (
    check_name,
    check_text,
    columns_of,
    find_record,
    get_record,
    read_records,
    record,
)


@dataclass(frozen=True)
class CuratorRow:
    """An account; `role` is 'curator' or 'adjudicator'."""

    id: int
    name: str
    password_hash: str
    role: str
    active: bool
    created_at: datetime


_COLUMNS = columns_of(Curator, CuratorRow)


def add_curator(session: Session, name: str, password_hash: str, role: str) -> CuratorRow:
    """Raises `AlreadyExists` if the name is taken, ValueError for an unknown role."""
    check_name(name, "The curator's name", 255)
    if role not in ROLES:
        raise ValueError(f"'{role}' is not a role; the roles are {', '.join(ROLES)}")
    try:
        session.execute(
            insert(Curator).values(name=name, password_hash=password_hash, role=role, active=True)
        )
    except IntegrityError as error:
        session.rollback()
        raise AlreadyExists(f"There is already an account named '{name}'.") from error
    return get_curator(session, name)


def list_curators(session: Session) -> list[CuratorRow]:
    """All accounts by name, inactive ones included."""
    return read_records(session, CuratorRow, select(*_COLUMNS).order_by(Curator.name))


def get_curator(session: Session, name: str) -> CuratorRow:
    """Raises `MissingRow`; also for names that PostgreSQL could not store."""
    try:
        check_text(name, "The name")
    except UnstorableText:
        raise MissingRow(f"There is no account named {name!r}.") from None
    query = select(*_COLUMNS).where(Curator.name == name)
    return get_record(session, CuratorRow, query, f"There is no account named '{name}'.")


def is_adjudicator(session: Session, name: str) -> bool:
    """Whether the account of this name exists and may settle disagreements."""
    query = select(Curator.id).where(Curator.name == name, Curator.role == "adjudicator")
    return session.execute(query).one_or_none() is not None


def change_curator(
    session: Session,
    name: str,
    password_hash: str | None = None,
    role: str | None = None,
    active: bool | None = None,
) -> CuratorRow:
    """Change the given fields. The account's logins end, and if it is closed its keys. Raises
    `MissingRow`."""
    curator = get_curator(session, name)
    values = {"password_hash": password_hash, "role": role, "active": active}
    changes = {key: value for key, value in values.items() if value is not None}
    session.execute(update(Curator).where(Curator.id == curator.id).values(changes))
    session.execute(delete(Login).where(Login.curator_id == curator.id))
    if active is False:
        session.execute(delete(ApiKey).where(ApiKey.curator_id == curator.id))
    return get_curator(session, name)


def count_active(session: Session) -> int:
    query = select(func.count()).select_from(Curator).where(Curator.active)
    return session.execute(query).scalar_one()


def add_login(session: Session, curator_id: int, token_digest: bytes, expires_at: datetime) -> None:
    """Add a browser's login and delete expired ones."""
    session.execute(delete(Login).where(Login.expires_at <= now()))
    session.execute(
        insert(Login).values(
            curator_id=curator_id, token_digest=token_digest, expires_at=expires_at
        )
    )


def logged_in(session: Session, token_digest: bytes) -> CuratorRow | None:
    """The account of a login, None if it has expired or the account is inactive."""
    query = select(*_COLUMNS).join(Login, Login.curator_id == Curator.id)
    is_valid = (Login.token_digest == token_digest, Login.expires_at > now(), Curator.active)
    return find_record(session, CuratorRow, query.where(*is_valid))


def end_login(session: Session, token_digests: Sequence[bytes]) -> None:
    session.execute(delete(Login).where(Login.token_digest.in_(token_digests)))


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
    check_name(label, "The key's label", 80)
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
