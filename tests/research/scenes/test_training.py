"""Training resumes where it was stopped, and counts samples, not minutes."""

from pathlib import Path

import pytest
import torch
from torch import nn

from research.scenes import training
from research.scenes.examples import open_examples
from research.scenes.train import CAPTIONER, CLIP, RETRIEVAL, shorten
from research.scenes.training import (
    RetrievalLearner,
    Schedule,
    draw_batch,
    retrieval_loss,
    train_loop,
)


def test_stages_follow_the_number_of_samples() -> None:
    schedule = Schedule((100, 50, 50), shares=(0.2, 0.3, 0.5))
    assert [schedule.stage(seen) for seen in (0, 99, 100, 149, 150, 199)] == [0, 0, 1, 1, 2, 2]
    assert [schedule.progress(seen) for seen in (0, 50, 100, 125, 200)] == pytest.approx(
        [0, 0.1, 0.2, 0.35, 1.0]
    )
    for schedule in (RETRIEVAL, CAPTIONER, CLIP):
        assert sum(schedule.shares) == pytest.approx(1)
        assert len(schedule.shares) == len(schedule.samples)
        assert shorten(schedule, 0.5).total == pytest.approx(schedule.total / 2, abs=3)


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


def test_bfloat16_is_used_where_it_is_native_and_gives_the_same_losses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    examples = open_examples(tmp_path / "scenes", 12, 0)
    torch.manual_seed(0)
    learner = RetrievalLearner()
    batch = draw_batch(examples, 4, 0, 0)
    losses, norms = [], []
    for native in (False, True):
        capability = "AVX512" if native else "AVX2"
        monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda c=capability: c)
        learner.zero_grad()
        with training.precision():
            assert torch.is_autocast_enabled("cpu") == native
            made = retrieval_loss(learner, examples, batch, matching=True, step=0)
        torch.stack(list(made.values())).sum().backward()
        losses.append({name: loss.item() for name, loss in made.items()})
        gradients = [p.grad for p in learner.parameters() if p.grad is not None]
        norms.append(float(nn.utils.get_total_norm(gradients)))
    assert losses[1] == pytest.approx(losses[0], abs=0.02)
    assert losses[1] != losses[0]
    assert norms[1] == pytest.approx(norms[0], rel=0.02)
