"""Uploads that take their time: others are served meanwhile, and what ends early leaves nothing."""

import socket
import time
from collections.abc import Iterator
from urllib.parse import urlsplit

import httpx2
import pytest

from backend.workspace import Workspace
from tests.traced_ui.serving import serving

#: More than the threads that the server has for its work.
SENDERS = 60


@pytest.fixture
def address(workspace: Workspace) -> Iterator[str]:
    with serving(workspace) as address:
        yield address


def begun(address: str, path: str, length: int) -> socket.socket:
    """A request of which only the beginning arrives."""
    place = urlsplit(address)
    sender = socket.create_connection((str(place.hostname), int(place.port or 0)), timeout=200)
    head = f"PUT /{path} HTTP/1.1\r\nHost: {place.netloc}\r\nContent-Length: {length}\r\n\r\n"
    sender.sendall(head.encode() + b"x" * 100)
    return sender


def test_slow_uploads_hold_nobody_up_and_leave_nothing(address: str, workspace: Workspace) -> None:
    uploads = [httpx2.post(f"{address}uploads").json()["upload"] for _ in range(SENDERS)]
    senders = [begun(address, f"uploads/{name}?path=a.csv", 1_000_000) for name in uploads]
    for _ in range(5):
        assert httpx2.get(f"{address}healthy", timeout=200).status_code == 200
        assert httpx2.get(f"{address}pictures/1?size=104", timeout=200).status_code == 200
    for sender in senders:
        sender.close()
    while any(path.is_file() for path in workspace.uploads.folder.rglob("*")):
        time.sleep(0.1)


def test_a_picture_that_arrives_slowly_holds_nobody_up(address: str) -> None:
    place = urlsplit(address)
    senders = []
    for _ in range(SENDERS):
        sender = socket.create_connection((str(place.hostname), int(place.port or 0)), timeout=200)
        sender.sendall(
            f"POST /gradio_api/upload HTTP/1.1\r\nHost: {place.netloc}\r\n"
            "Content-Type: multipart/form-data; boundary=b\r\nContent-Length: 100000\r\n\r\n"
            '--b\r\nContent-Disposition: form-data; name="files"; filename="a.png"\r\n\r\n'.encode()
        )
        senders.append(sender)
    for _ in range(5):
        assert httpx2.get(f"{address}healthy", timeout=200).status_code == 200
    for sender in senders:
        sender.close()
