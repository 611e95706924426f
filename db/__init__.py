"""The store: models, migrations and queries. Independent of the engine and of the pages.

    store = open_store("sqlite:////home/me/traced/traced.db")
    with store.reading() as session:
        page = queue.page(session, QueueFilter(dataset_id=1), limit=24)

Files by layer: `models.py` (tables), `migrations/` (how a database gets them), `upgrade.py`
(`open_store`), `session.py` (connections and transactions), `backup.py` (an online
backup), `queries/` (one file per noun; plain functions, session first, frozen dataclasses out),
`blobs.py` (numbers packed into bytes).
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from db.session import Store
    from db.upgrade import head_revision, open_store

__all__ = ["Store", "head_revision", "open_store"]


def __getattr__(name: str) -> Any:
    """Import SQLAlchemy and Alembic lazily: `db.authors` and `db.processes` contain no SQL, and the
    command line needs them to print its help."""
    if name == "Store":
        from db.session import Store

        return Store
    if name in ("head_revision", "open_store"):
        from db import upgrade

        return getattr(upgrade, name)
    raise AttributeError(f"module 'db' has no attribute '{name}'")
