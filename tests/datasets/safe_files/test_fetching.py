"""Untrusted addresses and servers, over real connections: each bad one costs its own row, and no
more; nothing inside a private network is reached."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from backend.datasets.safe_files.fetching import Fetcher, FetchError, Limits, as_url, public_address
from tests.datasets.folders import encoded

#: So long that a busy machine is no reason to give up.
INSIDE = Limits(seconds=200, bytes=100_000, allow_private=True)
BRIEF = replace(INSIDE, seconds=0.5)
#: Writes anything to the socket, for the path that was asked for.
Answer = Callable[[socket.socket, str], None]


@contextmanager
def raw_server(answer: Answer) -> Iterator[tuple[str, list[str]]]:
    """A server below HTTP: its address, and the paths that were asked for."""
    requests: list[str] = []
    listening = socket.create_server(("127.0.0.1", 0))

    def serve_connection(connection: socket.socket) -> None:
        with connection:
            try:
                requests.append(connection.recv(65536).split(b" ")[1].decode())
                answer(connection, requests[-1])
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


def http(body: bytes, status: bytes = b"200 OK") -> bytes:
    head = b"HTTP/1.1 %s\r\nContent-Length: %d\r\nConnection: close\r\n\r\n"
    return head % (status, len(body)) + body


def moved(target: str) -> bytes:
    return b"HTTP/1.1 302 Found\r\nLocation: %s\r\nContent-Length: 0\r\n\r\n" % target.encode()


def sends(data: bytes) -> Answer:
    return lambda connection, _: connection.sendall(data)


def dripping(data: bytes) -> Answer:
    def answer(connection: socket.socket, _: str) -> None:
        for byte in data:
            connection.sendall(bytes([byte]))
            time.sleep(0.2)

    return answer


def pages(connection: socket.socket, path: str) -> None:
    """/image, /text, /large, and under /moved/… a way to any other."""
    bodies = {"/image": encoded(), "/text": b"no image", "/large": b"x" * 200_000}
    if path.startswith("/moved"):
        connection.sendall(moved(path.removeprefix("/moved") or "/moved"))
    elif path in bodies:
        connection.sendall(http(bodies[path]))
    else:
        connection.sendall(http(b"", b"404 Not Found"))


# Addresses


@pytest.mark.parametrize(
    ("address", "sent"),
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
def test_addresses_of_any_script_are_encoded(address: str, sent: str) -> None:
    assert as_url(address) == sent


NONSENSE = [
    "", "words", "http://", "http:///x", "http://[", "http://[::1", "http://x:port/", "http://x:99999/",
    "http://\ud800.example/", "http://x/\ud800", "http://" + "a" * 300 + ".example/", "http://\0/",
    "http://x.example/\r\nHost: y", "http://a..b/", "http://xn--a/", "ftp://x/", "file:///etc/hostname",
    "http://user:word@/", "http://☃️\u200b\u202e/", "javascript:alert(1)", "http://%00/",
    "http://x" + "y" * 70_000,
]  # fmt: skip


def test_addresses_without_sense_are_refused() -> None:
    for url in NONSENSE:
        with pytest.raises(FetchError):
            Fetcher(BRIEF).fetch(url)


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
    for host in ("93.184.215.14", "2606:4700::6810:84e5", "64:ff9b::5db8:d70e"):
        assert public_address(host, 80) == host


def test_a_server_on_this_machine_is_never_contacted() -> None:
    with raw_server(pages) as (address, requests):
        for place in (address, address.replace("127.0.0.1", "localhost")):
            with pytest.raises(FetchError, match="not public"):
                Fetcher(Limits()).fetch(f"{place}/image")
    assert requests == []


@pytest.mark.parametrize("host", ["169.254.169.254", "[2002:a00:1::]"])
def test_names_and_redirects_that_lead_inside_are_refused(
    host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain, connected = socket.getaddrinfo, list[str]()
    names = {"public.example": ["93.184.215.14"], "both.example": ["93.184.215.14", "10.0.0.1"]}
    with raw_server(sends(moved(f"http://{host}/"))) as (address, requests):
        port = int(address.rpartition(":")[2])
        real = socket.create_connection

        def resolve(name: str, *rest: Any, **options: Any) -> Any:
            known = [(2, 1, 6, "", (ip, port)) for ip in names.get(name, ())]
            return known or plain(name, *rest, **options)

        def connect(target: Any, *rest: Any, **options: Any) -> socket.socket:
            connected.append(target[0])
            return real(("127.0.0.1", port), *rest, **options)

        monkeypatch.setattr(socket, "getaddrinfo", resolve)
        monkeypatch.setattr(socket, "create_connection", connect)
        for name in names:
            with pytest.raises(FetchError, match="not public"):
                Fetcher(Limits(seconds=200)).fetch(f"http://{name}/")
    assert connected == ["93.184.215.14"]
    assert len(requests) == 1


# Servers


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("/none", "404"), ("/large", "larger than"), ("/moved", "too many redirects"),
        ("/movedftp://x/y", "not http"), ("/movedfile:///etc/hostname", "not http"),
    ],
)  # fmt: skip
def test_failed_fetches_are_reported(path: str, message: str) -> None:
    with raw_server(pages) as (address, _), pytest.raises(FetchError, match=message):
        Fetcher(INSIDE).fetch(address + path)


def slow_redirect(connection: socket.socket, _: str) -> None:
    time.sleep(0.2)
    connection.sendall(moved("/on"))


@pytest.mark.parametrize(
    "answer",
    [
        dripping(b"HTTP/1.1 200 OK\r\nX-A: " + b"a" * 5000 + b"\r\n\r\n"),
        dripping(http(encoded())),
        dripping(b"HTTP/1.1 100 Continue\r\n\r\n" * 500),
        lambda connection, _: time.sleep(20),
        slow_redirect,
    ],
    ids=["headers", "body", "continues", "silence", "redirects"],
)
def test_one_deadline_covers_every_phase_of_a_response(answer: Answer) -> None:
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
        moved("http://["), b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n",
        http(b"x" * 500_000),
    ],
)  # fmt: skip
def test_malformed_responses_are_reported(data: bytes) -> None:
    with raw_server(sends(data)) as (address, _), pytest.raises(FetchError):
        Fetcher(INSIDE).fetch(address)
