"""Scoring on a busy machine: one process alone, then two at once. `python app.py bench --busy 60`

Each process scores drawn pairs with the embedded model, once with OpenMP's defaults (as many
threads as cores, which spin while they wait) and once with the settings of this program
(`backend/engine/threads.py`). Processor time is that of the whole child processes, including
loading.
"""

import os
import random
import resource
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from backend.engine import threads
from backend.progress import Progress, no_progress

#: The folder that `backend` is imported from, of a checkout or of an installed program.
_ROOT = Path(__file__).resolve().parents[2]
#: GNU OpenMP's default spin count of a waiting thread.
_DEFAULT_SPINS = "300000"


@dataclass(frozen=True)
class Together:
    """`programs` processes at once: seconds until the last ends, and processor seconds of all."""

    settings: str
    programs: int
    wall_seconds: float
    processor_seconds: float


@dataclass(frozen=True)
class BusyReport:
    pairs: int
    cores: int
    load_before: float
    runs: tuple[Together, ...]

    def slowdown(self, settings: str) -> float:
        """Wall time of two processes at once over that of one alone."""
        alone, both = (run.wall_seconds for run in self.runs if run.settings == settings)
        return both / alone

    def table(self) -> str:
        lines = [
            f"{self.pairs} drawn pairs a program, embedded BLIP-ITM, Elimination; {self.cores} "
            f"cores, load before: {self.load_before:.1f}",
            f"{'settings':14}{'programs':>9}{'wall s':>9}{'processor s':>13}",
        ]
        lines += [
            f"{run.settings:14}{run.programs:9}{run.wall_seconds:9.1f}{run.processor_seconds:13.1f}"
            for run in self.runs
        ]
        lines += [
            f"{name}: two at once take {self.slowdown(name):.2f} times one alone"
            for name in dict.fromkeys(run.settings for run in self.runs)
        ]
        return "\n".join(lines)


def bench_busy(pairs: int, progress: Progress = no_progress) -> BusyReport:
    load = threads.others_load(0)
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("OMP_", "GOMP_", "KMP_"))}
    spinning = {
        **clean,
        "GOMP_SPINCOUNT": _DEFAULT_SPINS,
        "KMP_BLOCKTIME": "200",
        "OMP_NUM_THREADS": str(threads.cores()),
    }
    runs: list[Together] = []
    for name, environment in (("OpenMP's own", spinning), ("as we set", clean)):
        for programs in (1, 2):
            progress(len(runs), 4, f"{name}, {programs} at once")
            runs.append(_together(name, programs, pairs, environment))
    return BusyReport(pairs, threads.cores(), load, tuple(runs))


def _together(name: str, programs: int, pairs: int, environment: dict[str, str]) -> Together:
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    command = [sys.executable, "-m", "research.bench.busy", str(pairs)]
    running = [
        subprocess.Popen(command, cwd=_ROOT, env=environment, stdout=subprocess.DEVNULL)
        for _ in range(programs)
    ]
    for process in running:
        if process.wait() != 0:
            raise RuntimeError(f"A program under measurement ended with {process.returncode}.")
    wall, after = time.monotonic() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Together(name, programs, wall, spent)


def score_drawn_pairs(pairs: int) -> int:
    """The measured workload: trajectories of `pairs` drawn pairs. Returns their number."""
    from backend.loaded_models import Engine
    from backend.settings import load_settings
    from research.scenes.grammar import describe
    from research.scenes.renderer import render
    from research.scenes.world import make_scene

    rng = random.Random(0)
    engine, made = Engine(load_settings({}, {})), 0
    for first in range(0, pairs, 48):
        scenes = [make_scene(rng) for _ in range(min(48, pairs - first))]
        states = engine.encode([render(scene, 96) for scene in scenes])
        captions = [describe(scene, rng).text for scene in scenes]
        made += len(engine.trajectories(list(zip(states, captions, strict=True))))
    return made


if __name__ == "__main__":
    print(score_drawn_pairs(int(sys.argv[1])))
