"""The store: models, migrations and queries. Knows nothing of the engine or of the pages.

    store = open_store("sqlite:////home/me/traced/traced.db")
    with store.reading() as session:
        page = queue.page(session, QueueFilter(dataset_id=1), limit=24)

Files by layer: `models.py` (tables), `migrations/` (how a database gets them), `upgrade.py`
(`open_store`), `session.py` (connections and transactions), `backup.py` (a copy while others
work), `queries/` (one file a noun; plain functions, session first, frozen dataclasses out),
`blobs.py` (numbers packed into bytes).
"""

from db.session import Store
from db.upgrade import head_revision, open_store

__all__ = ["Store", "head_revision", "open_store"]
