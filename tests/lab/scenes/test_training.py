"""Training resumes where it was stopped, and counts samples, not minutes."""

from pathlib import Path

import pytest
import torch
from torch import nn

from backend.lab.scenes.train import CAPTIONER, CLIP, RETRIEVAL, shortened
from backend.lab.scenes.training import Schedule, train_loop


def test_stages_follow_the_number_of_samples() -> None:
    schedule = Schedule((100, 50, 50), shares=(0.2, 0.3, 0.5))
    assert [schedule.stage(seen) for seen in (0, 99, 100, 149, 150, 199)] == [0, 0, 1, 1, 2, 2]
    assert [schedule.progress(seen) for seen in (0, 50, 100, 125, 200)] == pytest.approx(
        [0, 0.1, 0.2, 0.35, 1.0]
    )
    for schedule in (RETRIEVAL, CAPTIONER, CLIP):
        assert sum(schedule.shares) == pytest.approx(1)
        assert len(schedule.shares) == len(schedule.samples)
        assert shortened(schedule, 0.5).total == pytest.approx(schedule.total / 2, abs=3)


def learnt(folder: Path, samples: int) -> dict[str, torch.Tensor]:
    """A tiny module's weights after this many samples; a batch depends only on its step."""
    torch.manual_seed(0)
    module = nn.Linear(3, 1)

    def losses_at(step: int) -> dict[str, torch.Tensor]:
        given = torch.randn(4, 3, generator=torch.Generator().manual_seed(step))
        return {"error": (module(given).float() - given.sum(1, keepdim=True)).square().mean()}

    folder.mkdir(exist_ok=True)
    # The rate depends on the whole plan, so that a shorter first run resembles a killed one.
    schedule = Schedule((samples,), batch=4, learning_rate=0.05)
    train_loop("tiny", module, schedule, folder, losses_at, dict)
    return {name: value.clone() for name, value in module.state_dict().items()}


def test_a_checkpoint_is_resumed_and_a_finished_one_is_unchanged(tmp_path: Path) -> None:
    whole = learnt(tmp_path / "whole", 4000)
    again = learnt(tmp_path / "whole", 4000)
    assert all(torch.equal(whole[name], again[name]) for name in whole)
    learnt(tmp_path / "parts", 400)
    saved = torch.load(tmp_path / "parts" / "tiny.pt", weights_only=True)
    assert saved["step"] == 100
    further = learnt(tmp_path / "parts", 4000)
    assert torch.load(tmp_path / "parts" / "tiny.pt", weights_only=True)["step"] == 1000
    assert not list(tmp_path.rglob("*.part"))
    error = [sum(float((w - 1).abs().sum()) for w in run["weight"]) for run in (whole, further)]
    assert max(error) < 0.3
