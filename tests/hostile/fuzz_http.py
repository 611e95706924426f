"""The fuzzer's requests to the server itself: partly valid, byte for byte."""

import contextlib
import json
import random
import socket
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from tests.hostile import fuzz_inputs as inputs
from traced_ui.api import TOOLS
from traced_ui.review_actions import ACTIONS

#: What may be seen without a login.
_OPEN = ("/login", "/healthy")
#: Signs of the program's internals in a response.
_LEAKS = (b"Traceback (most recent", b"sqlalchemy", b"psycopg", b"root:x:0", b"/site-packages/")
#: What the pages show for unforeseen errors.
_UNFORESEEN = b"Unexpected error"
_MOST_ANSWER = 2_000_000
_PATHS = (
    "/", "/login", "/logout", "/healthy", "/config", "/gradio_api/info", "/gradio_api/config",
    "/gradio_api/upload", "/gradio_api/run/predict", "/gradio_api/queue/join", "/gradio_api/reset",
    "/gradio_api/component_server", "/gradio_api/api_info", "/gradio_api/startup-events",
    "/gradio_api/cancel", "/gradio_api/file=/etc/passwd", "/gradio_api/file=../../../etc/passwd",
    "/gradio_api/proxy=http://169.254.169.254/", "/file=/etc/passwd", "/static/../../etc/passwd",
    "/board/x/main.js", "/board/x/..%2fserver.py",
    "/assets/..%2f..%2f..%2fetc%2fpasswd", "/svelte/../x", "/theme.css", "/manifest.json",
    "/robots.txt", "/favicon.ico", "/custom_component/x/y/z", "/gradio_api/dev/reload", "/docs",
    "/openapi.json", "//evil.example/", "/pictures/1/../../login", "/%2e%2e/%2e%2e/etc/passwd",
)  # fmt: skip
_HOSTS = ("127.0.0.1", "localhost.", "[::1]", "LOCALHOST:1", "[::ffff:127.0.0.1]:80")
_FOREIGN_HOSTS = ("evil.example", "127.0.0.1.evil.example", "127.0.0.1@evil.example", "", "[::1",
                  "localhost:x", "0x7f.1.evil", "\xff")  # fmt: skip


class Wrong(AssertionError):
    """A response that must not occur."""


def attacker(
    address: str,
    token: str,
    argument: Callable[[random.Random, str], Any],
    outcome_of: Callable[[int], str],
) -> Callable[[random.Random, Path], None]:
    """Sends one request, with the token or without, and looks at the answer. `argument`: a value
    for an argument of the named endpoints, or the id of a job or a dataset. `outcome_of`: waits for
    a job and gives its message."""

    def attack(rng: random.Random, folder: Path) -> None:
        is_in, is_ours = rng.random() < 0.8, rng.random() < 0.9
        host = rng.choice(_HOSTS if is_ours else _FOREIGN_HOSTS)
        method, path, headers, body = request(rng, argument)
        headers = [("Host", host), *headers]
        if is_in:
            headers.append(("Authorization", f"Bearer {token}"))
        status, answer = send(address, method, path, headers, body)
        _check(method, path, status, answer, is_in, is_ours)
        if status == 200 and (method, path) == ("POST", "/uploads"):
            fill(json.loads(answer)["upload"], rng, headers[:1] + headers[-1:])
        if status == 200 and path.startswith("/gradio_api/call/") and b"event_id" in answer:
            event = json.loads(answer)["event_id"]
            status, answer = send(address, "GET", f"{path}/{event}", headers[:1] + headers[-1:])
            _check("GET", path, status, answer, is_in, is_ours)

    def fill(upload: str, rng: random.Random, headers: list[tuple[str, str]]) -> None:
        """Do what a browser does with an upload that it has begun."""
        steps = [uploaded_file(rng, upload) for _ in range(rng.randrange(4))]
        steps.append(("POST", f"/uploads/{upload}/import?name={_percent(inputs.text(rng))}", b""))
        if rng.random() < 0.5:
            steps.append(("DELETE", f"/uploads/{upload}", b""))
        for method, path, body in steps:
            status, answer = send(address, method, path, headers, body)
            _check(method, path, status, answer, True, True)
            if status == 200 and b'"job"' in answer:
                message = outcome_of(json.loads(answer)["job"])
                if message.encode().startswith(_UNFORESEEN):
                    raise Wrong(f"an import ends with {message!r}")

    return attack


def uploaded_file(rng: random.Random, upload: str) -> tuple[str, str, bytes]:
    """Method, path and body of a request that sends a file of an upload."""
    name = rng.choice((*inputs.FORMS, "a.png", "pairs/a.png", "pairs/rows.jsonl", inputs.text(rng)))
    body = inputs.picture()
    if (form := name.removeprefix("pairs/")) in inputs.FORMS:
        body = _damaged(rng, inputs.FORMS[form](inputs.rows(rng)))
    return "PUT", f"/uploads/{upload}?path={_percent(name)}", body


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


