"""Requests that are done once, on SQLite and on PostgreSQL."""

from datetime import timedelta
from itertools import count

from db import Store
from db.column_types import now
from db.queries import request_queries
from db.queries.request_queries import KEPT


def test_a_request_is_done_once_until_it_is_forgotten(store: Store) -> None:
    acts = count(1)

    def request(author: str) -> int:
        with store.writing() as session:
            return request_queries.run_idempotent(session, author, "r1", lambda: next(acts))

    def forget(after: timedelta) -> int:
        with store.writing() as session:
            return request_queries.forget_old(session, now() + after)

    assert [request("ann"), request("ann"), request("ben"), request("ben")] == [1, 1, 2, 2]
    assert forget(KEPT - timedelta(days=1)) == 0
    assert request("ann") == 1
    assert forget(KEPT + timedelta(days=1)) == 2
    assert request("ann") == 3
