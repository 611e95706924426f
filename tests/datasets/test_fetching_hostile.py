"""Addresses and servers made to break a download: each costs its own row, and no more."""

import json
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from subprocess import PIPE
from typing import Any

import pytest

from backend.datasets.fetching import Fetcher, FetchError, Limits, as_url, public_address
from backend.datasets.reading import read_dataset
from backend.jobs import download_images
from backend.jobs.download_images import download
from tests.datasets.test_shards import encoded
from tests.datasets.test_untrusted_images import EPS
from tests.fixtures import programs

#: So long that a busy machine is no reason to give up.
INSIDE = Limits(seconds=200, bytes=100_000, allow_private=True)
BRIEF = replace(INSIDE, seconds=1)
Answer = Callable[[socket.socket], None]


@contextmanager
def raw_server(answer: Answer) -> Iterator[tuple[str, list[bytes]]]:
    """A server below HTTP: `answer` may write anything to the socket."""
    requests: list[bytes] = []
    listening = socket.create_server(("127.0.0.1", 0))

    def serve_connection(connection: socket.socket) -> None:
        with connection:
            try:
                requests.append(connection.recv(65536))
                answer(connection)
            except OSError:
                pass

    def serve() -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            threading.Thread(target=serve_connection, args=(connection,), daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}", requests
    finally:
        listening.close()


def sends(data: bytes) -> Answer:
    return lambda connection: connection.sendall(data)


def http(body: bytes) -> bytes:
    return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n" % len(body) + body


def dripping(data: bytes) -> Answer:
    def answer(connection: socket.socket) -> None:
        for byte in data:
            connection.sendall(bytes([byte]))
            time.sleep(0.2)

    return answer


def a_table(folder: Path, rows: list[dict[str, Any]]) -> Path:
    path = folder / "table.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ("http://x.example/a b.jpg", "http://x.example/a%20b.jpg"),
        ("http://x.example/für/日本.jpg?q=ü#ö", "http://x.example/f%C3%BCr/%E6%97%A5%E6%9C%AC.jpg?q=%C3%BC"),
        ("http://bücher.example/ü", "http://xn--bcher-kva.example/%C3%BC"),
        ("http://日本.example:8080/", "http://xn--wgv71a.example:8080/"),
        ("http://x.example/a%20b%2Fc?x=1&y=%C3%BC", "http://x.example/a%20b%2Fc?x=1&y=%C3%BC"),
        ("HTTP://X.example", "http://x.example"),
        ("http://[::1]:80/ü", "http://[::1]/%C3%BC"),
        ("http://x.example/100%", "http://x.example/100%"),
    ],
)  # fmt: skip
def test_addresses_of_any_script_are_encoded(given: str, sent: str) -> None:
    assert as_url(given) == sent


NONSENSE = [
    "", "words", "http://", "http:///x", "http://[", "http://[::1", "http://x:port/", "http://x:99999/",
    "http://\ud800.example/", "http://x/\ud800", "http://" + "a" * 300 + ".example/", "http://\0/",
    "http://x.example/\r\nHost: y", "http://a..b/", "http://xn--a/", "ftp://x/", "file:///etc/passwd",
    "http://user:word@/", "http://☃️\u200b\u202e/", "javascript:alert(1)", "http://%00/",
    "http://x" + "y" * 70_000,
]  # fmt: skip


def test_any_invalid_address_raises_a_fetch_error() -> None:
    for url in NONSENSE:
        with pytest.raises(FetchError):
            Fetcher(BRIEF).fetch(url)


def test_bad_rows_do_not_end_a_run(tmp_path: Path) -> None:
    with raw_server(sends(http(encoded()))) as (address, requests):
        odd = [7, [address], {"a": 1}, None]
        urls: list[Any] = [f"{address}/ä.png", *NONSENSE, *odd, f"{address}/b.png"]
        rows = [{"url": url, "caption": f"number {n}"} for n, url in enumerate(urls)]
        report = download(a_table(tmp_path, rows), tmp_path / "out", replace(INSIDE, seconds=30))
    assert (report.rows, report.written) == (len(urls), 2)
    assert [pair.caption for pair in read_dataset(tmp_path / "out")] == [
        "number 0", f"number {len(urls) - 1}",
    ]  # fmt: skip
    assert b"GET /%C3%A4.png " in b"".join(requests)