def request(
    rng: random.Random, argument: Callable[[random.Random, str], Any]
) -> tuple[str, str, list[tuple[str, str]], bytes]:
    """Method, path, headers and body."""
    headers = [
        (name, _header(inputs.text(rng)))
        for name in ("Cookie", "Accept", "Accept-Language", "Range", "X-Forwarded-For", "Referer")
        if rng.random() < 0.1
    ]
    match rng.randrange(9):
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
        case 5:
            body = inputs.as_json(_page_of_verdicts(rng, argument))
            return "POST", "/review/acts", [*headers, _JSON], _damaged(rng, body)
        case 6:
            step = rng.choice(("begin", "begin", "file", "import", "discard"))
            if step == "begin":
                return "POST", "/uploads", headers, b""
            upload = _percent(rng.choice(("0" * 32, "..", inputs.text(rng)))).replace("/", "%2f")
            if step == "file":
                method, path, body = uploaded_file(rng, upload)
                return method, path, headers, body
            if step == "import":
                return "POST", f"/uploads/{upload}/import", headers, b""
            return "DELETE", f"/uploads/{upload}", headers, b""
        case 7:
            what = rng.choice(("exports/{}.zip", "datasets/{}/left-out.csv"))
            number = argument(rng, "job" if what.startswith("exports") else "dataset_id")
            method = rng.choice(("GET", "GET", "GET", "HEAD", "POST"))
            return method, "/" + what.format(_percent(str(number))), headers, b""
    # Endpoints that compute are called one by one, by their own target.
    tool = rng.choice(
        [tool_name for tool_name in TOOLS if tool_name not in ("check", "suggest", "similar")]
    )
    names = ("dataset", "pair_id", "version", "verdict", "caption", "after")
    data = [argument(rng, rng.choice(names)) for _ in range(rng.randrange(5))]
    if rng.random() < 0.7 and tool in ("queue", "next", "undo", "redo", "progress"):
        data = ["pairs", *data[1:2]]
    body = inputs.as_json({"data": data} if rng.random() < 0.9 else inputs.value(rng))
    return "POST", f"/gradio_api/call/{tool}", [*headers, _JSON], _damaged(rng, body)


def _page_of_verdicts(rng: random.Random, argument: Callable[[random.Random, str], Any]) -> Any:
    """What a page posts to save verdicts and to get the next pairs."""
    acts = []
    for _ in range(rng.choice((0, 1, 1, 2, 60))):
        pair, fingerprint = argument(rng, "seen")
        act = {
            "pair": pair, "version": argument(rng, "version"), "fingerprint": fingerprint,
            "action": rng.choice(("drop", "correct", "next", "correction", "suggestion-1",
                                  "enrich-0", "abstract", inputs.text(rng))),
            "name": inputs.text(rng), "note": inputs.text(rng),
            "suggestion": rng.choice((None, 1, 2**63, -1)),
        }  # fmt: skip
        if rng.random() < 0.1:
            act[rng.choice(list(act))] = inputs.value(rng)
        acts.append(act)
    state = {
        "dataset": rng.choice((None, 1, 1, 1, 2, 2**63)), "pair": argument(rng, "pair_id"),
        "filter": {inputs.text(rng): inputs.text(rng)} if rng.random() < 0.2 else {},
        "after": rng.choice((None, {"value": 0.5, "pair_id": 1}, inputs.value(rng))),
        "grid": rng.random() < 0.2,
    }  # fmt: skip
    page = {
        "state": state, "verdicts": acts, "redraw": rng.random() < 0.3,
        "act": {"action": rng.choice(sorted(ACTIONS)), "text": inputs.text(rng)},
        "have": {str(argument(rng, "pair_id")): inputs.text(rng) for _ in range(rng.randrange(3))},
    }  # fmt: skip
    if rng.random() < 0.1:
        page[rng.choice(list(page))] = inputs.value(rng)
    return page


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
    """A single line: where a header ends is up to the client, not the server."""
    return text[:2000].replace("\r", "").replace("\n", "")


def send(
    address: str, method: str, path: str, headers: Sequence[tuple[str, str]], body: bytes = b""
) -> tuple[int, bytes]:
    """Send a request on a new connection; return status and body. Raises Wrong if none comes."""
    target = urlsplit(address)
    lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers)]
    lines += ["Connection: close", f"Content-Length: {len(body)}", "", ""]
    head = "\r\n".join(lines).encode("utf-8", "replace")
    with socket.create_connection((target.hostname or "", target.port or 80), 60) as connection:
        with contextlib.suppress(OSError):  # refused early: the response says why
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
