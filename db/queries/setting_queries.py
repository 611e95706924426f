"""Settings of a database: what is the same for all its datasets."""

import secrets
import uuid
from typing import Any

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from db.models import Setting
from db.queries.statements import (
    insert_for,
    save_rows,
)

_IDENTITY = "identity"
_DEVICE_SECRET = "device_secret"


def get_setting(session: Session, key: str, default: Any = None) -> Any:
    """The value stored under `key`, or `default`."""
    row = session.execute(select(Setting.value).where(Setting.key == key)).one_or_none()
    return default if row is None else row.value


def set_setting(session: Session, key: str, value: Any) -> None:
    """Store `value`, which must be JSON-serialisable, under `key`."""
    save_rows(session, Setting, ("key",), [{"key": key, "value": value}])


def identity(session: Session) -> str:
    """A unique name of this database, created at the first call; needs a `writing()` session.

    Files outside the database that belong to its dataset ids are stored under this name.
    """
    return _keep(session, _IDENTITY, uuid.uuid4().hex)


def device_secret(session: Session) -> bytes:
    """The key that signs device cookies, created at the first call; needs a `writing()` session."""
    return bytes.fromhex(_keep(session, _DEVICE_SECRET, secrets.token_hex(32)))


def forget_all(session: Session) -> None:
    """Delete all settings, so that the database gets a new identity and a new secret."""
    session.execute(delete(Setting))


def _keep(session: Session, key: str, value: str) -> str:
    """The value stored under `key`; `value` is stored first if there is none."""
    insert = insert_for(session, Setting)
    session.execute(insert.values(key=key, value=value).on_conflict_do_nothing())
    return str(get_setting(session, key))
