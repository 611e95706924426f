"""Fetching untrusted addresses over real HTTP."""

import http.server
import json
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from backend.datasets.fetching import Fetcher, FetchError, Limits, public_address
from backend.datasets.reading import read_dataset
from backend.errors import DatasetFormatError, SettingsError
from backend.jobs.download_images import download
from research.chat_server import POLL
from tests.datasets.test_shards import encoded

#: So long that a busy machine is no reason to give up.
INSIDE = Limits(seconds=200, bytes=100_000, allow_private=True)


class Handler(http.server.BaseHTTPRequestHandler):
    requested: list[str]

    def do_GET(self) -> None:
        Handler.requested.append(self.path)
        if self.path.startswith("/moved"):
            self.send_response(302)
            self.send_header("Location", self.path.removeprefix("/moved") or "/moved")
            self.end_headers()
            return
        body = {"/image": encoded(), "/text": b"no image", "/large": b"x" * 200_000}.get(self.path)
        if self.path == "/slow":
            self.send_response(200)
            self.end_headers()
            try:
                while True:
                    self.wfile.write(b"x")
                    time.sleep(0.1)
            except OSError:
                pass
            return
        self.send_response(200 if body else 404)
        self.end_headers()
        self.wfile.write(body or b"")

    def log_message(self, format: str, *_: Any) -> None:
        pass


@pytest.fixture
def server() -> Iterator[str]:
    Handler.requested = []
    made = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made.daemon_threads = True
    threading.Thread(target=made.serve_forever, args=(POLL,), daemon=True).start()
    yield f"http://127.0.0.1:{made.server_port}"
    made.shutdown()


def test_a_server_on_this_machine_is_never_contacted(server: str) -> None:
    fetcher = Fetcher(Limits())
    for address in (server, server.replace("127.0.0.1", "localhost")):
        with pytest.raises(FetchError, match="not public"):
            fetcher.fetch(f"{address}/image")
    assert Handler.requested == []


def test_a_name_with_one_private_address_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    entries = [(2, 1, 6, "", (host, 80)) for host in ("93.184.215.14", "10.0.0.1")]
    monkeypatch.setattr("socket.getaddrinfo", lambda *_, **__: entries)
    with pytest.raises(FetchError, match="not public"):
        public_address("both.example", 80)


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("/none", "404"),
        ("/large", "larger than"),
        ("/slow", "too long"),
        ("/moved", "too many redirects"),
        ("/movedftp://x/y", "not http"),
        ("/movedfile:///etc/passwd", "not http"),
    ],
)
def test_failed_fetches_are_reported(server: str, path: str, message: str) -> None:
    limits = replace(INSIDE, seconds=0.5) if path == "/slow" else INSIDE
    with pytest.raises(FetchError, match=message):
        Fetcher(limits).fetch(server + path)


def a_table(folder: Path, server: str, rows: int = 6) -> Path:
    paths = ["/image", "/text", "/moved/image", "/none", "/image", ""]
    lines = [
        {
            "URL": server + paths[n % 6] if paths[n % 6] else None,
            "TEXT": f"caption {n}",
            "similarity": 0.3,
        }
        for n in range(rows)
    ]
    path = folder / "laion.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_a_table_of_addresses_becomes_a_dataset(server: str, tmp_path: Path) -> None:
    table, out = a_table(tmp_path, server), tmp_path / "out"
    report = download(table, out, INSIDE)
    assert (report.rows, report.written, report.failed) == (6, 3, 3)
    pairs = list(read_dataset(out))
    assert [pair.caption for pair in pairs] == ["caption 0", "caption 2", "caption 4"]
    assert pairs[0].extra["similarity"] == 0.3
    reasons = [json.loads(line) for line in (out / "failures.jsonl").read_text().splitlines()]
    assert {reason["row"] for reason in reasons} == {2, 4, 6}
    assert all(reason["reason"] for reason in reasons)


def test_a_download_resumes_where_it_stopped(server: str, tmp_path: Path) -> None:
    table, out = a_table(tmp_path, server, 12), tmp_path / "out"
    download(table, out, INSIDE, at_most=5)
    with (out / "metadata.jsonl").open("ab") as file:
        file.write(b'{"row": 7, "file_na')  # killed in the middle of a line
    before = len(Handler.requested)
    report = download(table, out, INSIDE)
    assert (report.already_there, report.rows) == (5, 12)
    assert report.written + report.failed == 7
    assert len(Handler.requested) > before
    assert len(list(read_dataset(out))) == 6
    again = len(Handler.requested)
    assert download(table, out, INSIDE).already_there == 12
    assert len(Handler.requested) == again, "nothing is fetched twice"


def test_a_folder_with_other_content_is_left_untouched(server: str, tmp_path: Path) -> None:
    table = a_table(tmp_path, server)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "file").write_text("mine")
    with pytest.raises(SettingsError, match="other files"):
        download(table, tmp_path / "mine", INSIDE)
    download(table, tmp_path / "out", INSIDE)
    other = tmp_path / "other.jsonl"
    other.write_text(table.read_text())
    with pytest.raises(SettingsError, match="another table"):
        download(other, tmp_path / "out", INSIDE)
    other.write_text('{"address": "x", "TEXT": "y"}\n')
    with pytest.raises(DatasetFormatError, match="with the address"):
        download(other, tmp_path / "new", INSIDE)
