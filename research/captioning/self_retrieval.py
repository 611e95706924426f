"""Self-retrieval fine-tuning with REINFORCE (SR, section 4.1 and appendix C.2).

A captioner, the sender, is rewarded if a frozen CLIP, the receiver, retrieves its picture:

    reward    R(c, i, B) = log softmax over i' in B of (tau * s(c, i')), at the picture itself
    loss      L = - mean over i of (R_i - b_i) * log P(c_i | i) / length

B is the whole batch: a caption's bag holds hard negatives, the rest of the batch easy ones. tau is
the receiver's scale; without it the reward is flat. Where we differ from the paper:

- log P is summed over tokens and divided by a constant (`Recipe.length`). Its mean over a caption's
  tokens, the paper's, is not the gradient of the expected reward, and made a weak captioner's
  captions ever shorter.
- The running-mean baseline b starts at the first batch's mean. Starting at 0, as the paper's, the
  first batches would make all captions less likely.
- CIDEr-D is scaled to the spread of the self-retrieval reward in the first batch, since their units
  are not comparable. `StepFigures` has both. The paper adds CIDEr-D as it is, at most 10 (authors'
  code, game_old.py).

`Recipe.as_published` follows the paper in all three. Where we differ from it in any case:

- A caption that is truncated, without an end token, earns no more than a guess: otherwise it
  could raise its reward by listing words up to the maximum length.
- Anchors against hallucination: KL divergence to the captioner before training, and maximum
  likelihood of the references mixed in (Chaffin et al., 2024).

Every step is a function of the weights, the optimiser's state and the step's number, so a resumed
training ends with the same weights, bit for bit.
"""

import copy
import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional as F  # noqa: N812

from backend.engine.scoring.protocol import Scorer, logit_scale_of
from backend.engine.unit_vectors import NEAR_DUPLICATE, unit
from backend.errors import SettingsError, TrainingError
from backend.features.specificity.picture_bags import multimodal, nearest
from backend.features.specificity.retrieval import USUAL_SCALE
from research.captioning.caption_metrics import CiderD
from research.captioning.curriculum import Batch, batches
from research.captioning.policy import (
    Images,
    Policy,
    Samples,
    are_truncated,
    log_probabilities,
)

Floats = NDArray[np.float32]
Rewards = NDArray[np.float64]
_TOGETHER = 64


@dataclass(frozen=True)
class Receiver:
    """The model that rewards. It stays frozen and is never the model used for evaluation
    afterwards.

    `pictures` [n, d]: unit vectors of all training pictures; `embed`: captions to vectors [., d];
    `scale`: tau.
    """

    pictures: Floats
    embed: Callable[[Sequence[str]], Floats]
    scale: float

    @classmethod
    def of(cls, scorer: Scorer, pictures: Floats) -> "Receiver":
        return cls(pictures, scorer.text_embeddings, logit_scale_of(scorer, USUAL_SCALE))

    def neighbours(self, captions: Sequence[Sequence[str]]) -> NDArray[np.int64]:
        """The nearest pictures [pictures, k] of each, by its vector and those of its captions."""
        means: list[Floats] = []
        for first in range(0, len(captions), _TOGETHER):
            part = captions[first : first + _TOGETHER]
            read = unit(self.embed([text for texts in part for text in texts]))
            ends = np.cumsum([len(texts) for texts in part])
            means += [vectors.mean(0) for vectors in np.split(read, ends[:-1])]
        return nearest(multimodal(self.pictures, np.stack(means)))[0]

    def rewards(
        self, captions: Sequence[str], rows: Sequence[int], truncated: Sequence[bool] | None = None
    ) -> Rewards:
        """R of each caption for the pictures `rows`, within that batch."""
        return self_retrieval_rewards(
            unit(self.embed(captions)), self.pictures[list(rows)], self.scale,
            [not caption.strip() for caption in captions], truncated,
        )  # fmt: skip


