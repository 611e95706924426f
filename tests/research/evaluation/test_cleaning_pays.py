"""`evaluate cleaning`: what each way of reviewing leaves, and how models learn from pairs."""

from pathlib import Path

import numpy as np
import pytest
import torch

from backend.engine.correction.captioner_loading import load_captioner
from backend.errors import SettingsError
from backend.settings import MODELS
from research.captioning.blip_policy import BlipPolicy
from research.evaluation import cleaning_pays
from research.evaluation.cleaning_pays import CleaningFigures, CleaningReport, prefer
from research.evaluation.labelled import from_scenes
from tests.checkpoints import drawn_pairs, random_captioner


def test_every_way_gets_the_same_verdicts(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = from_scenes(80, "fine-grained", 3, unfamiliar=True)
    captions = cleaning_pays._with_errors(drawn, 3)
    is_wrong = np.array([a != b for a, b in zip(captions, drawn.originals, strict=True)])
    assert is_wrong.sum() == round(cleaning_pays.WRONG * 80)
    # As if the program had ranked all wrong captions first.
    monkeypatch.setattr(cleaning_pays, "_rank", lambda *_: np.where(is_wrong, 0.9, 0.1))
    learner = cleaning_pays._Learner(MODELS, drawn, drawn, 3)
    ways = {way.name: way for way in cleaning_pays._ways(learner, drawn, 12, 3, lambda *_: None)}
    assert ways["raw"].captions == captions
    assert ways["all true"].captions == drawn.originals
    assert len(ways["ours"].corrected) == 12
    assert ways["ours, with pairs"].captions == ways["ours"].captions
    assert ways["ours, rest left out"].captions.count(None) == is_wrong.sum() - 12
    for name in ("ours", "at random"):
        of = ways[name]
        changed = [i for i in range(80) if of.captions[i] != captions[i]]
        assert changed == sorted(of.corrected)
        assert all(of.captions[i] == drawn.originals[i] for i in changed)
    assert learner._negatives(ways["ours"]) == {}
    assert learner._negatives(ways["ours, with pairs"]) == {
        row: captions[row] for row in ways["ours"].corrected
    }


def test_a_captioner_learns_what_people_prefer(tmp_path: Path) -> None:
    loaded = load_captioner(str(random_captioner(tmp_path)))
    policy = BlipPolicy(loaded.model, loaded.processor)
    images = policy.images_of([image for image, _ in drawn_pairs(2, seed=3)])
    chosen, rejected = ["a red dog.", "two cats."], ["a blue dog.", "three cats."]

    def margins() -> torch.Tensor:
        better, worse = (
            cleaning_pays._log_p(policy, images, policy.samples_of(texts)).detach()
            for texts in (chosen, rejected)
        )
        return better - worse

    before = margins()
    losses = prefer(policy, images, chosen, rejected, seed=0, rate=1e-3)
    assert losses[0] == pytest.approx(np.log(2), abs=1e-5), "no step away from where it begins"
    assert losses[-1] < losses[0]
    assert (margins() > before).all()


def test_ways_are_compared_seed_by_seed() -> None:
    def figures(way: str, seed: int, auc: float) -> CleaningFigures:
        return CleaningFigures(way, seed, 80, 3, 0.3, auc, 0.5, 0.5, 0.5, 6.0)

    results = [figures("ours", 0, 0.7), figures("at random", 0, 0.6), figures("ours", 1, 0.9),
               figures("at random", 1, 0.8)]  # fmt: skip
    tables = cleaning_pays.markdown(CleaningReport(12, results))
    assert "| ours | 0.100 ± 0.000 |" in tables
    with pytest.raises(SettingsError, match="at least 1 seed"):
        cleaning_pays.evaluate_cleaning(10, 1, 0, [MODELS])
