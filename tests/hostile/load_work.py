"""The work that runs in parallel with the curators of `tests.hostile.load`: a server that runs one
job after the other, as its pages start them, and a second program on the same database that runs
all four kinds at once. Both end when the folder has a file named `stop`.

    python -m tests.hostile.load_work serve --port 7860
    python -m tests.hostile.load_work jobs
"""

import argparse
import itertools
import json
import os
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path

from backend.errors import explain
from backend.jobs.runner import Stopped
from backend.settings import load_settings
from backend.workspace import Workspace
from traced_ui.server import serve

DATASET = "scenes"
#: Rows that are added to the source before each import.
GROWTH = 25
_KINDS = ("import", "score", "train", "adopt")


def source_of(workspace: Workspace) -> Path:
    """Where the dataset's rows are: inside the data folder, the only place that pages import from
    if people log in."""
    return workspace.settings.data_directory / DATASET


def grow(source: Path, rows: int) -> None:
    """Add this many rows, about the existing pictures, in one step."""
    table = source / "metadata.jsonl"
    lines = table.read_text("utf-8").splitlines(keepends=True)
    for number in range(len(lines), len(lines) + rows):
        row = json.loads(lines[number % 30 % len(lines)])
        lines.append(json.dumps({**row, "id": f"row-{number:06d}"}) + "\n")
    part = table.with_suffix(".part")
    part.write_text("".join(lines), "utf-8")
    os.replace(part, table)


class Journal:
    """A line for everything done: kind, seconds, and the problem if there was one."""

    def __init__(self, path: Path, stop: Path) -> None:
        self._file = path.open("a", encoding="utf-8", buffering=1)
        self._stop = stop
        self._lock = threading.Lock()

    def is_over(self) -> bool:
        return self._stop.exists()

    def progress(self, done: int, total: int, message: str) -> None:
        """Ends the reporting job once time is up, as the server's own jobs end with the server."""
        if self.is_over():
            raise Stopped

    def do(self, kind: str, work: Callable[[], str]) -> None:
        """Do the work and record it. `work` returns what went wrong without an exception."""
        started = time.monotonic()
        try:
            problem = work()
        except Stopped:
            return
        except Exception as error:
            problem = f"{type(error).__name__}: {explain(error)}"
        line = {"kind": kind, "seconds": time.monotonic() - started, "problem": problem}
        with self._lock:
            self._file.write(json.dumps(line) + "\n")


def work_in_background(workspace: Workspace, journal: Journal) -> None:
    """Run one job after the other with the server's own runner."""
    dataset = workspace.find(DATASET)
    for turn in itertools.count():
        kind = _KINDS[turn % len(_KINDS)]
        if journal.is_over():
            return

        def work(kind: str = kind, turn: int = turn) -> str:
            given: dict[str, object] = {}
            if kind == "import":
                given = {"path": str(source_of(workspace)), "name": DATASET}
            elif kind == "adopt":
                given = {"classifier_id": chosen(workspace, dataset, turn // len(_KINDS))}
            elif kind == "score":
                given = {"suggestions": False}
            job = workspace.jobs.start(kind, None if kind == "import" else dataset, **given)
            while (view := workspace.jobs.job(job)).status in ("queued", "running"):
                time.sleep(0.2)
            return "" if view.status == "done" else view.message

        journal.do(f"{kind}, server", work)


def chosen(workspace: Workspace, dataset: int, turn: int) -> int:
    """A classifier to adopt, a different one each time."""
    known = workspace.jobs.classifiers(dataset)
    return known[turn % min(3, len(known))].id


def work_at_once(workspace: Workspace, journal: Journal) -> None:
    """Run all four kinds at once, each repeatedly, until time is up."""
    dataset = workspace.find(DATASET)

    def imports(turn: int) -> None:
        grow(source_of(workspace), GROWTH)
        workspace.jobs.import_dataset(source_of(workspace), DATASET, journal.progress)

    def adopts(turn: int) -> None:
        workspace.jobs.adopt(chosen(workspace, dataset, turn), journal.progress)

    works: dict[str, Callable[[int], object]] = {
        "import": imports,
        "score": lambda turn: workspace.jobs.score(dataset, journal.progress, suggestions=False),
        "train": lambda turn: workspace.jobs.run("train", dataset, journal.progress),
        "adopt": adopts,
    }

    def loop(kind: str) -> None:
        for turn in itertools.count():
            if journal.is_over():
                return

            def work(turn: int = turn) -> str:
                works[kind](turn)
                return ""

            journal.do(kind, work)
            time.sleep(0.5)  # people start these jobs, not a loop

    threads = [threading.Thread(target=loop, args=(kind,)) for kind in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("serve", "jobs"))
    parser.add_argument("--port", type=int, default=0)
    args = parser.parse_args()
    workspace = Workspace(load_settings())
    folder = workspace.settings.data_directory
    journal = Journal(folder / f"{args.what}.jsonl", folder / "stop")
    if args.what == "jobs":
        work_at_once(workspace, journal)
        workspace.store.close()
        return
    with socket.create_server(("127.0.0.1", args.port)) as listening:
        background = threading.Thread(
            target=work_in_background, args=(workspace, journal), daemon=True
        )
        background.start()
        serve(workspace, listening, workspace.find(DATASET), login=True)


if __name__ == "__main__":
    main()
