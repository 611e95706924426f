"""A real HTTP server that implements the chat completions part of the OpenAI API."""

import json
import math
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

#: Maps the request's JSON to (status, answer text). A text that ends with CUT is sent as one that
#: was truncated at the maximum length. Probabilities of first tokens in place of a text are
#: answered with the likeliest, and with log-probabilities if the request wants them.
Respond = Callable[[dict[str, Any]], tuple[int, str | Mapping[str, float]]]
CUT = "[cut]"
#: Seconds until a server notices that it should stop. The default of `serve_forever` is 0.5.
POLL = 0.02


@dataclass
class RunningServer:
    """A running server. `requests`: the bodies of all requests received, in order; `keys`: their
    Authorization headers; `models`: what it says it serves."""

    url: str
    requests: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    models: list[str] = field(default_factory=lambda: ["small"])


@contextmanager
def chat_server(respond: Respond, port: int = 0) -> Iterator[RunningServer]:
    """Serve on the loopback interface until the block ends. `port` 0: any free port."""
    service = RunningServer("")

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:  # the name that http.server requires
            models = [{"id": name, "object": "model"} for name in service.models]
            self._send(200, {"object": "list", "data": models})

        def do_POST(self) -> None:  # the name that http.server requires
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            service.requests.append(body)
            service.keys.append(self.headers.get("Authorization", ""))
            status, text = respond(body)
            likeliest = None
            if not isinstance(text, str):
                likeliest = text if body.get("logprobs") else None
                text = max(text, key=text.__getitem__)
            answer: dict[str, Any] = {"error": {"message": text}}
            if status == 200:
                answer = {
                    "id": "1", "object": "chat.completion", "created": 0, "model": body["model"],
                    "choices": [{"index": 0,
                                 "finish_reason": "length" if text.endswith(CUT) else "stop",
                                 "message": {"role": "assistant",
                                             "content": text.removesuffix(CUT)}}],
                    "usage": {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10},
                }  # fmt: skip
                if likeliest is not None:
                    answer["choices"][0]["logprobs"] = {"content": [_token(text, likeliest)]}
            self._send(status, answer)

        def _send(self, status: int, answer: dict[str, Any]) -> None:
            payload = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(payload)))
            self.send_header("Retry-After", "0")
            self.end_headers()
            with suppress(ConnectionError):  # who gave up waiting has gone
                self.wfile.write(payload)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    service.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    thread = threading.Thread(target=server.serve_forever, args=(POLL,), daemon=True)
    thread.start()
    try:
        yield service
    finally:
        server.shutdown()
        server.server_close()


def _token(text: str, likeliest: Mapping[str, float]) -> dict[str, Any]:
    """An answer's first token with its alternatives, as the OpenAI API describes them."""
    alternatives = [{"token": token, "logprob": math.log(p)} for token, p in likeliest.items()]
    return {"token": text, "logprob": math.log(likeliest[text]), "top_logprobs": alternatives}