def test_an_error_of_any_type_costs_only_its_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = Fetcher.fetch

    def broken(self: Fetcher, url: str) -> bytes:
        if url.endswith("/bad"):
            raise TypeError("an unforeseen error")
        return plain(self, url)

    monkeypatch.setattr(Fetcher, "fetch", broken)
    with raw_server(sends(http(encoded()))) as (address, _):
        rows = [{"url": f"{address}/{name}", "caption": "x"} for name in ("bad", "good")]
        report = download(a_table(tmp_path, rows), tmp_path / "out", INSIDE)
    assert (report.written, report.failed) == (1, 1)
    (line,) = (tmp_path / "out/failures.jsonl").read_text().splitlines()
    assert "TypeError" in json.loads(line)["reason"]


def test_a_full_disk_ends_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(download_images, "_kept", full)
    with (
        raw_server(sends(http(encoded()))) as (address, _),
        pytest.raises(OSError, match="No space"),
    ):
        download(a_table(tmp_path, [{"url": address, "caption": "x"}]), tmp_path / "out", INSIDE)


def test_ctrl_c_ends_a_download_at_once(tmp_path: Path) -> None:
    """Even while every server is silent."""
    table = a_table(
        tmp_path, [{"url": f"http://example.com/{n}", "caption": "x"} for n in range(50)]
    )
    program = (
        # A shell that starts tests in the background lets their processes ignore SIGINT.
        "import os, signal, sys, time\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from backend.datasets.fetching import Fetcher\n"
        "Fetcher.fetch = lambda *_: (os.write(1, b'fetching\\n'), time.sleep(600))\n"
        "import app\n"
        "sys.argv = ['app.py', 'download', *sys.argv[1:]]\n"
        "app.app()\n"
    )
    environment = {**os.environ, "TRACED_DATA_DIRECTORY": str(tmp_path / "state")}
    arguments = ["-c", program, str(table), str(tmp_path / "out")]
    started = programs.start(arguments, environment, PIPE, PIPE)
    assert started.stdout is not None
    assert started.stdout.readline() == "fetching\n"
    started.send_signal(signal.SIGINT)
    try:
        _, err = started.communicate(timeout=250)  # the threads would sleep for 600 seconds
    finally:
        started.kill()
    assert started.returncode == 130
    assert "Stopped" in err


def test_columns_of_the_source_do_not_shadow_ours(tmp_path: Path) -> None:
    with raw_server(sends(http(encoded()))) as (address, _):
        shadows = {"file_name": "/etc/passwd", "reason": "theirs", "row": 99, "similarity": 0.5}
        rows = [
            {"url": f"{address}/{n}", "caption": f"c{n}", **shadows} for n in range(2)
        ] + [{"url": "nowhere", "caption": "c2", **shadows}]  # fmt: skip
        table = a_table(tmp_path, rows)
        report = download(table, tmp_path / "out", INSIDE)
        again = download(table, tmp_path / "out", INSIDE)
    assert (report.written, report.failed, again.already_there) == (2, 1, 3)
    written = (tmp_path / "out/metadata.jsonl").read_text().splitlines()
    lines = [json.loads(line) for line in written]
    assert [line["row"] for line in lines] == [1, 2]
    assert all((tmp_path / "out" / line["file_name"]).is_file() for line in lines)
    assert lines[0]["source_file_name"] == "/etc/passwd"
    assert (lines[0]["source_reason"], lines[0]["source_row"]) == ("theirs", 99)
    assert lines[0]["similarity"] == 0.5
    (failed,) = (tmp_path / "out/failures.jsonl").read_text().splitlines()
    assert json.loads(failed)["reason"] != "theirs"


HEADERS = b"HTTP/1.1 200 OK\r\nX-A: " + b"a" * 5000 + b"\r\n\r\n"


@pytest.mark.parametrize(
    "answer",
    [
        dripping(HEADERS),
        dripping(http(encoded())),
        dripping(b"HTTP/1.1 100 Continue\r\n\r\n" * 500),
        lambda connection: time.sleep(20),
    ],
    ids=["headers", "body", "continues", "silence"],
)
def test_the_deadline_covers_every_phase_of_a_response(answer: Answer) -> None:
    with raw_server(answer) as (address, _), pytest.raises(FetchError, match="too long"):
        Fetcher(BRIEF).fetch(address)


def test_a_chain_of_slow_redirects_shares_one_deadline() -> None:
    def answer(connection: socket.socket) -> None:
        time.sleep(0.4)
        connection.sendall(b"HTTP/1.1 302 Found\r\nLocation: /on\r\nContent-Length: 0\r\n\r\n")

    with raw_server(answer) as (address, _), pytest.raises(FetchError, match="too long"):
        Fetcher(BRIEF).fetch(address)


