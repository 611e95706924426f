"""What the fuzzer sends to the server itself: requests that are right in part, byte for byte."""

import contextlib
import json
import random
import socket
from collections.abc import Callable, Sequence
from pathlib import Path
from urllib.parse import quote, urlencode, urlsplit

from tests.hostile import fuzz_inputs as inputs
from traced_ui.api import TOOLS

#: What a stranger may see.
_OPEN = ("/login", "/healthy")
#: Signs of the program's inside in an answer.
_LEAKS = (b"Traceback (most recent", b"sqlalchemy", b"psycopg", b"root:x:0", b"/site-packages/")
#: What the pages say of errors that nobody has foreseen.
_UNFORESEEN = b"Unexpected error"
_MOST_ANSWER = 2_000_000
_PATHS = (
    "/", "/login", "/logout", "/healthy", "/config", "/gradio_api/info", "/gradio_api/config",
    "/gradio_api/upload", "/gradio_api/run/predict", "/gradio_api/queue/join", "/gradio_api/reset",
    "/gradio_api/component_server", "/gradio_api/api_info", "/gradio_api/startup-events",
    "/gradio_api/cancel", "/gradio_api/file=/etc/passwd", "/gradio_api/file=../../../etc/passwd",
    "/gradio_api/proxy=http://169.254.169.254/", "/file=/etc/passwd", "/static/../../etc/passwd",
    "/assets/..%2f..%2f..%2fetc%2fpasswd", "/svelte/../x", "/theme.css", "/manifest.json",
    "/robots.txt", "/favicon.ico", "/custom_component/x/y/z", "/gradio_api/dev/reload", "/docs",
    "/openapi.json", "//evil.example/", "/pictures/1/../../login", "/%2e%2e/%2e%2e/etc/passwd",
)  # fmt: skip
_HOSTS = ("127.0.0.1", "localhost.", "[::1]", "LOCALHOST:1", "[::ffff:127.0.0.1]:80")
_FOREIGN_HOSTS = ("evil.example", "127.0.0.1.evil.example", "127.0.0.1@evil.example", "", "[::1",
                  "localhost:x", "0x7f.1.evil", "\xff")  # fmt: skip


class Wrong(AssertionError):
    """An answer that must not be."""


def attacker(
    address: str, token: str, argument: Callable[[random.Random, str], object]
) -> Callable[[random.Random, Path], None]:
    """Sends one request, with the token or without, and looks at the answer. `argument`: a value
    for an argument of the named endpoints."""

    def attack(rng: random.Random, folder: Path) -> None:
        is_in, is_ours = rng.random() < 0.8, rng.random() < 0.9
        host = rng.choice(_HOSTS if is_ours else _FOREIGN_HOSTS)
        method, path, headers, body = _request(rng, argument)
        headers = [("Host", host), *headers]
        if is_in:
            headers.append(("Authorization", f"Bearer {token}"))
        status, answer = send(address, method, path, headers, body)
        _check(method, path, status, answer, is_in, is_ours)
        if status == 200 and path.startswith("/gradio_api/call/") and b"event_id" in answer:
            event = json.loads(answer)["event_id"]
            status, answer = send(address, "GET", f"{path}/{event}", headers[:1] + headers[-1:])
            _check("GET", path, status, answer, is_in, is_ours)

    return attack


def _check(method: str, path: str, status: int, answer: bytes, is_in: bool, is_ours: bool) -> None:
    where = f"{method} {path[:200]!r} gives {status}: {answer[:300]!r}"
    if status >= 500 or status < 200:
        raise Wrong(where)
    if any(sign in answer for sign in _LEAKS) or _UNFORESEEN in answer:
        raise Wrong(f"the inside is shown: {where}")
    if not is_ours and status not in (400, 403):
        raise Wrong(f"a foreign host is answered: {where}")
    if not is_in and status == 200 and not path.startswith(_OPEN):
        raise Wrong(f"served before the login: {where}")