def self_retrieval_rewards(
    captions: Floats,
    pictures: Floats,
    scale: float,
    empty: Sequence[bool] | None = None,
    truncated: Sequence[bool] | None = None,
) -> Rewards:
    """R of captions [n, d] for pictures [n, d], unit vectors row by row; float64 [n], at most 0.

    Near duplicates of a caption's picture are left out of its softmax: no caption can tell them
    apart. Captions that are `empty`, or whose vector is not finite, get log(1 / n), that of a
    guess; captions that are `truncated` get at most that.
    """
    count = len(pictures)
    z = pictures.astype(np.float64)
    same = z @ z.T >= NEAR_DUPLICATE
    np.fill_diagonal(same, False)
    logits = scale * (captions.astype(np.float64) @ z.T)
    logits[same] = -np.inf
    unusable = ~np.isfinite(captions).all(1)
    if empty is not None:
        unusable |= np.asarray(empty, np.bool_)
    logits[unusable] = 0.0
    top = logits.max(1, keepdims=True)
    rewards: Rewards = np.diag(logits) - top[:, 0] - np.log(np.exp(logits - top).sum(1))
    rewards[unusable] = -math.log(count)
    if truncated is not None:
        rewards[np.asarray(truncated, np.bool_) & (rewards > -math.log(count))] = -math.log(count)
    return np.minimum(rewards, 0.0)


def reinforce_loss(
    log_p: torch.Tensor, samples: Samples, advantages: torch.Tensor, length: float | None
) -> torch.Tensor:
    """- mean of advantage * log P / length, a scalar. `log_p` [n, longest]: of `log_probabilities`;
    `advantages` [n]: reward - baseline, without gradient; `length` None: each caption's own."""
    divisor = samples.lengths.clamp(min=1).to(log_p) if length is None else length
    return -(advantages.to(log_p.dtype) * log_p.sum(1) / divisor).mean()


def divergence(logits: torch.Tensor, start: torch.Tensor, samples: Samples) -> torch.Tensor:
    """KL(policy || start) of the next token, summed over a caption's tokens: float [n].

    Exact over the vocabulary, at temperature 1, after the sampled tokens."""
    now, before = F.log_softmax(logits.float(), -1), F.log_softmax(start.float(), -1)
    each = (now.exp() * (now - before)).sum(-1)
    return each.masked_fill(~samples.mask.to(each.device), 0.0).sum(1)


@dataclass(frozen=True)
class Recipe:
    """How a captioner is fine-tuned.

    `sizes`: pictures per bag at each step, see `curriculum`; their number is the number of steps.
    `batch`: pictures per step; `temperature`: of the samples; `weight_decay`: of AdamW; `length`:
    what log P is divided by, None for the mean over tokens; `baseline`: the running mean of the
    rewards, or each picture's reward of its greedy caption; `cider`, `kl`, `teacher`: weights of
    CIDEr-D in the reward, of the divergence from the start and of the references' likelihood in the
    loss; `scales_cider`: to the spread of the other reward, otherwise CIDEr-D is at most 10;
    `starts_at_zero`: the running mean; `norm`: gradients are clipped to it. Raises SettingsError.
    """

    sizes: Sequence[int]
    batch: int = 100
    temperature: float = 0.7
    weight_decay: float = 0.0
    learning_rate: float = 5e-5
    length: float | None = 12.0
    baseline: Literal["running", "greedy"] = "running"
    cider: float = 0.0
    scales_cider: bool = True
    starts_at_zero: bool = False
    kl: float = 0.0
    teacher: float = 0.0
    norm: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        positive = {"temperature": self.temperature, "learning_rate": self.learning_rate,
                    "norm": self.norm, "batch": self.batch}  # fmt: skip
        if self.length is not None:
            positive["length"] = self.length
        for name, value in positive.items():
            if not (math.isfinite(value) and value > 0):
                raise SettingsError(f"{name} must be above 0, not {value}.")
        weights = {"cider": self.cider, "kl": self.kl, "teacher": self.teacher,
                   "weight_decay": self.weight_decay}  # fmt: skip
        for name, value in weights.items():
            if not (math.isfinite(value) and value >= 0):
                raise SettingsError(f"The weight '{name}' must be 0 or more, not {value}.")

    def as_published(self) -> "Recipe":
        """Mean log P over tokens, CIDEr-D as it is, a running mean that starts at 0."""
        return replace(self, length=None, scales_cider=False, starts_at_zero=True)


