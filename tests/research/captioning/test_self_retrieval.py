"""REINFORCE against an exact gradient, rewards computed by hand, and interrupted training."""

import io
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np
import pytest
import torch
from scipy.special import log_softmax

from backend.errors import SettingsError, TrainingError
from research.captioning.caption_metrics import CiderD
from research.captioning.policy import Images, Samples, log_probabilities
from research.captioning.self_retrieval import (
    Receiver,
    Recipe,
    SelfRetrieval,
    StepFigures,
    divergence,
    reinforce_loss,
    self_retrieval_rewards,
)
from tests.research.captioning.toy_policy import ToyPolicy

TEMPERATURE, LENGTH = 0.7, 3.0
CHUNKS, SAMPLES = 100, 1000


def rewards_of(tokens: torch.Tensor) -> torch.Tensor:
    """An arbitrary reward that depends on the whole caption up to its end token."""
    ended = (tokens == 0).cumsum(1) > 0
    weights = torch.tensor([1.7, -0.4, 2.3])
    return (torch.where(ended, 0, tokens) * weights).sum(1).sin() - 2.0


def exact_gradient(policy: ToyPolicy) -> torch.Tensor:
    """The gradient of -E[reward] / length over all captions."""
    every = policy.every_caption()
    images = torch.zeros(len(every), dtype=torch.long)
    log_p = log_probabilities(policy.logits(images, every), every, TEMPERATURE).sum(1)
    assert float(log_p.detach().exp().sum()) == pytest.approx(1, abs=1e-5), "they are all captions"
    expected = (log_p.exp() * rewards_of(every.tokens)).sum()
    return -torch.autograd.grad(expected, policy.table)[0] / LENGTH


def estimates(policy: ToyPolicy, baseline: float) -> torch.Tensor:
    """The gradient of the loss for each chunk of samples, flat: [CHUNKS, parameters]."""
    policy.train(False)
    generator = torch.Generator().manual_seed(5)
    images = torch.zeros(SAMPLES, dtype=torch.long)
    made = []
    for _ in range(CHUNKS):
        samples = policy.sample(images, TEMPERATURE, generator)
        log_p = log_probabilities(policy.logits(images, samples), samples, TEMPERATURE)
        loss = reinforce_loss(log_p, samples, rewards_of(samples.tokens) - baseline, LENGTH)
        made.append(torch.autograd.grad(loss, policy.table)[0].flatten())
    return torch.stack(made).double()


def standard_errors_away(made: torch.Tensor, exact: torch.Tensor) -> float:
    """The largest distance of a parameter's mean gradient from the exact one, in SE."""
    error = made.std(0) / CHUNKS**0.5
    away = (made.mean(0) - exact.flatten().double()).abs()
    return float((away / error.clamp(min=1e-9)).max())


@pytest.mark.parametrize("baseline", [0.0, -2.0, 1.5])
def test_the_gradient_is_unbiased_for_any_baseline(baseline: float) -> None:
    policy = ToyPolicy()
    exact = exact_gradient(policy)
    assert standard_errors_away(estimates(policy, baseline), exact) < 3


def test_the_papers_loss_divides_by_each_captions_length() -> None:
    policy = ToyPolicy()
    samples = policy.every_caption()
    images = torch.zeros(len(samples), dtype=torch.long)
    log_p = log_probabilities(policy.logits(images, samples), samples, 1.0).detach()
    advantages = torch.linspace(-1, 2, len(samples))
    by_hand = [
        -float(advantage) * float(row[: int(length)].mean())
        for advantage, row, length in zip(advantages, log_p, samples.lengths, strict=True)
    ]
    assert float(reinforce_loss(log_p, samples, advantages, None)) == pytest.approx(
        np.mean(by_hand), rel=1e-5
    )


def test_the_reward_is_the_receivers_log_softmax_over_the_batch() -> None:
    rng = np.random.default_rng(0)
    captions, pictures = rng.normal(size=(2, 5, 8)).astype(np.float32)
    captions /= np.linalg.norm(captions, axis=1, keepdims=True)
    pictures /= np.linalg.norm(pictures, axis=1, keepdims=True)
    made = self_retrieval_rewards(captions, pictures, 20.0)
    expected = np.diag(log_softmax(20.0 * captions @ pictures.T, axis=1))
    assert made == pytest.approx(expected, abs=1e-5)
    flat = self_retrieval_rewards(captions, pictures, 0.01)
    assert flat == pytest.approx(np.full(5, -math.log(5)), abs=0.02), "without tau"