@pytest.mark.parametrize(
    "data",
    [
        b"", b"\x00\xff" * 100, b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nshort",
        b"SSH-2.0-x\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", b"HTTP/1.1 abc\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 100_000,
        b"HTTP/1.1 302 Found\r\nLocation: \xff\xfe\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 302 Found\r\nLocation: http://[\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 500000\r\n\r\n" + b"x" * 500_000,
    ],
)  # fmt: skip
def test_malformed_responses_are_reported(data: bytes) -> None:
    with raw_server(sends(data)) as (address, _), pytest.raises(FetchError):
        Fetcher(INSIDE).fetch(address)


#: Every notation of an internal address: plain, IPv4-mapped, translated, tunnelled.
INNER = [
    "127.0.0.1", "10.0.0.1", "169.254.169.254", "192.168.1.1", "172.16.0.1", "100.64.0.1",
    "0.0.0.0",
    "255.255.255.255", "198.18.0.1", "192.0.0.8", "240.0.0.1", "224.0.0.1",
    "::1", "::", "fe80::1", "fec0::1", "fd00::1", "ff02::1", "2001:db8::1", "100::1",
    "::ffff:10.0.0.1", "::ffff:169.254.169.254", "::127.0.0.1", "::ffff:0:127.0.0.1",
    "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::1", "64:ff9b:1:a9fe:a9:fe00::",
    "2002:7f00:1::1", "2002:a9fe:a9fe::", "2002:a00:1::", "2001:0:7f00:1::1",
    "2001:0:4136:e378:8000:63bf:3fff:fdd2",
    "192.88.99.1", "2002:c058:6301::1", "3fff::1", "5f00::1", "::ffff:192.88.99.1",
]  # fmt: skip


def test_internal_addresses_are_refused_in_every_notation() -> None:
    for host in [*INNER, "localhost", "2130706433"]:
        with pytest.raises(FetchError, match="not public"):
            public_address(host, 80)


@pytest.mark.parametrize("host", ["93.184.215.14", "2606:4700::6810:84e5", "64:ff9b::5db8:d70e"])
def test_public_addresses_are_accepted(host: str) -> None:
    assert public_address(host, 80) == host


@pytest.mark.parametrize("host", INNER[::6])
def test_redirects_to_internal_addresses_are_refused(
    host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = f"[{host}]" if ":" in host else host
    location = f"HTTP/1.1 302 Found\r\nLocation: http://{written}/\r\nContent-Length: 0\r\n\r\n"
    plain = socket.getaddrinfo
    with raw_server(sends(location.encode())) as (address, requests):
        port = int(address.rpartition(":")[2])
        connected: list[Any] = []
        original = socket.create_connection

        def resolve(name: str, *rest: Any, **options: Any) -> Any:
            if name == "public.example":
                return [(2, 1, 6, "", ("93.184.215.14", port))]
            return plain(name, *rest, **options)

        def connect(target: Any, *rest: Any, **options: Any) -> socket.socket:
            connected.append(target[0])
            return original(("127.0.0.1", port), *rest, **options)

        monkeypatch.setattr(socket, "getaddrinfo", resolve)
        monkeypatch.setattr(socket, "create_connection", connect)
        with pytest.raises(FetchError, match="not public"):
            Fetcher(Limits(seconds=200)).fetch("http://public.example/")
    assert connected == ["93.184.215.14"]
    assert len(requests) == 1


@pytest.mark.parametrize(
    ("body", "message"),
    [(EPS, "not an image"), (encoded()[:45], "broken"), (b"<html>", "not an image")],
)
def test_fetched_content_is_opened_as_an_untrusted_image(
    tmp_path: Path, body: bytes, message: str
) -> None:
    with raw_server(sends(http(body))) as (address, _):
        table = a_table(tmp_path, [{"url": address, "caption": "x"}])
        assert download(table, tmp_path / "out", INSIDE).failed == 1
    assert message in (tmp_path / "out/failures.jsonl").read_text()


def test_pixels_of_a_download_are_limited(tmp_path: Path) -> None:
    limits = replace(INSIDE, pixels=50)
    with raw_server(sends(http(encoded()))) as (address, _):
        table = a_table(tmp_path, [{"url": address, "caption": "x"}])
        assert download(table, tmp_path / "out", limits).failed == 1
    assert "more than 50 pixels" in (tmp_path / "out/failures.jsonl").read_text()
