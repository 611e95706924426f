"""Drawn datasets after their cold start, for simulating verdicts on them.

`python -m research.evaluation.verdict_worlds FOLDER` takes the demo and draws the scenes of a seed
for each training of the embedded models, makes a share of the captions wrong by each kind of noise,
and saves what a detector knows before the first verdict: one file per dataset, so that simulations
score nothing.
"""

import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from backend.bundled import MODELS
from backend.engine.correction.captioner_loading import load_captioner
from backend.engine.detection.cold_start import cold_start
from backend.engine.detection.features import Matrix, feature_matrix
from backend.engine.scoring.loading import load_scorer
from backend.engine.trajectories.exploring import Exploring
from backend.engine.trajectories.trajectory import Trajectory
from backend.jobs import scored_demo
from backend.jobs.classifiers import classifier_in_use
from backend.jobs.stored_rows import latest_batches
from backend.settings import load_settings
from backend.workspace import Workspace
from research.evaluation.demo_report import read_truth
from research.evaluation.labelled import DIRECTORIES, NOISES, LabelledPairs, from_scenes
from research.evaluation.scored import score_captions, trajectories_of, with_captioner

#: The share of wrong captions, in percent, by noise.
RATES = {"random": (20,), "noun": (20,), "fine-grained": (5, 20, 50)}
#: The seed of the scenes by training of the embedded models; none trained or chose anything.
TRAININGS = {"": 310, "seed-1": 311, "seed-2": 312}
PAIRS = 600
SCORER = "blip-itm"


@dataclass(frozen=True)
class World:
    """A dataset after its cold start: `features` [pairs, features]; `p_error`, cross-fitted,
    and which captions are `wrong`, [pairs]."""

    name: str
    features: Matrix
    p_error: NDArray[np.float64]
    wrong: NDArray[np.bool_]

    def save(self, folder: Path) -> None:
        np.savez_compressed(
            folder / f"{self.name}.npz",
            features=self.features, p_error=self.p_error, wrong=self.wrong,
        )  # fmt: skip


def saved_worlds(folder: Path) -> list[World]:
    """The worlds in a folder, in the order of their names."""
    worlds = []
    for path in sorted(folder.glob("*.npz")):
        with np.load(path) as saved:
            worlds.append(World(path.stem, saved["features"], saved["p_error"], saved["wrong"]))
    return worlds


def draw_worlds(training: str, seed: int, cache: Path, pairs: int = PAIRS) -> Iterator[World]:
    """Draw and score the scenes of a seed with one training of the embedded models."""
    folder = MODELS / training
    scorer = load_scorer(str(folder / DIRECTORIES[SCORER]), SCORER)
    captioner = load_captioner(str(folder / "scenes-blip-captioner"))
    exploring = Exploring()
    key = {"training": training, "seed": seed, "worlds": pairs}

    def score(labelled: LabelledPairs, what: str) -> list[Trajectory]:
        named = {**key, "of": what}
        trajectories = trajectories_of(cache, named, scorer, exploring, labelled)
        return with_captioner(cache, named, captioner, trajectories, labelled)

    clean = score(_without_errors(from_scenes(pairs, NOISES[0], seed)), "originals")
    for noise, rates in RATES.items():
        labelled = from_scenes(pairs, noise, seed)
        noisy = score(labelled, noise)
        order = np.random.default_rng((seed, 3)).permutation(np.flatnonzero(labelled.wrong))
        for rate in rates:
            wrong = np.zeros(pairs, np.bool_)
            wrong[order[: round(pairs * rate / 100)]] = True
            rows = [noisy[i] if wrong[i] else clean[i] for i in range(pairs)]
            dataset = replace(
                labelled,
                captions=[row.caption.text for row in rows],
                wrong=wrong,
            )
            copies = {**key, "copies": f"{noise} {rate}"}
            started = cold_start(
                dataset.captions,
                rows,
                score_captions(cache, copies, scorer, captioner, exploring, dataset),
                dataset.groups,
            )
            name = f"{training or 'seed-0'} {noise} {rate}"
            yield World(name, feature_matrix(rows), started.p_error, wrong)


def demo_world() -> World:
    """The demo, as it ships scored."""
    truth = read_truth()
    with tempfile.TemporaryDirectory() as folder:
        settings = load_settings({"data_directory": folder}, {})
        scored_demo.unpack(settings)
        store = Workspace(settings).store
        classifier = classifier_in_use(store, 1)
        assert classifier is not None
        rows = [
            (pair, caption.leading.trajectory)
            for batch in latest_batches(store, 1)
            for pair, caption in zip(*batch, strict=True)
        ]
        store.close()
    return World(
        "demo",
        feature_matrix([classifier.read(trajectory) for _, trajectory in rows]),
        np.array([pair.p_error for pair, _ in rows]),
        np.array([truth[pair.external_id].is_error for pair, _ in rows]),
    )


def _without_errors(pairs: LabelledPairs) -> LabelledPairs:
    return replace(pairs, captions=pairs.originals, wrong=np.zeros(len(pairs), np.bool_))


def main(folder: Path) -> None:
    """Draw and save the worlds of every training; finished ones stay."""
    folder.mkdir(parents=True, exist_ok=True)
    demo_world().save(folder)
    for training, seed in TRAININGS.items():
        for world in draw_worlds(training, seed, folder / "cache"):
            world.save(folder)
            print(world.name, f"{world.wrong.mean():.3f} wrong", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
