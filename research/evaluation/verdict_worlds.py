"""Drawn datasets after their cold start, for simulating verdicts on them.

`python -m research.evaluation.verdict_worlds FOLDER` takes the demo and draws the scenes of a seed
for each training of the embedded models, makes a share of the captions wrong by each kind of noise,
and saves what a detector knows before the first verdict: one file per dataset, so that simulations
score nothing.
"""

import json
import sys
import tempfile
from collections.abc import Collection, Container, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from backend.bundled import MODELS
from backend.datasets.safe_files.regular_files import replacement
from backend.engine.correction.captioner_loading import load_captioner
from backend.engine.detection.cold_start import cold_start
from backend.engine.detection.features import Matrix, feature_matrix
from backend.engine.detection.localisation import DEFAULT, SIGNS, WordWeights
from backend.engine.detection.word_weights import MarkedWords
from backend.engine.scoring.loading import load_scorer
from backend.engine.trajectories.exploring import Exploring
from backend.engine.trajectories.trajectory import Trajectory
from backend.jobs import scored_demo
from backend.jobs.scoring.classifiers import classifier_in_use
from backend.jobs.scoring.stored_rows import latest_batches
from backend.settings import load_settings
from backend.workspace import Workspace
from research.evaluation.demo_report import read_truth
from research.evaluation.labelled import DIRECTORIES, NOISES, LabelledPairs, from_scenes
from research.evaluation.scored import score_captions, trajectories_of, with_captioner

#: Shares of wrong captions, in percent.
RATES = (5, 20, 50)
#: The seed of the scenes by training of the embedded models; none trained or chose anything.
TRAININGS = {"": 310, "seed-1": 311, "seed-2": 312}
PAIRS = 600
SCORER = "blip-itm"


@dataclass(frozen=True)
class World:
    """A dataset after its cold start: `features` [pairs, features]; `p_error`, cross-fitted,
    and which captions are `wrong`, [pairs]. `words`: of the captions whose wrong words are known,
    by pair; `weights`: of suspect words, by the cold start."""

    name: str
    features: Matrix
    p_error: NDArray[np.float64]
    wrong: NDArray[np.bool_]
    words: Mapping[int, MarkedWords] = field(default_factory=dict)
    weights: WordWeights = DEFAULT

    def save(self, folder: Path) -> None:
        words = list(self.words.values())
        signs, function, truth = (
            np.concatenate([np.zeros(0), *(getattr(w, name).ravel() for w in words)])
            for name in _WORD_ARRAYS
        )
        path = folder / f"{self.name}.npz"
        with replacement(path, is_flushed=False) as part, part.open("wb") as file:
            np.savez_compressed(
                file, signs=signs, function=function > 0, truth=truth > 0,
                features=self.features, p_error=self.p_error, wrong=self.wrong,
                marked=list(self.words), lengths=[len(w.truth) for w in words],
                known=[w.known for w in words], weights=json.dumps(self.weights.to_json()),
            )  # fmt: skip

    @classmethod
    def read(cls, path: Path) -> "World":
        with np.load(path) as archive:
            words = {}
            if len(archive["marked"]):
                ends = np.cumsum(archive["lengths"])[:-1]
                flat = archive["signs"].reshape(-1, len(SIGNS))
                signs = np.split(flat, ends)
                function, truth = (np.split(archive[name], ends) for name in ("function", "truth"))
                parts = zip(signs, archive["known"], function, truth, strict=True)
                rows = zip(archive["marked"].tolist(), parts, strict=True)
                words = {row: MarkedWords(*part) for row, part in rows}
            return cls(
                path.stem, archive["features"], archive["p_error"], archive["wrong"], words,
                WordWeights.from_json(json.loads(str(archive["weights"]))),
            )  # fmt: skip


_WORD_ARRAYS = ("signs", "function", "truth")


def saved_worlds(folder: Path) -> list[World]:
    """The worlds in a folder, in the order of their names."""
    return [World.read(path) for path in sorted(folder.glob("*.npz"))]


def draw_worlds(
    training: str, seed: int, cache: Path, pairs: int = PAIRS, has: Container[str] = ()
) -> Iterator[World]:
    """Draw and score the scenes of a seed with one training of the embedded models; without the
    worlds whose names `has` contains."""
    folder = MODELS / training
    scorer = load_scorer(str(folder / DIRECTORIES[SCORER]), SCORER)
    captioner = load_captioner(str(folder / "scenes-blip-captioner"))
    exploring = Exploring()
    key = {"training": training, "seed": seed, "worlds": pairs}

    def score(sample: LabelledPairs, what: str) -> list[Trajectory]:
        cache_key = {**key, "of": what}
        trajectories = trajectories_of(cache, cache_key, scorer, exploring, sample)
        return with_captioner(cache, cache_key, captioner, trajectories, sample)

    clean = score(_without_errors(from_scenes(pairs, NOISES[0], seed)), "originals")
    for noise in NOISES:
        sample = from_scenes(pairs, noise, seed)
        noisy = score(sample, noise)
        order = np.random.default_rng((seed, 3)).permutation(np.flatnonzero(sample.wrong))
        for rate in RATES:
            name = f"{training or 'seed-0'} {noise} {rate}"
            if name in has:
                continue
            wrong = np.zeros(pairs, np.bool_)
            wrong[order[: round(pairs * rate / 100)]] = True
            rows = [noisy[i] if wrong[i] else clean[i] for i in range(pairs)]
            dataset = replace(
                sample,
                captions=[row.caption.text for row in rows],
                wrong=wrong,
            )
            copies = {**key, "copies": f"{noise} {rate}"}
            detector = cold_start(
                dataset.captions,
                rows,
                score_captions(cache, copies, scorer, captioner, exploring, dataset),
                dataset.groups,
            )
            marked_words = {
                i: words
                for i in np.flatnonzero(wrong).tolist()
                if (words := MarkedWords.of(rows[i], _spans(rows[i], sample.changed[i])))
            }
            weights = detector.classifier.words
            yield World(name, feature_matrix(rows), detector.p_error, wrong, marked_words, weights)


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
    truths = [truth[pair.external_id] for pair, _ in rows]
    readings = [classifier.read(trajectory) for _, trajectory in rows]
    return World(
        "demo",
        feature_matrix(readings),
        np.array([pair.p_error for pair, _ in rows]),
        np.array([of_pair.is_error for of_pair in truths]),
        {
            i: words
            for i, (reading, of_pair) in enumerate(zip(readings, truths, strict=True))
            if of_pair.is_error and (words := MarkedWords.of(reading, of_pair.changed))
        },
        classifier.words,
    )


def _spans(trajectory: Trajectory, words: Collection[int]) -> list[tuple[int, int]]:
    return [span for word, span in enumerate(trajectory.caption.spans) if word in words]


def _without_errors(pairs: LabelledPairs) -> LabelledPairs:
    return replace(pairs, captions=pairs.originals, wrong=np.zeros(len(pairs), np.bool_))


def main(folder: Path) -> None:
    """Draw and save the worlds of every training; finished ones stay."""
    folder.mkdir(parents=True, exist_ok=True)
    demo_world().save(folder)
    for training, seed in TRAININGS.items():
        has = {path.stem for path in folder.glob("*.npz")}
        for world in draw_worlds(training, seed, folder / "cache", has=has):
            world.save(folder)
            print(world.name, f"{world.wrong.mean():.3f} wrong", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