@dataclass(frozen=True)
class StepFigures:
    """Measurements of a step, before its update. `reward`: mean self-retrieval reward; `spread`:
    its standard deviation; `cider`, `cider_spread`: the same of CIDEr-D / 10, 0 without it;
    `words`: mean length in tokens; `kl`: mean divergence per caption; `gradient`: its norm before
    clipping; `bag`: pictures per bag; `epoch`: of the bags, from 0."""

    step: int
    bag: int
    epoch: int
    reward: float
    spread: float
    cider: float
    cider_spread: float
    words: float
    kl: float
    loss: float
    gradient: float


class SelfRetrieval:
    """One training. `images_of`: rows to the policy's images; `near` [n, k]: neighbours of each
    picture, nearest first; `references`: captions of each picture, for CIDEr-D and teacher forcing.

    The policy as given is the start that the KL anchor refers to, so construct it first and then
    `restore` an interrupted training. Raises SettingsError or TrainingError.
    """

    def __init__(
        self,
        policy: Policy,
        receiver: Receiver,
        images_of: Callable[[Sequence[int]], Images],
        near: NDArray[np.int64],
        recipe: Recipe,
        references: Sequence[Sequence[str]] | None = None,
    ) -> None:
        self.policy, self.receiver, self.recipe = policy, receiver, recipe
        self.done = 0
        self._images_of, self._near = images_of, near
        self._references = _check(references, recipe, len(near))
        self._cider = CiderD(self._references) if recipe.cider else None
        self._start = copy.deepcopy(policy) if recipe.kl else None
        self._parameters = list(policy.parameters())
        self._optimiser = torch.optim.AdamW(
            self._parameters, lr=recipe.learning_rate, weight_decay=recipe.weight_decay
        )
        self._baseline = RunningMean()
        # The reward holds CIDEr-D / 10.
        self._cider_scale: float | None = None if recipe.scales_cider else 10.0
        # Dropout would make samples and gradient those of different policies.
        policy.train(False)

    def steps(self, until: int | None = None) -> Iterator[StepFigures]:
        """Train, yielding after each update, up to step `until` or the end of the recipe."""
        sizes = list(self.recipe.sizes)
        plan = batches(self._near, self.recipe.batch, sizes, self.recipe.seed)
        for batch in islice(plan, self.done, until):
            yield self._step(batch)

    def state(self) -> dict[str, Any]:
        """All that `restore` needs: weights, optimiser, baseline, scale of CIDEr-D, position.
        Random numbers and batches follow from the position and the seed."""
        return {
            "done": self.done,
            "policy": dict(self.policy.state()),
            "optimiser": copy.deepcopy(self._optimiser.state_dict()),
            "baseline": [self._baseline.total, self._baseline.count],
            "cider_scale": self._cider_scale,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue after the step at which `state` was taken."""
        self.policy.restore(state["policy"])
        self._optimiser.load_state_dict(state["optimiser"])
        self._baseline = RunningMean(*state["baseline"])
        self._cider_scale = state["cider_scale"]
        self.done = int(state["done"])

    def _step(self, batch: Batch) -> StepFigures:
        recipe, rows = self.recipe, batch.rows
        images = self._images_of(rows)
        generator = torch.Generator().manual_seed(_seed_of(recipe.seed, self.done))
        samples = self.policy.sample(images, recipe.temperature, generator)
        reward, cider = self._rewards(samples, rows)
        total = self._joint(reward, cider)
        if recipe.baseline == "greedy":
            greedy = self.policy.sample(images, 0.0, generator)
            baseline = self._joint(*self._rewards(greedy, rows))
        else:
            mean = self._baseline.before(float(total.mean()))
            if self.done == 0 and recipe.starts_at_zero:
                mean = 0.0
            baseline = np.full(len(rows), mean)
        logits = self.policy.logits(images, samples)
        log_p = log_probabilities(logits, samples, recipe.temperature)
        advantages = torch.from_numpy(total - baseline).to(log_p.device)
        loss = reinforce_loss(log_p, samples, advantages, recipe.length)
        kl = 0.0
        if self._start is not None:
            with torch.no_grad():
                start = self._start.logits(images, samples)
            away = divergence(logits, start, samples).mean()
            loss = loss + recipe.kl * away / (recipe.length or 1.0)
            kl = float(away.detach())
        if recipe.teacher:
            loss = loss + recipe.teacher * self._likelihood_loss(images, rows)
        self._optimiser.zero_grad()
        loss.backward()
        norm = float(torch.nn.utils.clip_grad_norm_(self._parameters, recipe.norm))
        if not math.isfinite(norm):
            raise TrainingError(
                f"The gradient of step {self.done + 1} is not finite. Lower the learning rate."
            )
        self._optimiser.step()
        self.done += 1
        return StepFigures(
            self.done, batch.size, batch.epoch, float(reward.mean()), float(reward.std()),
            float(cider.mean()), float(cider.std()), float(samples.lengths.float().mean()), kl,
            float(loss.detach()), norm,
        )  # fmt: skip

    def _rewards(self, samples: Samples, rows: Sequence[int]) -> tuple[Rewards, Rewards]:
        """Self-retrieval reward, and CIDEr-D / 10 (0 if it has no weight)."""
        captions = self.policy.text(samples)
        endless = are_truncated(samples, self.policy.end).tolist()
        reward = self.receiver.rewards(captions, rows, endless)
        if self._cider is None:
            return reward, np.zeros(len(rows))
        return reward, self._cider.scores(captions, rows) / 10

    def _joint(self, reward: Rewards, cider: Rewards) -> Rewards:
        if self._cider is None:
            return reward
        if self._cider_scale is None:  # the first batch's samples
            spread = float(cider.std())
            self._cider_scale = float(reward.std()) / spread if spread > 0 else 1.0
        return reward + self.recipe.cider * self._cider_scale * cider

    def _likelihood_loss(self, images: Images, rows: Sequence[int]) -> torch.Tensor:
        rng = random.Random(f"references {self.recipe.seed} {self.done}")
        samples = self.policy.samples_of([rng.choice(self._references[row]) for row in rows])
        log_p = log_probabilities(self.policy.logits(images, samples), samples, 1.0)
        return -log_p.sum() / samples.lengths.sum()


@dataclass
class RunningMean:
    """Mean of all past batches' rewards; for the first batch, its mean."""

    total: float = 0.0
    count: int = 0

    def before(self, mean: float) -> float:
        """The mean of the batches before this one; then this one's mean reward, `mean`, is
        added."""
        value = self.total / self.count if self.count else mean
        self.total += mean
        self.count += 1
        return value


def _check(
    references: Sequence[Sequence[str]] | None, recipe: Recipe, pictures: int
) -> Sequence[Sequence[str]]:
    reference_sets = references or ()
    if (recipe.cider or recipe.teacher) and len(reference_sets) != pictures:
        raise TrainingError("CIDEr-D and teacher forcing need reference captions of each picture.")
    if recipe.teacher and not all(reference_sets):
        raise TrainingError("Teacher forcing needs at least one reference caption of each picture.")
    alone = sum(len(captions) < 2 for captions in reference_sets)
    if recipe.cider and alone:
        raise TrainingError(
            f"CIDEr-D compares a caption with several references, but {alone} of {pictures} "
            "pictures have fewer than two. Add captions, or train without CIDEr."
        )
    return reference_sets


def _seed_of(seed: int, step: int) -> int:
    return random.Random(f"samples {seed} {step}").getrandbits(63)
