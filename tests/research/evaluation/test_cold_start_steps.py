"""Cold starts with and without later steps are compared on the same trajectories."""

from pathlib import Path

import pytest

from research.evaluation import cold_start_steps
from research.evaluation.cold_start_steps import compare, summary
from research.evaluation.evaluate import Plan
from tests.checkpoints import random_clip


def test_both_cold_starts_read_the_same_trajectories(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    computed: list[int] = []
    run = cold_start_steps.run_trajectories

    def counted(scorer, pairs):  # pyrefly: ignore[implicit-any-parameter, unannotated-return]
        pairs = list(pairs)
        computed.append(len(pairs))
        return run(scorer, pairs)

    monkeypatch.setattr(cold_start_steps, "run_trajectories", counted)
    plan = Plan(
        scorers=("clip",), model=str(random_clip(tmp_path)), noises=("fine-grained",), seeds=1,
        pairs=40, device="cpu",
    )  # fmt: skip
    figures = compare(plan, "clip", 0)
    whole, first = figures["whole"], figures["first_step"]
    assert whole["noisy_copies"] == first["noisy_copies"] > 40
    assert sum(computed) <= 40 + whole["noisy_copies"], "each caption of an image once"
    assert first["detector"] in ("eight signs", "s_0 alone")
    assert whole["auc_s_0"] == first["auc_s_0"]


def test_a_summary_has_the_means_of_each_scorer() -> None:
    def row(scorer: str, whole: float, first: float) -> dict[str, object]:
        def of(auc: float) -> dict[str, object]:
            return {"auc": auc, "calibration_error": 0.1, "top1": None}

        return {"scorer": scorer, "whole": of(whole), "first_step": of(first)}

    means = summary([row("clip", 0.8, 0.7), row("clip", 0.9, 0.9), row("blip-itm", 0.6, 0.5)])
    assert means["clip"]["auc"] == {"whole": 0.85, "first_step": 0.8}
    assert means["blip-itm"]["auc"]["first_step"] == 0.5
    assert "top1" not in means["clip"], "unknown where no changed word is known"
