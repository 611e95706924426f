"""Peak memory of an import and of scoring: `python app.py bench --memory 16000 --against FOLDER`

A table of as many rows, which share the demo's pictures and have a caption each, is imported and
scored by the embedded CLIP, first steps alone, in a process for each. What else the machine does
makes no difference.
"""

import csv
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path

from backend.bundled import DEMO, MODELS
from backend.errors import SettingsError
from backend.progress import Progress, no_progress
from research.bench.checkouts import checkouts

_NAME = "pairs"
_IMPORT = ("import", "captions.csv", "--name", _NAME, "--image-root", str(DEMO))
_SCORE = (
    "score", _NAME, "--scorer", "clip", "--model", str(MODELS / "scenes-clip"),
    "--captioner", "none", "--trajectories", "first-step", "--no-suggestions", "--anyway",
)  # fmt: skip


@dataclass(frozen=True)
class Peaks:
    """Most resident bytes of the process that imports, and of the one that scores."""

    importing: int
    scoring: int

    def in_words(self) -> str:
        return f"import {self.importing / 2**20:.0f} MiB, score {self.scoring / 2**20:.0f} MiB"


@dataclass(frozen=True)
class MemoryPeaks:
    """Of as many pairs, here and in the other checkout."""

    pairs: int
    ours: Peaks
    against: str | None = None
    there: Peaks | None = None

    def table(self) -> str:
        text = f"{self.pairs:,} pairs, peak: {self.ours.in_words()}"
        if self.there is None:
            return text
        ratios = (
            self.ours.importing / self.there.importing, self.ours.scoring / self.there.scoring
        )  # fmt: skip
        return (
            f"{text}\n{self.against}: {self.there.in_words()}; "
            f"ours is {ratios[0]:.2f} × and {ratios[1]:.2f} × of it"
        )


def bench_memory(
    pairs: int, against: Path | None = None, progress: Progress = no_progress
) -> MemoryPeaks:
    """`against`: another checkout. Raises SettingsError if it is none or a command fails."""
    homes = checkouts(against)
    peaks = []
    with tempfile.TemporaryDirectory() as folder:
        _write_table(Path(folder) / "captions.csv", pairs)
        for number, home in enumerate(homes):
            bytes_of = []
            for command in (_IMPORT, _SCORE):
                progress(2 * number + len(bytes_of), 2 * len(homes), "")
                bytes_of.append(_peak(command, home, Path(folder), f"data-{number}"))
            peaks.append(Peaks(*bytes_of))
    return MemoryPeaks(pairs, peaks[0], None if against is None else str(against), *peaks[1:])


def _write_table(file: Path, pairs: int) -> None:
    rows = [
        json.loads(line)
        for line in (DEMO / "metadata.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    with file.open("w", encoding="utf-8", newline="") as table:
        writer = csv.writer(table)
        writer.writerow(["image", "caption"])
        for number, row in enumerate(islice(cycle(rows), pairs)):
            writer.writerow([row["file_name"], f"{row['caption']} {number}"])


def _peak(command: Sequence[str], home: Path, folder: Path, data: str) -> int:
    """Most resident bytes of a command, which runs in `folder`."""
    environment = {"PYTHONPATH": str(home), "TRACED_DATA_DIRECTORY": str(folder / data)}
    with (folder / "messages.txt").open("w+", encoding="utf-8") as messages:
        process = subprocess.Popen(
            [sys.executable, str(home / "app.py"), *command], cwd=folder,
            env=os.environ | environment, stdout=subprocess.DEVNULL, stderr=messages,
        )  # fmt: skip
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            messages.seek(0)
            raise SettingsError(f"`{command[0]}` fails in {home}:\n{messages.read()[-2000:]}")
    return usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
