"""What img2dataset has downloaded is imported, in each of its formats."""

import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.crossings.conftest import Run
from tests.datasets.folders import json_lines, picture, read, write

PACKAGES = ("img2dataset==1.47.0",)
SCRIPT = """
import sys
from img2dataset import download

if __name__ == "__main__":
    urls, out, form = sys.argv[1:]
    download(
        url_list=urls, input_format="jsonl", url_col="url", caption_col="caption",
        output_folder=out, output_format=form, processes_count=1, thread_count=2, timeout=5,
        resize_mode="no", encode_format="png", encode_quality=9, skip_reencode=True,
    )
    print("null")
"""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    folder = tmp_path / "web"
    for name in ("a", "b", "c", "d"):
        picture(folder / f"{name}.png", (32, 24))

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None: ...

    web = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    threading.Thread(target=web.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{web.server_port}"
    web.shutdown()
    web.server_close()


@pytest.mark.parametrize("form", ["files", "webdataset", "parquet"])
def test_downloads_are_imported(tmp_path: Path, run_with: Run, server: str, form: str) -> None:
    """A failed row and a null caption are no pairs; the others have their own pictures."""
    captions = {"a": " A dog. ", "b": "A cat, “big”.", "gone": "Nothing.", "c": None, "d": "NA"}
    rows = [{"url": f"{server}/{name}.png", "caption": text} for name, text in captions.items()]
    urls = write(tmp_path / "urls.jsonl", json_lines(rows))
    run_with(PACKAGES, SCRIPT, urls, tmp_path / "out", form)
    pairs, reader = read(tmp_path / "out")
    by_url = {str(pair.extra["url"]).rsplit("/", 1)[-1]: pair.caption for pair in pairs}
    assert by_url == {"a.png": " A dog. ", "b.png": "A cat, “big”.", "d.png": "NA"}
    kinds = {problem.kind for problem in reader.problems}
    assert kinds <= {"empty caption", "missing image", "unreadable image"}
