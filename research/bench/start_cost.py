"""What a start costs until the first answer: `python app.py bench --start --against FOLDER`

Processor time and resident memory of `serve` on the demo when its first page has been sent, beside
an empty Gradio app on the same server. Each in turn, so that other programs slow down all alike.
"""

import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import psutil

from backend.errors import SettingsError
from backend.progress import Progress, no_progress
from research.bench.checkouts import HERE, checkouts

#: Starts of each, and seconds in which one has to answer.
TURNS, _PATIENCE = 3, 300
#: It needs Gradio, which research does not import.
_EMPTY_APP = HERE / "tests" / "traced_ui" / "empty_app.py"


@dataclass(frozen=True)
class Start:
    """Until the first answer: seconds of the processor, and resident bytes then."""

    seconds: float
    bytes: int

    def in_words(self) -> str:
        return f"{self.seconds:.1f} s of the processor, {self.bytes / 2**20:.0f} MiB"

    def over(self, other: "Start") -> str:
        return f"{self.seconds / other.seconds:.2f} × and {self.bytes / other.bytes:.2f} ×"


@dataclass(frozen=True)
class StartCost:
    """Medians of the starts, here, of an empty app, and in the other checkout."""

    ours: Start
    empty: Start
    against: str | None = None
    there: Start | None = None

    def table(self) -> str:
        text = (
            f"Until the first answer: {self.ours.in_words()}\n"
            f"An empty Gradio app:    {self.empty.in_words()}; "
            f"ours is {self.ours.over(self.empty)} of it"
        )
        if self.there is None:
            return text
        return (
            f"{text}\n{self.against}: {self.there.in_words()}; "
            f"ours is {self.ours.over(self.there)} of it"
        )


def bench_start(
    turns: int = TURNS, against: Path | None = None, progress: Progress = no_progress
) -> StartCost:
    """`turns`: starts of each. `against`: another checkout. Raises SettingsError if it is none or
    one does not start."""
    homes = checkouts(against)
    with tempfile.TemporaryDirectory() as folder:
        commands = [[str(_EMPTY_APP)], *(["app.py", "serve", "--port"] for _ in homes)]
        places = [(HERE, folder)]
        places += [(home, f"{folder}/{number}") for number, home in enumerate(homes)]
        starts: list[list[Start]] = [[] for _ in commands]
        for turn in range(turns + 1):
            for number, (command, (home, data)) in enumerate(zip(commands, places, strict=True)):
                progress(turn * len(commands) + number, (turns + 1) * len(commands), "")
                start = _start(command, home, {"TRACED_DATA_DIRECTORY": data})
                if turn:  # the first one unpacks the demo and compiles modules
                    starts[number].append(start)
    empty, ours, *there = map(_median, starts)
    return StartCost(ours, empty, None if against is None else str(against), *there)


def _median(starts: list[Start]) -> Start:
    return Start(
        median(start.seconds for start in starts), int(median(start.bytes for start in starts))
    )


def _start(command: list[str], home: Path, environment: Mapping[str, str]) -> Start:
    """Start a program, with the port as its last argument, and end it after its first answer."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    plain = {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(home), "GRADIO_ANALYTICS_ENABLED": "False"}
    with _running([sys.executable, *command, str(port)], home, {**plain, **environment}) as process:
        until = time.monotonic() + _PATIENCE
        while not _answers(port):
            if process.poll() is not None or time.monotonic() > until:
                raise SettingsError(f"{home} does not start.")
            time.sleep(0.02)
        server = psutil.Process(process.pid)
        times = server.cpu_times()
        return Start(times.user + times.system, server.memory_info().rss)


@contextmanager
def _running(
    command: list[str], home: Path, environment: Mapping[str, str]
) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(
        command, cwd=home, env={**os.environ, **environment},
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def _answers(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=_PATIENCE) as answer:
            return bool(answer.read())
    except OSError:
        return False
