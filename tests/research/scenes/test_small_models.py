"""The small models that stand for published ones load through the published ones' code."""

from pathlib import Path

from backend.settings import MODELS
from research.concreteness.semantic_bottleneck import load_semantic_bottleneck
from research.scenes.language import make_language_model


def test_a_language_model_learns_captions(tmp_path: Path) -> None:
    losses = make_language_model(tmp_path, count=300, epochs=3, width=64)
    assert losses[-1] < 0.9 * losses[0]
    bottleneck = load_semantic_bottleneck(str(MODELS / "scenes-clip"), str(tmp_path))
    assert len(bottleneck.reconstruct("A red dog on the sand.")) == 5
