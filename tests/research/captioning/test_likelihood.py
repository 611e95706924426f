"""Maximum likelihood: the right loss, and the same weights however often training is killed."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from backend.errors import SettingsError, TrainingError
from backend.features.captioners.clipcap import load_clipcap
from research.captioning import checkpointing
from research.captioning.clipcap_policy import ClipCapPolicy
from research.captioning.likelihood import Likelihood, LikelihoodFigures, LikelihoodRecipe
from tests.checkpoints import random_clipcap

PAIRS = [(0, "A dog."), (1, "Two red boats by the sea."), (0, "A brown dog on grass."), (2, "Rain")]
RECIPE = LikelihoodRecipe(steps=7, batch=3, learning_rate=1e-2, warm_up=2)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return random_clipcap(tmp_path_factory.mktemp("clipcap"))


@pytest.fixture
def new(folder: Path) -> Callable[..., Likelihood]:
    """Creates trainings with the same initial weights, with dropout."""

    def make(recipe: LikelihoodRecipe = RECIPE) -> Likelihood:
        policy = ClipCapPolicy(load_clipcap(folder))
        vectors = torch.nn.functional.normalize(
            torch.randn(3, policy.captioner.model.vector_width,
                        generator=torch.Generator().manual_seed(0))
        )  # fmt: skip
        return Likelihood(policy, lambda rows: vectors[list(rows)], PAIRS, recipe)

    return make


def equal(a: Any, b: Any) -> bool:
    """Whether nested states are equal, bit for bit."""
    if isinstance(a, torch.Tensor):
        return torch.equal(a, b)
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(equal(a[key], b[key]) for key in a)
    if isinstance(a, list):
        return len(a) == len(b) and all(map(equal, a, b))
    return bool(a == b)


def test_the_loss_equals_that_of_transformers(new: Callable[..., Likelihood]) -> None:
    """Padding is ignored and the end token counts once, as with labels of -100."""
    training = new(LikelihoodRecipe(steps=1, batch=4))
    captioner = training.policy.captioner  # pyrefly: ignore[missing-attribute]
    for module in captioner.model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    order = training.rows(0)
    rows = [[*captioner.tokenizer(PAIRS[row][1])["input_ids"], captioner.end] for row in order]
    width = max(map(len, rows))
    tokens = torch.tensor([row + [5] * (width - len(row)) for row in rows])
    labels = torch.tensor([[-100] * 4 + row + [-100] * (width - len(row)) for row in rows])
    vectors = training._images_of([PAIRS[row][0] for row in order])
    inputs = captioner.model.embed(vectors, tokens)
    wanted = captioner.model.language_model(inputs_embeds=inputs, labels=labels).loss
    assert next(training.steps()).loss == pytest.approx(wanted.item(), abs=1e-5)


def test_training_killed_at_any_step_ends_with_the_same_weights(
    new: Callable[..., Likelihood], tmp_path: Path
) -> None:
    whole = new()
    losses = [figures.loss for figures in whole.steps()]
    state = whole.state()
    assert losses[-1] < losses[0]
    for killed_after in (1, 3, 6):
        path = tmp_path / f"{killed_after}.pt"
        seen: list[LikelihoodFigures] = []

        def die(
            figures: LikelihoodFigures,
            seen: list[LikelihoodFigures] = seen,
            last: int = killed_after,
        ) -> None:
            seen.append(figures)
            if figures.step > last:
                raise KeyboardInterrupt  # after the checkpoint of step `last`

        with pytest.raises(KeyboardInterrupt):
            checkpointing.run(new(), path, "same", die, every=0)
        torch.manual_seed(killed_after)  # other uses of the global generator must not matter
        resumed = new()
        checkpointing.run(resumed, path, "same", seen.append, every=0)
        assert equal(resumed.state(), state)
        # The interrupted step is repeated, with the same loss.
        assert [figures.loss for figures in seen[killed_after + 1 :]] == losses[killed_after:]


def test_every_caption_is_used_once_per_epoch(new: Callable[..., Likelihood]) -> None:
    training = new()
    rows = [row for step in range(4) for row in training.rows(step)]
    epochs = [rows[first : first + 4] for first in (0, 4, 8)]
    assert all(sorted(epoch) == [0, 1, 2, 3] for epoch in epochs)
    assert len({tuple(epoch) for epoch in epochs}) > 1


def test_invalid_recipes_data_and_weights_are_refused(new: Callable[..., Likelihood]) -> None:
    with pytest.raises(SettingsError, match="learning rate must be above 0"):
        LikelihoodRecipe(learning_rate=float("nan"))
    with pytest.raises(SettingsError, match="steps"):
        LikelihoodRecipe(steps=0)
    training = new()
    with pytest.raises(TrainingError, match="no captions"):
        Likelihood(training.policy, lambda rows: torch.zeros(0), [], RECIPE)
    weight = next(iter(training.policy.parameters()))
    with torch.no_grad():
        weight.fill_(float("inf"))
    with pytest.raises(TrainingError, match="not finite"):
        next(training.steps())
