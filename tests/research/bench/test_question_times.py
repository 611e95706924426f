"""The cost of a vision-language model's trajectories over one plain score."""

from pathlib import Path

from backend.engine.scoring.loading import load_scorer
from backend.engine.scoring.vqa.vqa_checkpoints import VqaScorer
from research.bench.question_times import question_costs
from research.scenes.vision_language import make_vision_language_model
from tests.checkpoints import drawn_pairs


def test_a_first_step_costs_less_than_elimination(tmp_path: Path) -> None:
    scorer = load_scorer(f"vqa:{make_vision_language_model(tmp_path, 48, 1)}", None, "cpu")
    assert isinstance(scorer, VqaScorer)
    first, whole = question_costs(scorer, drawn_pairs(1)[0][0], 6, pairs=2)
    assert (first.job, whole.job) == ("first step", "elimination")
    assert 1 < first.tokens < whole.tokens
    assert min(first.seconds, whole.seconds) > 0