def test_near_duplicates_do_not_compete_and_empty_captions_score_as_a_guess() -> None:
    pictures = np.eye(4, dtype=np.float32)
    pictures[1] = pictures[0]
    captions = pictures.copy()
    made = self_retrieval_rewards(captions, pictures, 10.0)
    # Two others remain for the copies, three for the rest.
    assert made[0] == made[1] == pytest.approx(-math.log(1 + 2 * math.exp(-10)))
    assert made[2] == pytest.approx(-math.log(1 + 3 * math.exp(-10)))
    captions[3] = np.nan
    made = self_retrieval_rewards(captions, pictures, 10.0, [False, False, True, False])
    assert made[2:] == pytest.approx([-math.log(4)] * 2)
    receiver = Receiver(pictures, lambda texts: pictures[: len(texts)], 10.0)
    assert receiver.rewards(["a", " "], [0, 2])[1] == pytest.approx(-math.log(2))


def test_truncated_captions_score_no_higher_than_a_guess() -> None:
    pictures = np.eye(4, dtype=np.float32)
    captions = pictures[[0, 1, 3, 3]]
    plain = self_retrieval_rewards(captions, pictures, 10.0)
    made = self_retrieval_rewards(captions, pictures, 10.0, None, [True, False, True, False])
    assert plain[0] > -0.1
    assert made[0] == pytest.approx(-math.log(4))
    assert made[1:].tolist() == plain[1:].tolist(), (
        "not a gift to the truncated caption that misses"
    )


def test_training_gives_no_reward_for_a_caption_without_an_end_token() -> None:
    """Three words fill the caption: "red red red" retrieves as well as "red", but never ends."""
    rewards = []
    for words in (1, 3):
        policy = ToyPolicy(kinds=2)
        made = training(replace(RECIPE, sizes=[12]), policy)

        def sample(images: Images, *_: Any, policy: Any = policy, words: int = words) -> Samples:
            texts = [" ".join([REFERENCES[int(kind)][0]] * words) for kind in images]
            return cast(Samples, policy.samples_of(texts))

        policy.sample = sample  # pyrefly: ignore[bad-assignment]
        (figures,) = made.steps()
        rewards.append(figures.reward)
    ended, endless = rewards
    assert ended > -math.log(12) + 0.1
    assert endless <= -math.log(12) + 1e-9


def test_as_published_cider_is_not_scaled_and_the_mean_starts_at_zero() -> None:
    """R = SR + 0.5 CIDEr, with log P averaged over tokens (SR, sections 4.1 and 4.8)."""
    recipe = replace(RECIPE, cider=0.5).as_published()
    policy, rows, captions = ToyPolicy(kinds=2), list(range(12)), ["red"] * 12
    made = training(recipe, policy)
    samples = policy.samples_of(captions)
    policy.sample = lambda *_: samples  # pyrefly: ignore[bad-assignment]
    log_p = log_probabilities(policy.logits(KINDS, samples), samples, recipe.temperature)
    of_tokens = (log_p.sum(1) / samples.lengths).detach().numpy()
    cider = CiderD(REFERENCES).scores(captions, rows)
    assert cider.max() > 1
    total = made.receiver.rewards(captions, rows) + 0.5 * cider
    (figures,) = made.steps(until=1)
    assert figures.loss == pytest.approx(-float((total * of_tokens).mean()), rel=1e-5)
    assert figures.cider == pytest.approx(cider.mean() / 10)


def test_the_divergence_is_exact_and_ends_with_the_caption() -> None:
    policy, start = ToyPolicy(seed=1), ToyPolicy(seed=2)
    samples = policy.samples_of(["red", "blue red blue"])
    images = torch.zeros(2, dtype=torch.long)
    now, before = policy.logits(images, samples), start.logits(images, samples)
    p, q = now.softmax(-1), before.softmax(-1)
    each = (p * (p / q).log()).sum(-1)
    made = divergence(now, before, samples)
    assert made.tolist() == pytest.approx(
        [float(each[0, :2].detach().sum()), float(each[1].detach().sum())]
    )
    assert divergence(now, now, samples).abs().max() < 1e-6


# --------------------------------------------------------------------------- whole trainings

#: Twelve pictures of two kinds; the caption "red" means the first kind.
KINDS = torch.arange(12) % 2
REFERENCES = [["red", "red red"] if kind == 0 else ["blue", "blue blue"] for kind in KINDS.tolist()]


def embed(captions: Sequence[str]) -> np.ndarray:
    return np.array([[text.count("red"), text.count("blue"), 0.1] for text in captions], np.float32)


