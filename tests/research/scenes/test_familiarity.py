"""The embedded models accept drawn scenes, and recognise that other pictures are unfamiliar."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from backend.datasets.safe_files.images import load_image
from backend.engine.familiarity import Familiarity
from backend.engine.scoring.loading import load_scorer
from backend.engine.scoring.protocol import Scorer
from backend.settings import DEMO, EMBEDDED_SCORER
from research.scenes import known_scenes
from research.scenes.known_scenes import draw_pictures
from tests.checkpoints import random_blip
from tests.research.scenes.other_pictures import generated, of_packages

#: First seed of scenes that were not used for training, fitting or the demo.
FRESH = 7_000_000_000


@pytest.fixture(scope="module", params=["scenes-blip-itm", "scenes-clip"])
def model(request: pytest.FixtureRequest) -> tuple[Familiarity, Scorer]:
    folder = str(EMBEDDED_SCORER.parent / request.param)
    known = Familiarity.of_model(folder)
    assert known is not None
    return known, load_scorer(folder, device="cpu", precision="float32")


@pytest.fixture(scope="module")
def scenes() -> list[list[Image.Image]]:
    """Fresh scenes, scenes in unfamiliar shades, and the demo's."""
    return [
        list(draw_pictures(FRESH, 200)),
        list(draw_pictures(FRESH, 100, unfamiliar=True)),
        [load_image(path) for path in sorted((DEMO / "images").iterdir())[:100]],
    ]


@pytest.fixture(scope="module")
def others() -> list[tuple[str, Image.Image]]:
    return [*of_packages(), *generated(20, 200)]


def test_drawn_scenes_are_familiar(
    model: tuple[Familiarity, Scorer], scenes: list[list[Image.Image]]
) -> None:
    """At most one in a hundred of each kind is refused."""
    known, scorer = model
    for images in scenes:
        assert known.unknown(scorer, images).mean() <= 0.01


def test_other_pictures_are_unfamiliar(
    model: tuple[Familiarity, Scorer], others: list[tuple[str, Image.Image]]
) -> None:
    """At least ninety-nine in a hundred are refused."""
    known, scorer = model
    assert len(others) >= 240
    unknown = known.unknown(scorer, [image for _, image in others])
    passed = [name for (name, _), refused in zip(others, unknown, strict=True) if not refused]
    assert len(passed) <= 0.01 * len(others), passed


def test_a_fitted_familiarity_survives_a_round_trip(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    spread = np.array([1, 5, 0.1], np.float32)
    training, fresh = (rng.normal(size=(500, 3)).astype(np.float32) * spread for _ in range(2))
    made = known_scenes.fit_familiarity(2, training, 0.99, fresh)
    known_scenes.save(made, tmp_path)
    read = Familiarity.of_model(str(tmp_path))
    assert read is not None
    assert (read.layer, read.threshold) == (2, made.threshold)
    assert (read.distances(fresh) > read.threshold).mean() == pytest.approx(0.01, abs=0.003)
    # As far away, but not as unusual.
    near, far = read.distances(np.array([[0, 9, 0], [0, 0, 9]], np.float32))
    assert near < read.threshold < far


def test_published_models_have_no_familiarity_limit(tmp_path: Path) -> None:
    assert Familiarity.of_model(str(random_blip(tmp_path))) is None
    assert Familiarity.of_model("openai/clip-vit-base-patch32") is None
