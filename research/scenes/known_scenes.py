"""Fit the out-of-distribution detection: `python -m research.scenes.known_scenes`

It detects pictures that the embedded models do not know, and is fitted on drawn scenes only; other
pictures are used by `tests/research/scenes/test_familiarity.py`. Scenes are drawn at several
sizes and half of them are compressed lossily, as in real datasets. Writes `familiar.npz` to each
model's directory.
"""

import argparse
import io
import random
from dataclasses import replace
from pathlib import Path

import numpy as np
from PIL import Image

from backend.bundled import MODELS
from backend.datasets.safe_files.images import load_image
from backend.engine.familiarity import FILE, Familiarity, Features, watch_features
from backend.engine.scoring.loading import load_scorer
from research.scenes.renderer import render
from research.scenes.world import make_scene

#: The tower's third layer; see research/RESULTS.md.
LAYER = 2
#: Share of drawn scenes that must count as known.
KNOWN = 0.998
SCENES = 4000
#: Does not overlap with the seeds of training, the demo and the tests.
SEED = 5_000_000_000
_SIZES = (96, 128, 192, 256, 384)


def draw_pictures(seed: int, count: int, unfamiliar: bool = False) -> list[Image.Image]:
    """`count` pictures of scenes, about half of them after lossy compression."""
    pictures = []
    for number in range(seed, seed + count):
        rng = random.Random(number)
        scene = make_scene(random.Random(number), unfamiliar=unfamiliar)
        image = render(scene, rng.choice(_SIZES))
        if rng.random() >= 0.5:
            file = io.BytesIO()
            image.save(file, rng.choice(("WEBP", "JPEG")), quality=rng.choice((75, 90)))
            image = load_image(file.getvalue())
        pictures.append(image)
    return pictures


def fit(folder: Path, count: int = SCENES) -> Familiarity:
    """Fit the distance on one half of the scenes and the threshold on the other."""
    scorer = load_scorer(str(folder), device="cpu", precision="float32")
    with watch_features(scorer, LAYER) as batches:
        scorer.encode_images(draw_pictures(SEED, count))
    features, half = np.concatenate(batches), count // 2
    return fit_familiarity(LAYER, features[:half], KNOWN, features[half:])


def fit_familiarity(
    layer: int, training: Features, quantile: float, fresh: Features
) -> Familiarity:
    """Fitted to features of training pictures [n, d]; the threshold is such that the share
    `quantile` of the held-out pictures `fresh` is known."""
    mean = training.mean(0)
    covariance = np.cov(training.T)
    # Add 0.01 % of the mean variance, for directions without any variance.
    covariance += np.eye(len(covariance)) * 1e-4 * np.trace(covariance) / len(covariance)
    whitening = np.linalg.cholesky(np.linalg.inv(covariance)).astype(np.float32)
    familiarity = Familiarity(layer, mean.astype(np.float32), whitening, np.inf)
    threshold = float(np.quantile(familiarity.distances(fresh), quantile))
    return replace(familiarity, threshold=threshold)


def save(familiarity: Familiarity, folder: Path) -> None:
    np.savez(
        folder / FILE, layer=familiarity.layer, mean=familiarity.mean,
        whitening=familiarity.whitening, threshold=familiarity.threshold,
    )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=Path, default=MODELS)
    args = parser.parse_args()
    for folder in sorted(args.models.rglob("scenes-*")):
        if folder.name != "scenes-blip-captioner":
            familiarity = fit(folder)
            save(familiarity, folder)
            print(f"{folder}: known up to {familiarity.threshold:.1f} standard deviations")


if __name__ == "__main__":
    main()
