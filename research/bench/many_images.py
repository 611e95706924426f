"""Memory with many images: `python app.py bench --images 100000`

Imports, scores with the embedded CLIP model and exports small drawn images, and records the memory
of this process meanwhile: a stage is flat if it takes no more at its end than after a tenth.
"""

import json
import random
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import psutil
from PIL import Image

from backend.jobs.reports import ExportChoice
from backend.progress import Progress, no_progress
from backend.settings import MODELS, load_settings
from backend.workspace import Workspace
from research.bench.generated_store import made_caption

#: Side of an image in pixels.
_SIDE = 32
_MIB = 2**20


@dataclass(frozen=True)
class Stage:
    """`early`, `peak`: the most memory in MiB during its first tenth, and during all of it."""

    name: str
    seconds: float
    early: float
    peak: float


@dataclass(frozen=True)
class ManyImages:
    images: int
    stages: tuple[Stage, ...]

    def table(self) -> str:
        lines = [f"{self.images:,} images", f"{'':8} {'s':>8} {'first tenth':>12} {'peak':>8}  MiB"]
        lines += [f"{s.name:8} {s.seconds:8.0f} {s.early:12.0f} {s.peak:8.0f}" for s in self.stages]
        return "\n".join(lines)


def bench_images(images: int, progress: Progress = no_progress) -> ManyImages:
    """Draw the images in a temporary folder and measure."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _draw(folder / "drawn", images, progress)
        settings = {
            "data_directory": name, "model": str(MODELS / "scenes-clip"), "captioner": "none",
            "detector": "logistic",
        }  # fmt: skip
        workspace = Workspace(load_settings(settings, {}))
        jobs = workspace.jobs
        try:
            made = [_Meter("import", progress)]
            dataset = jobs.import_dataset(folder / "drawn", progress=made[-1]).dataset_id
            made.append(_Meter("score", progress))
            jobs.score(dataset, made[-1], suggestions=False, anyway=True)
            made.append(_Meter("export", progress))
            choice = ExportChoice()
            jobs.export(dataset, choice, folder / "out", "webdataset", progress=made[-1])
            return ManyImages(images, tuple(meter.stage() for meter in made))
        finally:
            workspace.store.close()


def _draw(folder: Path, images: int, progress: Progress) -> None:
    rng, colours = random.Random(0), np.random.default_rng(0)
    folder.mkdir()
    with (folder / "metadata.jsonl").open("w", encoding="utf-8") as table:
        for number in range(images):
            file = f"{number // 1000:04d}/{number:07d}.jpg"
            (folder / file).parent.mkdir(exist_ok=True)
            blocks = colours.integers(0, 256, (4, 4, 3), np.uint8).repeat(_SIDE // 4, 0)
            Image.fromarray(blocks.repeat(_SIDE // 4, 1)).save(folder / file)
            print(json.dumps({"file_name": file, "caption": made_caption(rng)}), file=table)
            if number % 1000 == 0:
                progress(number, images, "Drawing")


class _Meter:
    """A progress that records this process's memory."""

    def __init__(self, name: str, progress: Progress) -> None:
        self._name, self._progress = name, progress
        self._process = psutil.Process()
        self._began, self._ended = time.monotonic(), 0.0
        self._early = self._peak = 0.0
        self._is_early = True

    def __call__(self, done: int, total: int, message: str) -> None:
        self._ended = time.monotonic()
        now = self._process.memory_info().rss / _MIB
        self._peak = max(self._peak, now)
        self._is_early = self._is_early and done * 10 <= total
        if self._is_early or not self._early:
            self._early = max(self._early, now)
        self._progress(done, total, message)

    def stage(self) -> Stage:
        return Stage(self._name, self._ended - self._began, self._early, self._peak)
