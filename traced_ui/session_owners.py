"""Which curator opened which of Gradio's sessions and events.

Gradio takes whoever names a session or an event for the one who opened it. With login, each belongs
to the account that named it first, and does not exist for others.
"""

import re
from collections import OrderedDict, defaultdict
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qsl

from starlette.types import Message, Scope, Send

#: Ids kept for each account; the least recently used are forgotten.
_MOST = 5000
_LONGEST = 200
_HEADER = b"session_hash"
_FIELDS = ("session_hash", "event_id")
#: The id of an event that an answer gives out.
_GIVEN = re.compile(rb'"event_id": ?"([\w-]+)"')


class SessionOwners:
    """The owners of the ids that were named since the start of the server."""

    def __init__(self) -> None:
        self._owner: dict[str, str] = {}
        self._ids: defaultdict[str, OrderedDict[str, None]] = defaultdict(OrderedDict)

    def may_use(self, name: str, ids: Iterator[str]) -> bool:
        """Whether all these ids belong to this account, or, from now on, because they are new."""
        named = list(ids)
        if any(self._owner.get(id, name) != name for id in named):
            return False
        for id in named:
            self._add(name, id)
        return True

    def _add(self, name: str, id: str) -> None:
        self._owner[id] = name
        ids = self._ids[name]
        ids[id] = None
        ids.move_to_end(id)
        while len(ids) > _MOST:
            del self._owner[ids.popitem(last=False)[0]]

    def recording(self, send: Send, name: str) -> Send:
        """Send an answer, and note the ids in the first part of its body."""
        is_first = True

        async def record(message: Message) -> None:
            nonlocal is_first
            if message["type"] == "http.response.body" and is_first and message.get("body"):
                is_first = False
                for id in _GIVEN.findall(message["body"][:4096]):
                    self._add(name, id.decode())
            await send(message)

        return record


def ids_in(scope: Scope, path: str, body: Any = None) -> Iterator[str]:
    """The sessions and events that a request to Gradio names. `path`: below its API; `body`: as
    JSON."""
    way, *rest = path.split("/")
    if way == "heartbeat" and rest:
        yield rest[-1][:_LONGEST]
    query = parse_qsl(scope.get("query_string", b"").decode("latin-1"))
    fields = [*query, *(body.items() if isinstance(body, dict) else ())]
    yield from (
        value[:_LONGEST]
        for key, value in fields
        if key in _FIELDS and isinstance(value, str) and value
    )
    for key, value in scope.get("headers") or ():
        if key == _HEADER:
            yield value.decode("latin-1")[:_LONGEST]
