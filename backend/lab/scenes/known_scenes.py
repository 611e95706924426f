"""Fit how the embedded models recognise what they know: `python -m backend.lab.scenes.known_scenes`

From scenes alone: pictures of others are what `tests/lab/scenes/test_familiarity.py` tries it on.
Scenes are drawn at several sizes and half of them have been through a lossy format, as those of
people's datasets have. Writes `familiar.npz` into each model's directory.
"""

import argparse
import io
import random
from pathlib import Path

from PIL import Image

from backend.bundled import MODELS
from backend.datasets.images import load_image
from backend.engine.familiarity import Familiarity, patch_means
from backend.engine.scoring.loading import load_scorer
from backend.lab.scenes.renderer import render
from backend.lab.scenes.world import make_scene

#: Of the tower's layers the third; see BENCHMARKS.md.
LAYER = 2
#: Of scenes so many are known.
KNOWN = 0.998
SCENES = 4000
#: Far from those that models were trained on and from those of the demo and of the tests.
SEED = 5_000_000_000
_SIZES = (96, 128, 192, 256, 384)


def drawn(seed: int, count: int, unfamiliar: bool = False) -> list[Image.Image]:
    """Pictures of scenes, some of them as a lossy format gives them back."""
    return [_picture(seed + number, unfamiliar) for number in range(count)]


def _picture(seed: int, unfamiliar: bool) -> Image.Image:
    rng = random.Random(seed)
    image = render(make_scene(random.Random(seed), unfamiliar=unfamiliar), rng.choice(_SIZES))
    if rng.random() < 0.5:
        return image
    file = io.BytesIO()
    image.save(file, rng.choice(("WEBP", "JPEG")), quality=rng.choice((75, 90)))
    return load_image(file.getvalue())


def fit(folder: Path, count: int = SCENES) -> Familiarity:
    """Half of the scenes give the distance, the other half the threshold."""
    scorer = load_scorer(str(folder), device="cpu", precision="float32")
    features = patch_means(scorer, drawn(SEED, count), LAYER)
    half = count // 2
    made: Familiarity = Familiarity.fitted(LAYER, features[:half], KNOWN, features[half:])
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=Path, default=MODELS)
    given = parser.parse_args()
    for folder in sorted(given.models.rglob("scenes-*")):
        if folder.name != "scenes-blip-captioner":
            made = fit(folder)
            made.save(folder)
            print(f"{folder}: known up to {made.threshold:.1f} standard deviations")


if __name__ == "__main__":
    main()
