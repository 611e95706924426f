"""A server that is killed while somebody downloads an export: what came does not pass as whole, and
the same address gives it anew. (Downloads of models and pictures are killed in `scenarios.py`.)"""

import http.client
import io
import os
import signal
import socket
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from backend.settings import load_settings
from backend.workspace import ExportChoice, Workspace
from tests.fixtures import programs

PATIENCE = 600
_SERVER = """
import sys
import fastapi, uvicorn
from backend.settings import load_settings
from backend.workspace import Workspace
from traced_ui.transfers import add_routes

app = fastapi.FastAPI()
add_routes(app, Workspace(load_settings({"data_directory": sys.argv[1]}, {})))
uvicorn.run(app, port=int(sys.argv[2]), log_level="error")
"""


@contextmanager
def serving(state: Path, port: int) -> Iterator[programs.Program]:
    server = programs.start(["-c", _SERVER, str(state), str(port)], os.environ)
    try:
        yield server
    finally:
        server.kill()
        server.wait()


def requested(server: programs.Program, port: int, job: int) -> http.client.HTTPResponse:
    """The answer to a request for the export, as soon as the server listens."""
    until = time.monotonic() + PATIENCE
    while True:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        try:
            connection.request("GET", f"/exports/{job}.zip")
            return connection.getresponse()
        except OSError:
            assert server.poll() is None, "the server has ended"
            assert time.monotonic() < until, "the server does not listen"
            time.sleep(0.2)


@pytest.mark.nightly
@pytest.mark.timeout(3 * PATIENCE)
def test_an_export_whose_download_was_killed_is_no_zip_and_comes_again(tmp_path: Path) -> None:
    pictures, state = tmp_path / "pairs", tmp_path / "state"
    pictures.mkdir()
    noise = np.random.default_rng(0).integers(0, 256, (4, 1200, 1200, 3), np.uint8)
    for number, pixels in enumerate(noise):  # together larger than what waits in sockets
        Image.fromarray(pixels).save(pictures / f"{number}.png")
        (pictures / f"{number}.txt").write_text(f"noise, number {number}")
    workspace = Workspace(load_settings({"data_directory": str(state)}, {}))
    workspace.jobs.import_dataset(pictures)
    job = workspace.jobs.start(
        "export", 1, choice=ExportChoice(), out=str(tmp_path / "out"), format="imagefolder"
    )
    assert workspace.jobs.background.wait(PATIENCE)
    assert workspace.jobs.job(job).status == "done"
    workspace.store.close()
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]

    with serving(state, port) as server:
        answer = requested(server, port, job)
        came = answer.read(100_000)
        server.send_signal(signal.SIGKILL)
        with pytest.raises((http.client.IncompleteRead, ConnectionError)) as cut:
            answer.read()
    came += getattr(cut.value, "partial", b"")
    with pytest.raises(zipfile.BadZipFile):
        zipfile.ZipFile(io.BytesIO(came))

    with serving(state, port) as server, requested(server, port, job) as answer:
        whole = answer.read()
    assert whole[:1000] == came[:1000]
    with zipfile.ZipFile(io.BytesIO(whole)) as archive:
        assert archive.testzip() is None
        written = {path.relative_to(tmp_path / "out").as_posix(): path.read_bytes()
                   for path in (tmp_path / "out").rglob("[!.]*") if path.is_file()}  # fmt: skip
        assert {name: archive.read(name) for name in archive.namelist()} == written
