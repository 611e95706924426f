"""Maximum likelihood of given captions: how a captioner is trained before it is fine-tuned.

    loss      - log P(caption | image), the mean over all tokens of a batch, each end token once
    rate      linear warm-up, then linear decay to 0 (SR, Table 11)

The batch and the dropout of a step depend only on the seed and the step's number, so a resumed
training ends with the same weights, bit for bit.
"""

import copy
import hashlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from backend.errors import SettingsError, TrainingError
from research.captioning.policy import Images, Policy, log_probabilities


@dataclass(frozen=True)
class LikelihoodRecipe:
    """The defaults are those of the paper (Table 11). `batch`: captions per step; `warm_up`: steps
    until `learning_rate` is reached; `norm`: gradients are clipped to it. Raises SettingsError."""

    steps: int = 30_000
    batch: int = 40
    learning_rate: float = 2e-5
    warm_up: int = 1000
    weight_decay: float = 0.01
    norm: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        positive = {"steps": self.steps, "batch": self.batch, "learning rate": self.learning_rate,
                    "norm": self.norm}  # fmt: skip
        for name, value in positive.items():
            if not (math.isfinite(value) and value > 0):
                raise SettingsError(f"The {name} must be above 0, not {value}.")
        if self.warm_up < 0 or not self.weight_decay >= 0:
            raise SettingsError("Warm-up and weight decay cannot be negative.")

    def rate(self, step: int) -> float:
        """The learning rate of step `step`, counted from 0.

        >>> recipe = LikelihoodRecipe(steps=6, learning_rate=4.0, warm_up=2)
        >>> [recipe.rate(step) for step in range(6)]
        [2.0, 4.0, 4.0, 3.0, 2.0, 1.0]
        """
        warm_up = min(self.warm_up, self.steps - 1)
        if step < warm_up:
            return self.learning_rate * (step + 1) / warm_up
        return self.learning_rate * (self.steps - step) / (self.steps - warm_up)


@dataclass(frozen=True)
class LikelihoodFigures:
    """`loss`: mean per token, before the update of step `step`, counted from 1."""

    step: int
    loss: float
    learning_rate: float
    gradient: float


class Likelihood:
    """One training of `policy`. `pairs`: (picture, caption); `images_of`: pictures to the policy's
    images. Raises TrainingError without pairs."""

    def __init__(
        self,
        policy: Policy,
        images_of: Callable[[Sequence[int]], Images],
        pairs: Sequence[tuple[int, str]],
        recipe: LikelihoodRecipe,
    ) -> None:
        if not pairs:
            raise TrainingError("There are no captions to learn from.")
        self.policy, self.recipe = policy, recipe
        self.done = 0
        self._images_of, self._pairs = images_of, pairs
        self._parameters = list(policy.parameters())
        self._optimiser = torch.optim.AdamW(
            self._parameters, lr=recipe.learning_rate, weight_decay=recipe.weight_decay
        )
        self._epoch, self._order = -1, np.zeros(0, np.int64)

    def steps(self, until: int | None = None) -> Iterator[LikelihoodFigures]:
        """Train, yielding after each update, up to step `until` or the end of the recipe."""
        last = self.recipe.steps if until is None else min(until, self.recipe.steps)
        while self.done < last:
            yield self._step()
        self.policy.train(False)

    def state(self) -> dict[str, Any]:
        """All that `restore` needs: weights, optimiser, position. Random numbers and batches follow
        from the position and the seed."""
        return {
            "done": self.done,
            "policy": dict(self.policy.state()),
            "optimiser": copy.deepcopy(self._optimiser.state_dict()),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue after the step at which `state` was taken."""
        self.policy.restore(state["policy"])
        self._optimiser.load_state_dict(state["optimiser"])
        self.done = int(state["done"])

    def rows(self, step: int) -> list[int]:
        """The pairs of a step: all of them once per epoch, in a new order each time."""
        count = len(self._pairs)
        first = step * self.recipe.batch
        return [int(self._order_of(index // count)[index % count])
                for index in range(first, first + self.recipe.batch)]  # fmt: skip

    def _order_of(self, epoch: int) -> NDArray[np.int64]:
        if epoch != self._epoch:
            random = np.random.default_rng((self.recipe.seed, epoch))
            self._epoch, self._order = epoch, random.permutation(len(self._pairs))
        return self._order

    def _step(self) -> LikelihoodFigures:
        rate = self.recipe.rate(self.done)
        for group in self._optimiser.param_groups:
            group["lr"] = rate
        batch = [self._pairs[row] for row in self.rows(self.done)]
        images = self._images_of([picture for picture, _ in batch])
        samples = self.policy.samples_of([caption for _, caption in batch])
        self.policy.train(True)
        with torch.random.fork_rng():
            torch.manual_seed(_seed_of(self.recipe.seed, self.done))
            logits = self.policy.logits(images, samples)
        log_p = log_probabilities(logits, samples, 1.0)
        loss = -log_p.sum() / samples.lengths.sum()
        self._optimiser.zero_grad()
        loss.backward()
        gradient = torch.nn.utils.clip_grad_norm_(self._parameters, self.recipe.norm)
        if not math.isfinite(float(loss.detach())):
            raise TrainingError(
                f"The loss of step {self.done + 1} is not finite. Use a lower learning rate."
            )
        self._optimiser.step()
        self.done += 1
        return LikelihoodFigures(self.done, float(loss.detach()), rate, float(gradient))


def _seed_of(seed: int, step: int) -> int:
    return int.from_bytes(hashlib.sha256(f"likelihood {seed} {step}".encode()).digest()[:7], "big")
