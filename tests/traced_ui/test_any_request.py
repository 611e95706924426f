"""Requests drawn at random, to a real server with a login: none shows the program's inside, and
none is answered before the login or under a foreign host name."""

import http.client
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlsplit

import pytest
from fastapi.routing import APIRoute
from hypothesis import given
from hypothesis import strategies as st

from backend.workspace import Workspace
from tests.traced_ui.serving import serving
from traced_ui import api, rooms
from traced_ui.server import create_app

HOSTS = ("127.0.0.1", "localhost.", "[::1]", "LOCALHOST:1", "[::ffff:127.0.0.1]:80")
FOREIGN = (
    "evil.example",
    "127.0.0.1.evil.example",
    "127.0.0.1@evil.example",
    "[::1",
    "localhost:x",
)
#: What may be seen without a login.
OPEN = ("/login", "/healthy")
#: Signs of the program's internals in a response.
LEAKS = (b"Traceback (most recent", b"sqlalchemy", b"psycopg", b"PRETTY_NAME", b"/site-packages/",
         b"Unexpected error")  # fmt: skip
#: Addresses of Gradio, and others that lead out of what is served.
PATHS = (
    "/gradio_api/file=/etc/os-release", "/gradio_api/file=../../../etc/os-release", "/openapi.json",
    "/gradio_api/proxy=http://127.0.0.1:9/", "/file=/etc/os-release",
    "/static/../../etc/os-release", "/assets/..%2f..%2f..%2fetc%2fos-release", "//evil.example/",
    "/%2e%2e/%2e%2e/etc/os-release",
    "/gradio_api/run/predict", "/gradio_api/queue/join", "/gradio_api/component_server",
    "/gradio_api/upload", "/gradio_api/reset", "/gradio_api/dev/reload", "/svelte/../x",
)  # fmt: skip
TEXT = st.text(max_size=20) | st.sampled_from(
    ["", "..", "a\0b", "\ud83d", "1", "drop", "pairs", "<img src=x>", "%00", "'; DROP TABLE pairs;"]
)
NUMBER = st.integers() | st.sampled_from([0, 1, 2, -1, 2**31, 2**63, 2**70])
NAMES = st.sampled_from(
    ["state", "verdicts", "acts", "action", "pair", "pair_id", "dataset", "version", "verdict",
     "fingerprint", "caption", "note", "suggestion", "limit", "after", "filter", "data", "text"]
)  # fmt: skip
VALUE = st.recursive(
    st.none() | st.booleans() | NUMBER | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES | TEXT, inner, max_size=4),
    max_leaves=12,
)


@dataclass(frozen=True)
class Served:
    """A server with a login: its address, a token, and its routes as (method, path)."""

    address: str
    token: str
    routes: tuple[tuple[str, str], ...]


@pytest.fixture(scope="module")
def server(served: Workspace) -> Iterator[Served]:
    served.accounts.add("Ada", "a long password")
    token = served.accounts.log_in("Ada", "a long password")
    assert token is not None
    routes = tuple(
        (method, f"{start}{route.path}")
        for start, app in (
            ("", create_app(served, 1, login=True)), (rooms.API, api.create_api(served)),
        )
        for route in app.routes
        if isinstance(route, APIRoute) and route.path != "/logout"
        for method in sorted(route.methods or ())
    )  # fmt: skip
    with serving(served, login=True) as address:
        yield Served(address, token, routes)


def request(data: st.DataObject, routes: tuple[tuple[str, str], ...]) -> tuple[str, str]:
    """Method and path; parameters of the path are any text or number."""
    method, path = data.draw(st.sampled_from([*routes, *(("POST", path) for path in PATHS)]))
    if path in PATHS:
        return data.draw(st.sampled_from(["GET", "HEAD", "POST", "PUT"])), path
    parts = path.split("{")
    for number, part in enumerate(parts[1:], 1):
        value = str(data.draw(TEXT | NUMBER)).encode("utf-8", "surrogatepass")
        parts[number] = quote(value, safe="") + part.partition("}")[2]
    query = f"?{data.draw(NAMES)}={quote(data.draw(TEXT).encode('utf-8', 'replace'))}"
    return method, "".join(parts) + data.draw(st.sampled_from(["", query]))


@given(data=st.data())
def test_any_request_gets_an_answer_that_shows_nothing(server: Served, data: st.DataObject) -> None:
    method, path = request(data, server.routes)
    is_ours, has_login = data.draw(st.booleans()), data.draw(st.booleans())
    headers = {
        "Host": data.draw(st.sampled_from(HOSTS if is_ours else FOREIGN)),
        "Content-Type": data.draw(st.sampled_from(["application/json", "multipart/form-data"])),
    }
    if has_login:
        headers["Authorization"] = f"Bearer {server.token}"
    content: Any = data.draw(st.dictionaries(NAMES, VALUE, max_size=5) | VALUE | st.binary())
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    connection = http.client.HTTPConnection(urlsplit(server.address).netloc, timeout=200)
    try:
        connection.request(method, path, body, headers)
        response = connection.getresponse()
        answer = response.read()
    finally:
        connection.close()
    assert 200 <= response.status < 500
    assert not [sign for sign in LEAKS if sign in answer]
    assert is_ours or response.status in (400, 403)
    assert has_login or response.status != 200 or path.startswith(OPEN)
