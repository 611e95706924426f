"""The drawn world's ClipCap is trained and used like any captioner."""

from pathlib import Path

from backend.engine.correction.captioner_loading import load_captioner
from research.captioning.likelihood import LikelihoodFigures, LikelihoodRecipe
from research.scenes.train_clipcap import Shape, captions, fine_tune, scenes, train
from tests.checkpoints import drawn_pairs

SMALL = Shape(24, layers=1, width=16, heads=2, recipe=LikelihoodRecipe(12, 16, 1e-2, 2))


def test_training_and_fine_tuning_give_usable_captioners(tmp_path: Path) -> None:
    seen: list[LikelihoodFigures] = []
    out = train(tmp_path, "ordinary", 0, SMALL, seen.append)
    assert seen[-1].loss < seen[0].loss - 0.5
    captioner = load_captioner(str(out))
    assert isinstance(captioner.describe(drawn_pairs(1)[0][0], max_new_tokens=5), str)
    assert train(tmp_path, "ordinary", 0, SMALL, seen.append) == out
    assert len(seen) == SMALL.recipe.steps
    rewards: list[float] = []
    tuned = fine_tune(tmp_path, "ordinary", 0, 2, SMALL, lambda step: rewards.append(step.reward))
    assert len(rewards) == 2
    assert load_captioner(str(tuned)).identity != captioner.identity


def test_rich_captions_are_longer() -> None:
    drawn = scenes(20, 0)
    lengths = {
        kind: sum(len(text.split()) for _, text in captions(drawn, kind, 0))
        for kind in ("ordinary", "rich")
    }
    assert lengths["rich"] > 1.2 * lengths["ordinary"]
    assert captions(drawn, "rich", 0) == captions(drawn, "rich", 0)