def training(recipe: Recipe, policy: ToyPolicy | None = None) -> SelfRetrieval:
    noise = 0.5 * np.random.default_rng(0).normal(size=(12, 3))
    pictures = np.eye(3)[KINDS.numpy()] + noise
    pictures = (pictures / np.linalg.norm(pictures, axis=1, keepdims=True)).astype(np.float32)
    near = np.argsort(-(pictures @ pictures.T), axis=1)[:, 1:]
    return SelfRetrieval(
        policy or ToyPolicy(kinds=2), Receiver(pictures, embed, 5.0),
        lambda rows: KINDS[list(rows)], near, recipe, REFERENCES,
    )  # fmt: skip


RECIPE = Recipe([2] * 5 + [3] * 55, batch=12, learning_rate=0.05, length=3.0)
ANCHORED = replace(RECIPE, cider=0.5, kl=0.1, teacher=0.2, baseline="greedy")


@pytest.mark.parametrize("recipe", [RECIPE, replace(RECIPE, length=None), ANCHORED])
def test_training_raises_the_reward(recipe: Recipe) -> None:
    figures = list(training(recipe).steps())
    assert [row.step for row in figures] == list(range(1, 61))
    assert [row.bag for row in figures] == list(recipe.sizes)

    def mean(rows: list[StepFigures]) -> float:
        return float(np.mean([row.reward for row in rows]))

    assert mean(figures[-10:]) > mean(figures[:10]) + 0.2
    assert all(row.spread > 0 and row.gradient > 0 for row in figures[:10])
    if recipe.cider:
        assert np.mean([row.cider for row in figures[-10:]]) > figures[0].cider + 0.1
        assert figures[0].cider_spread > 0
        assert figures[0].kl == pytest.approx(0, abs=1e-6)
        assert figures[-1].kl > 0.01
    else:
        assert figures[-1].cider == figures[-1].kl == 0


def test_a_training_killed_at_any_step_ends_with_the_same_weights() -> None:
    recipe = replace(ANCHORED, sizes=[2, 2, 3, 3, 6, 6])
    whole = training(recipe)
    saved = []
    for _ in whole.steps():
        file = io.BytesIO()
        torch.save(whole.state(), file)
        saved.append(file.getvalue())
    for step in (1, 3, 5):
        resumed = training(recipe)
        resumed.restore(torch.load(io.BytesIO(saved[step - 1]), weights_only=True))
        assert len(list(resumed.steps())) == 6 - step
        assert torch.equal(resumed.policy.state()["table"], whole.policy.state()["table"])
        assert resumed.state()["baseline"] == whole.state()["baseline"]
    halted = training(recipe)
    assert [row.step for row in halted.steps(until=2)] == [1, 2]
    assert [row.step for row in halted.steps()] == [3, 4, 5, 6]
    assert torch.equal(halted.policy.state()["table"], whole.policy.state()["table"])


def test_recipes_and_their_references_are_validated() -> None:
    for name in ("temperature", "learning_rate", "length", "norm", "batch"):
        with pytest.raises(SettingsError, match=f"{name} must be above 0, not 0"):
            replace(RECIPE, **{name: 0})  # pyrefly: ignore[bad-argument-type]
    with pytest.raises(SettingsError, match="weight 'kl' must be 0 or more, not nan"):
        replace(RECIPE, kl=math.nan)
    with pytest.raises(ValueError, match="a temperature above 0"):
        log_probabilities(torch.zeros(1, 1, 3), ToyPolicy().samples_of(["red"]), 0.0)
    made = training(RECIPE)
    for recipe, references, message in (
        (replace(RECIPE, cider=0.5), None, "reference captions of each picture"),
        (replace(RECIPE, cider=0.5), [["red"]] * 12, "12 of 12 pictures have fewer than two"),
        (replace(RECIPE, teacher=0.5), [[]] * 12, "at least one reference"),
    ):
        with pytest.raises(TrainingError, match=message):
            SelfRetrieval(
                ToyPolicy(), made.receiver, lambda rows: KINDS[list(rows)],
                np.zeros((12, 3), np.int64), recipe, references,
            )  # fmt: skip


def test_training_stops_if_the_gradient_is_not_finite() -> None:
    policy = ToyPolicy(kinds=2)
    made = training(RECIPE, policy)
    with torch.no_grad():
        policy.table[0, 0, 0] = math.inf
    policy.sample = lambda *_: policy.samples_of(["red"] * 12)  # pyrefly: ignore[bad-assignment]
    with pytest.raises(TrainingError, match="gradient of step 1 is not finite"):
        list(made.steps())