def _request(
    rng: random.Random, argument: Callable[[random.Random, str], object]
) -> tuple[str, str, list[tuple[str, str]], bytes]:
    headers = [
        (name, _header(inputs.text(rng)))
        for name in ("Cookie", "Accept", "Accept-Language", "Range", "X-Forwarded-For", "Referer")
        if rng.random() < 0.1
    ]
    match rng.randrange(6):
        case 0:
            wanted = rng.choice((str(rng.randrange(20)), inputs.text(rng), str(2**40), "-1"))
            size = rng.choice(("104", "400", "full", inputs.text(rng)))
            query = _percent(size) if rng.random() < 0.5 else ""
            return "GET", f"/pictures/{_percent(wanted)}?size={query}", headers, b""
        case 1:
            path = rng.choice(_PATHS)
            if rng.random() < 0.5:
                name = rng.choice(("to", "pair", "dataset", "text", "__theme", inputs.text(rng)))
                path += "?" + urlencode(_plain({name: inputs.text(rng)}))
            return rng.choice(("GET", "GET", "HEAD", "OPTIONS", "PUT")), path, headers, b""
        case 2:
            fields = {"username": inputs.text(rng), "password": inputs.text(rng),
                      "to": inputs.text(rng), "page": rng.choice(("", "1"))}  # fmt: skip
            body = urlencode(_plain(fields)).encode()
            kind = ("Content-Type", "application/x-www-form-urlencoded")
            return "POST", "/login", [*headers, kind], _damaged(rng, body)
        case 3:
            body = inputs.as_json(inputs.value(rng))
            return "POST", rng.choice(_PATHS), [*headers, _JSON], _damaged(rng, body)
        case 4:
            mark = b"----x"
            file_name = inputs.text(rng).encode("utf-8", "replace")
            body = (
                b"--" + mark + b'\r\nContent-Disposition: form-data; name="files"; filename="'
                + file_name + b'"\r\n\r\n' + inputs.picture() + b"\r\n--" + mark + b"--\r\n"
            )  # fmt: skip
            kind = ("Content-Type", "multipart/form-data; boundary=----x")
            return "POST", "/gradio_api/upload", [*headers, kind], _damaged(rng, body)
    # Those that compute are fed one by one, by the target of the endpoints.
    tool = rng.choice(
        [tool_name for tool_name in TOOLS if tool_name not in ("check", "suggest", "similar")]
    )
    names = ("dataset", "pair_id", "version", "verdict", "caption", "after")
    data = [argument(rng, rng.choice(names)) for _ in range(rng.randrange(5))]
    if rng.random() < 0.7 and tool in ("queue", "next", "undo", "redo", "progress"):
        data = ["pairs", *data[1:2]]
    body = inputs.as_json({"data": data} if rng.random() < 0.9 else inputs.value(rng))
    return "POST", f"/gradio_api/call/{tool}", [*headers, _JSON], _damaged(rng, body)


_JSON = ("Content-Type", "application/json")


def _damaged(rng: random.Random, body: bytes) -> bytes:
    return inputs.mutated(rng, body) if rng.random() < 0.15 else body


def _plain(fields: dict[str, str]) -> dict[str, bytes]:
    return {
        name.encode("utf-8", "replace").decode(): text.encode("utf-8", "replace")
        for name, text in fields.items()
    }


def _percent(text: str) -> str:
    return quote(text[:2000].encode("utf-8", "surrogatepass"), safe="/")


def _header(text: str) -> str:
    """A line of its own: what ends a header is the client's business, not the server's."""
    return text[:2000].replace("\r", "").replace("\n", "")


def send(
    address: str, method: str, path: str, headers: Sequence[tuple[str, str]], body: bytes = b""
) -> tuple[int, bytes]:
    """One request on a connection of its own; status and body. Raises Wrong for no answer."""
    target = urlsplit(address)
    lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers)]
    lines += ["Connection: close", f"Content-Length: {len(body)}", "", ""]
    head = "\r\n".join(lines).encode("utf-8", "replace")
    with socket.create_connection((target.hostname or "", target.port or 80), 60) as connection:
        with contextlib.suppress(OSError):  # refused before all is sent: the answer says why
            connection.sendall(head + body)
        answer = b""
        try:
            while part := connection.recv(65536):
                answer += part
                if len(answer) > _MOST_ANSWER:
                    break
        except TimeoutError:
            raise Wrong(f"{method} {path[:200]!r}: no end of the answer") from None
        except ConnectionResetError:
            pass
    first, _, rest = answer.partition(b"\r\n")
    words = first.split()
    if len(words) < 2 or not words[1].isdigit():
        raise Wrong(f"{method} {path[:200]!r}: no answer, {answer[:200]!r}")
    return int(words[1]), rest.partition(b"\r\n\r\n")[2]
