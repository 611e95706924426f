"""Values by name, for what belongs to the database and not to a machine."""

import uuid
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from db.models import Setting
from db.queries.statements import insert_for

_IDENTITY = "identity"


def get_setting(session: Session, key: str, default: Any = None) -> Any:
    """The value stored under `key`, or `default`."""
    row = session.execute(select(Setting.value).where(Setting.key == key)).one_or_none()
    return default if row is None else row.value


def set_setting(session: Session, key: str, value: Any) -> None:
    """Store anything that JSON can hold."""
    insert = insert_for(session, Setting)
    session.execute(
        insert.values(key=key, value=value).on_conflict_do_update(
            index_elements=["key"], set_={"value": insert.excluded.value}
        )
    )


def identity(session: Session) -> str:
    """A name that no other database has, given at the first call; needs a `writing()` session.

    What is kept beside the database under its datasets' ids is kept under this name.
    """
    insert = insert_for(session, Setting)
    session.execute(insert.values(key=_IDENTITY, value=uuid.uuid4().hex).on_conflict_do_nothing())
    return str(get_setting(session, _IDENTITY))
