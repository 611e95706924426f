"""`serve` as a service manager sees it: its port, its shutdown, and the jobs that it resumes."""

import os
import re
import signal
import socket
import sqlite3
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import httpx2
import pytest

from backend.bundled import DEMO
from backend.errors import EXIT_STATUSES, INTERRUPTED, PortInUse
from tests.fixtures import programs
from tests.fixtures.programs import Program
from traced_ui.listening import listen
from traced_ui.server import SECONDS_TO_END

#: The seconds that the server has on an idle machine; a busy machine gets more, within limits.
PATIENCE = 6 * SECONDS_TO_END


@contextmanager
def started(folder: Path, *options: str) -> Iterator[tuple[Program, str, list[str]]]:
    """(process, its address, the lines it has printed)."""
    environment = {**os.environ, "TRACED_DATA_DIRECTORY": str(folder), "HF_HUB_OFFLINE": "1"}
    # The demo by its folder: without one it would already be scored, and no job would run.
    arguments = ["app.py", "serve", "--data", str(DEMO), "--port", "0", *options]
    process = programs.start(
        arguments, environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    lines: list[str] = []
    try:
        assert process.stdout is not None
        for line in process.stdout:
            lines.append(line)
            if address := re.search(r"http://[^ ]+", line):
                break
        else:
            pytest.fail("".join(lines))
        drain = threading.Thread(target=lambda: lines.extend(process.stdout or ()), daemon=True)
        drain.start()
        yield process, address[0], lines
    finally:
        process.kill()
        process.wait()


def job_under_way(address: str) -> bool:
    shown = httpx2.get(f"{address}healthy", timeout=200)
    return shown.status_code == 200


@pytest.mark.nightly
def test_the_server_stops_in_time_with_jobs_and_clients_and_resumes(tmp_path: Path) -> None:
    with started(tmp_path) as (process, address, _):
        while not job_under_way(address):
            time.sleep(0.2)
        open_streams = [socket.create_connection(("127.0.0.1", httpx2.URL(address).port or 0))
                        for _ in range(2)]  # fmt: skip
        paths = ["/gradio_api/heartbeat/abc", "/gradio_api/queue/data?session_hash=abc"]
        for stream, path in zip(open_streams, paths, strict=True):
            stream.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
        wait_for(lambda: any(status == "running" and done for _, status, done in jobs_of(tmp_path)))
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0
        for stream in open_streams:
            stream.close()
    with started(tmp_path) as (process, address, lines):
        assert "score (job 1) was interrupted" in " ".join("".join(lines).split())
        assert "job 2 has taken it over" in " ".join("".join(lines).split())
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == INTERRUPTED


#: A server with a thread that never ends, like one inside a library; the time limit is short.
_HANGING = """
import signal, threading
from traced_ui import server
server.SECONDS_TO_END = 2.1
server.Server(server.uvicorn.Config(app=None)).handle_exit(signal.SIGTERM, None)
threading.Event().wait()
"""


def test_a_hanging_thread_does_not_keep_the_process_alive() -> None:
    assert programs.start(["-c", _HANGING], os.environ).wait(PATIENCE * 4) == 0


def jobs_of(folder: Path) -> list[tuple[str, str, int]]:
    """Kind, status and progress of all jobs, in order."""
    with closing(sqlite3.connect(folder / "traced.db", timeout=200)) as connection:
        return connection.execute("SELECT kind, status, done FROM jobs ORDER BY id").fetchall()


def wait_for(what: Callable[[], bool], seconds: float = 240) -> None:
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_a_port_in_use_is_reported_before_anything_else(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        environment = {**os.environ, "TRACED_DATA_DIRECTORY": str(tmp_path / "state")}
        arguments = ["app.py", "serve", "--port", str(port)]
        status, printed, reported = programs.run(arguments, environment)
    assert status == PortInUse.exit_status
    assert status in EXIT_STATUSES
    assert "--port" in reported
    assert "Open" not in reported + printed
    assert not (tmp_path / "state").exists()


@pytest.mark.parametrize("host", ["192.0.2.1", "no.such.host.invalid"])
def test_an_address_of_another_machine_is_reported(host: str) -> None:
    with pytest.raises(PortInUse):
        listen(host, 0)


def test_localhost_is_reached_by_its_ip_address() -> None:
    with listen("localhost", 0) as listening:
        assert listening.getsockname()[0] == "127.0.0.1"
