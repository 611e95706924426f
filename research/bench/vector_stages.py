"""Cost of the stages that use image vectors, at any scale: `python app.py bench --vectors 100000`

Specificity, near duplicates and the map of generated pictures, each in a separate process:
processor time, including imports, and peak memory. As for photographs, the vectors are clustered,
and one in fifty is a near copy. Captions are encoded by the embedded scorer, so the text side costs
as much as a model of its size. No image is opened.
"""

import random
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from backend.jobs.vectors import image_file, remember_images
from backend.progress import Progress, no_progress
from backend.settings import DEMO, load_settings
from backend.workspace import Workspace
from db.queries import datasets, pairs, runs
from db.queries.pairs import NewPair
from research.bench.generated_store import made_caption
from research.bench.process_cost import cost_of

_BATCH = 5000
_CLUSTERS = 400
#: Distance of pictures from their cluster's centre, and of copies from their original.
_SPREAD, _COPY = 0.6, 0.05
_COPIES = 50
#: The measured stages, and the kind of job that runs each.
_STAGES = {
    "specificity": "specificity",
    "near duplicates": "duplicates",
    "map": "map",
}
_STAGE = """
from backend.settings import load_settings
from backend.workspace import Workspace

def run():
    workspace = Workspace(load_settings({}, {"TRACED_DATA_DIRECTORY": sys.argv[3]}))
    workspace.jobs.run(sys.argv[1], int(sys.argv[2]))
    print("null")
"""


@dataclass(frozen=True)
class StageCost:
    """One stage over all pictures. `processor_seconds`: user and system time."""

    stage: str
    processor_seconds: float
    peak_mebibytes: float


@dataclass(frozen=True)
class VectorStages:
    pictures: int
    width: int
    costs: tuple[StageCost, ...]

    def table(self) -> str:
        lines = [
            f"{self.pictures:,} generated pictures, vectors of {self.width} numbers",
            f"{'stage':20}{'processor s':>12}{'peak MiB':>10}",
        ]
        lines += [
            f"{c.stage:20}{c.processor_seconds:12.1f}{c.peak_mebibytes:10.0f}" for c in self.costs
        ]
        return "\n".join(lines)


def bench_vectors(count: int, width: int = 512, progress: Progress = no_progress) -> VectorStages:
    """Run every stage over `count` pictures with vectors of `width` dimensions.

    Specificity always uses the embedded scorer's width, because it compares image vectors with that
    scorer's caption vectors."""
    with tempfile.TemporaryDirectory() as folder:
        workspace = Workspace(load_settings({"data_directory": folder}, {}))
        try:
            scorer_width = workspace.engine.scorer.text_embeddings(["A cat."]).shape[1]
            datasets_by_width = {
                number: generate_vectors(workspace, count, number, progress=progress)
                for number in dict.fromkeys((scorer_width, width))
            }
        finally:
            workspace.store.close()
        costs = []
        for number, (stage, job) in enumerate(_STAGES.items()):
            progress(number, len(_STAGES), stage)
            dataset = datasets_by_width[scorer_width if stage == "specificity" else width]
            cost = cost_of(_STAGE, [job, str(dataset), folder], folder)
            costs.append(StageCost(stage, cost.processor_seconds, cost.peak_mebibytes))
    return VectorStages(count, width, tuple(costs))


def generate_vectors(
    workspace: Workspace, count: int, width: int, seed: int = 0, progress: Progress = no_progress
) -> int:
    """Create a dataset of `count` pictures, each with a caption and a vector; return its id."""
    store, info = workspace.store, workspace.engine.scorer.info
    with store.writing() as session:
        dataset = datasets.create_dataset(
            session, f"vectors-{width}", f"generated:{count}", str(DEMO)
        )
        run = runs.start_run(
            session, kind="score", dataset_id=dataset.id, scorer_kind=info.kind, model=info.model,
            revision=info.revision, explorer="elimination", parameters={}, code_version="0",
        )  # fmt: skip
    path = image_file(store, workspace.engine, run)
    rng, last, done = random.Random(seed), 0, 0
    for vectors in _vectors(count, width, seed):
        with store.writing() as session:
            pairs.add_pairs(
                session,
                dataset.id,
                [
                    NewPair(f"picture-{number:09d}", f"{number}.jpg", made_caption(rng), "train",
                            "generated", number)
                    for number in range(done, done + len(vectors))
                ],
            )  # fmt: skip
        with store.reading() as session:
            ids = [row.id for row in pairs.pairs_after(session, dataset.id, last, len(vectors))]
        remember_images(path, ids, vectors)
        last, done = ids[-1], done + len(ids)
        progress(done, count, "Making vectors")
    with store.writing() as session:
        runs.finish_run(session, run.id)
    return dataset.id


def _vectors(count: int, width: int, seed: int) -> Iterator[NDArray[np.float32]]:
    """Batches of clustered unit vectors; every `_COPIES`-th is a near copy of its predecessor."""
    numbers = np.random.default_rng(seed)
    middles = _unit(numbers.normal(size=(_CLUSTERS, width)))
    for first in range(0, count, _BATCH):
        size = min(_BATCH, count - first)
        near = numbers.normal(size=(size, width)) / np.sqrt(width)
        made = _unit(middles[numbers.integers(_CLUSTERS, size=size)] + _SPREAD * near)
        copies = np.arange(_COPIES - 1, size, _COPIES)
        made[copies] = _unit(made[copies - 1] + _COPY * near[copies])
        yield made.astype(np.float32)


def _unit(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
