"""Servers that redirect, refuse parts of a request, or answer with anything but a completion."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from backend.engine.language_models.asking import encode_picture
from backend.engine.language_models.chat_model import Question
from backend.errors import ModelUnavailable
from backend.features.vision_language.endpoint import ChatEndpoint
from research.chat_server import POLL, chat_server
from tests.engine.correction.contexts import context

GOOD = '{"caption": "A brown dog on the sand"}'
SCHEMA = {"type": "object", "properties": {"caption": {"type": "string"}}}
Reply = tuple[int, dict[str, str], bytes]


@contextmanager
def plain_server(reply: Callable[[], Reply]) -> Iterator[tuple[str, list[bytes]]]:
    """A server with one fixed reply; yields its address and the request bodies it received."""
    received: list[bytes] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            received.append(self.rfile.read(int(self.headers.get("Content-Length", 0))))
            status, headers, body = reply()
            self.send_response(status)
            for name, value in {"Content-Length": str(len(body)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def do_GET(self) -> None:  # what follows a 303
            self.do_POST()

        def log_message(self, format: str, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(POLL,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", received
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_picture_and_caption_never_reach_another_port(status: int) -> None:
    with plain_server(lambda: (200, {}, b"{}")) as (elsewhere, stolen):
        moved = {"Location": f"{elsewhere}/v1/chat/completions"}
        with plain_server(lambda: (status, moved, b"")) as (address, _):
            endpoint = ChatEndpoint(f"{address}/v1", "m", key="secret", retries=1)
            with pytest.raises(ModelUnavailable, match=f"redirects to {elsewhere}"):
                endpoint.ask(Question("", "A red dog", image=encode_picture(context().image)))
    assert stolen == []


@pytest.mark.parametrize(
    ("kind", "body", "message"),
    [
        ("text/html", b"<!doctype html><title>Login</title>", "web page.*/v1"),
        ("application/json", b"<html>", "web page.*/v1"),
        ("text/plain", b"hello", "empty answer: hello"),
        ("application/json", b"", "not a chat completion|empty answer"),
        ("application/json", b'{"error": "no model loaded"}', "no model loaded"),
        ("application/json", b"\xff\xfe{}", "empty answer"),
    ],
)
def test_answers_that_are_not_completions_are_reported(
    kind: str, body: bytes, message: str
) -> None:
    with plain_server(lambda: (200, {"Content-Type": kind}, body)) as (address, received):
        endpoint = ChatEndpoint(f"{address}/v1", "m", retries=3)
        with pytest.raises(ModelUnavailable, match=message):
            endpoint.ask(Question("", "x"))
    assert len(received) == 1, "an answer that was paid for is not asked for again"


def refusing(*names: str) -> Callable[[dict[str, Any]], tuple[int, str]]:
    """Like OpenAI's and vLLM's servers: a 400 that names the first unsupported parameter."""

    def respond(body: dict[str, Any]) -> tuple[int, str]:
        kind = body.get("response_format", {}).get("type")
        for name in names:
            if name in body or name == kind:
                return 400, f"Unsupported parameter: '{name}' is not supported with this model."
        return 200, GOOD

    return respond


@pytest.mark.parametrize(
    ("refused", "sent", "requests"),
    [
        ((), {"max_tokens", "temperature", "seed", "response_format"}, 1),
        (("max_tokens",), {"max_completion_tokens", "temperature", "seed", "response_format"}, 2),
        (("response_format",), {"max_tokens", "temperature", "seed"}, 3),
        (("json_schema",), {"max_tokens", "temperature", "seed", "response_format"}, 2),
        (("temperature", "seed", "max_tokens"), {"max_completion_tokens", "response_format"}, 4),
        (("max_tokens", "max_completion_tokens"), {"temperature", "seed", "response_format"}, 3),
    ],
)
def test_parameters_that_a_server_refuses_are_omitted_from_then_on(
    refused: tuple[str, ...], sent: set[str], requests: int
) -> None:
    with chat_server(refusing(*refused)) as served:
        endpoint = ChatEndpoint(served.url, "m")
        assert endpoint.ask(Question("", "x", schema=SCHEMA)).text == GOOD
        assert len(served.requests) == requests
        endpoint.ask(Question("", "y", schema=SCHEMA))
    assert len(served.requests) == requests + 1
    assert set(served.requests[-1]) == {"model", "messages", *sent}
    assert endpoint.spending.requests == 2


def test_max_tokens_is_sent_again_if_another_model_answers_later() -> None:
    refused = ["max_tokens"]
    with chat_server(lambda body: refusing(*refused)(body)) as served:
        endpoint = ChatEndpoint(served.url, "m")
        endpoint.ask(Question("", "x"))
        refused[:] = ["max_completion_tokens"]
        endpoint.ask(Question("", "y"))
    assert "max_tokens" in served.requests[-1]


def test_other_refusals_are_reported_unchanged() -> None:
    message = "max_tokens is too large for this context"
    with (
        chat_server(lambda body: (400, message)) as served,
        pytest.raises(ModelUnavailable, match=r"status 400.*too large"),
    ):
        ChatEndpoint(served.url, "m").ask(Question("", "x"))
    assert len(served.requests) == 2
