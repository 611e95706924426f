"""Measure a model's speed on this machine: score a few pairs of the demo like a dataset.

The result is specific to the machine, so it is stored in the data folder, not in the database.
"""

import json
import os
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from PIL import Image

from backend.bundled import DEMO
from backend.datasets.images import load_image
from backend.engine import memory
from backend.errors import ModelUnavailable
from backend.loaded_models import Engine
from backend.progress import Progress, no_progress
from backend.settings import Settings

#: Pairs that are scored.
PAIRS = 20
_FILE = "model-probes.json"


@dataclass(frozen=True)
class Probe:
    """`seconds`: for a thousand pairs, captioner included, without loading; `load_seconds`: until
    the first pair; `memory`: growth of the process in bytes."""

    model: str
    captioner: str | None
    device: str
    precision: str
    seconds: float
    load_seconds: float
    memory: int
    cores: int
    measured_at: str


def probe(settings: Settings, model: str, progress: Progress = no_progress) -> Probe:
    """Score `PAIRS` pairs with the models in the settings, and store the result under `model`.

    Raises ModelUnavailable, and ModelMissing if the model is not on this machine.
    """
    pairs = demo_pairs(PAIRS)
    before, began = memory.resident(), time.monotonic()
    progress(0, PAIRS, "Loading the model")
    engine = Engine(settings)
    info = engine.scorer.info
    captioner = engine.captioner
    _score(engine, pairs[:1])  # warm-up is not counted
    loaded = time.monotonic()
    done = 0
    for first in range(0, PAIRS, PAIRS // 2):
        part = pairs[first : first + PAIRS // 2]
        _score(engine, part)
        done += len(part)
        progress(done, PAIRS, "Scoring pairs of the demo")
    seconds = time.monotonic() - loaded
    measured = Probe(
        model,
        captioner.name if captioner is not None else None,
        info.device,
        info.precision,
        1000 * seconds / PAIRS,
        loaded - began,
        max(0, memory.resident() - before),
        os.cpu_count() or 1,
        datetime.now(UTC).isoformat(timespec="seconds"),
    )
    _keep(settings.data_directory, measured)
    return measured


def probes(folder: Path) -> dict[str, Probe]:
    """Measurements on this machine, by model. `folder`: the data folder."""
    try:
        stored = json.loads((folder / _FILE).read_text(encoding="utf-8"))
        return {name: Probe(**values) for name, values in stored.items()}
    except (OSError, ValueError, TypeError):
        return {}  # none yet, or written by another version of this program: measure again


def demo_pairs(count: int) -> list[tuple[Image.Image, str]]:
    """(picture, caption) of the first pairs of the demo, which come with the program."""
    table = DEMO / "metadata.jsonl"
    try:
        with table.open(encoding="utf-8") as lines:
            rows = [json.loads(next(lines)) for _ in range(count)]
        return [(load_image(DEMO / row["file_name"]), row["caption"]) for row in rows]
    except (OSError, StopIteration, ValueError) as problem:
        raise ModelUnavailable(
            f"The demo's pictures are missing or damaged in {DEMO}, so nothing can be "
            "measured. Reinstall the program."
        ) from problem


def _score(engine: Engine, pairs: Sequence[tuple[Image.Image, str]]) -> None:
    states = engine.encode([image for image, _ in pairs])
    captions = [caption for _, caption in pairs]
    engine.trajectories(list(zip(states, captions, strict=True)))
    engine.expectations(pairs)
    engine.concreteness(captions)


def _keep(folder: Path, measured: Probe) -> None:
    known = {name: asdict(earlier) for name, earlier in probes(folder).items()}
    known[measured.model] = asdict(measured)
    folder.mkdir(parents=True, exist_ok=True)
    part = folder / f"{_FILE}.part"
    part.write_text(json.dumps(known, indent=2), encoding="utf-8")
    part.replace(folder / _FILE)
