"""Interface of a captioner for reinforcement learning: samples and their log-probabilities.

A *policy* is a captioner whose parameters are trained. Its images are an opaque batch: CLIP vectors
for ClipCap and encoded patches for BLIP if the encoder is frozen, pixels if it is trained. Rows are
in the order of the images throughout.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from PIL import Image
from torch.nn import functional as F  # noqa: N812

from backend.errors import SettingsError

#: What self-retrieval trains (SR-L, SR-V, SR-LV).
#: A batch of images as one policy takes it, shape [n, ...]; opaque to all others.
Images = torch.Tensor
_TOGETHER = 100
_ENCODED_TOGETHER = 100


@dataclass(frozen=True)
class Samples:
    """Generated tokens, without the tokens that every caption begins with.

    On the CPU. `tokens`: int64 [n, longest], arbitrary after each caption's end; `lengths`: int64
    [n], the number of tokens that count. The end token counts, once; a caption that was truncated
    has none.
    """

    tokens: torch.Tensor
    lengths: torch.Tensor

    @property
    def mask(self) -> torch.Tensor:
        """Which tokens count, bool [n, longest]."""
        places = torch.arange(self.tokens.shape[1], device=self.tokens.device)
        return places < self.lengths[:, None]

    def __len__(self) -> int:
        return len(self.tokens)


class Policy:
    """A captioner in training. Use from one thread at a time.

    What policies share, whatever their captioner; one implements `encode`, `next_logits`, `logits`
    and `samples_of`. `sees_pixels`: its images are the pixels that `image_processor` makes of
    pictures, otherwise what `encode` makes of these; `longest`: maximum number of tokens of a
    sample, including the token `end` that ends a caption.
    """

    def __init__(
        self, model: Any, tokenizer: Any, image_processor: Any, sees_pixels: bool, longest: int,
        end: int,
    ) -> None:  # fmt: skip
        self.model, self._tokenizer = model.eval(), tokenizer
        self._image_processor, self.sees_pixels = image_processor, sees_pixels
        self.longest, self.end = longest, end

    def encode(self, pixels: torch.Tensor) -> torch.Tensor:
        """What the language side reads of pixels [n, 3, height, width]."""
        raise NotImplementedError

    def next_logits(
        self, memory: torch.Tensor, last: torch.Tensor | None, past: Any, step: int
    ) -> tuple[torch.Tensor, Any]:
        """Logits of the next token [n, vocabulary], and the cache, which is `past` in the next
        call. `memory`: of `encode`; `last` [n]: the token before, None at the start."""
        raise NotImplementedError

    def logits(self, images: Images, samples: Samples) -> torch.Tensor:
        """Untempered logits, with gradient: [n, longest of `samples`, vocabulary]. Position t
        predicts token t, given the image and the tokens before it."""
        raise NotImplementedError

    def samples_of(self, captions: Sequence[str]) -> Samples:
        """Given captions as tokens, with their end tokens, truncated to `longest`."""
        raise NotImplementedError

    @property
    def device(self) -> torch.device:
        return next(self.model.parameters()).device

    @torch.no_grad()
    def images_of(self, images: Sequence[Image.Image]) -> Images:
        """Inputs of `sample` and `logits`, on the CPU: keep them instead of the pictures."""
        batches = []
        for first in range(0, len(images), _TOGETHER):
            part = list(images[first : first + _TOGETHER])
            pixels = self._image_processor(images=part, return_tensors="pt")["pixel_values"]
            batches.append(
                pixels if self.sees_pixels else self.encode(pixels.to(self.device)).cpu()
            )
        return torch.cat(batches)

    def memory(self, images: Images) -> torch.Tensor:
        images = images.to(self.device)
        return self.encode(images) if self.sees_pixels else images

    @torch.no_grad()
    def sample(self, images: Images, temperature: float, generator: torch.Generator) -> Samples:
        """One caption per image, without gradient and without dropout.

        Tokens are drawn from softmax(logits / temperature); temperature 0 is greedy and draws no
        random numbers. Equal states of `generator` give equal samples.
        """
        was_training = self.model.training
        self.model.eval()
        memory = self.memory(images)
        ended = torch.zeros(len(memory), dtype=torch.bool)
        columns: list[torch.Tensor] = []
        last = past = None
        while len(columns) < self.longest and not bool(ended.all()):
            logits, past = self.next_logits(memory, last, past, len(columns))
            logits = logits.float().cpu()
            if temperature > 0:
                probabilities = (logits / temperature).softmax(-1)
                last = torch.multinomial(probabilities, 1, generator=generator)[:, 0]
            else:
                last = logits.argmax(-1)
            columns.append(last)
            ended |= last == self.end
        self.model.train(was_training)
        tokens = torch.stack(columns, 1) if columns else torch.zeros(0, 0, dtype=torch.long)
        return Samples(tokens, lengths_of(tokens, self.end))

    def pad(self, rows: Sequence[Sequence[int]]) -> Samples:
        """Captions as tokens, each with its end token."""
        tokens = torch.full((len(rows), max(map(len, rows), default=0)), self.end)
        for row, token_ids in enumerate(rows):
            tokens[row, : len(token_ids)] = torch.tensor(token_ids, dtype=torch.long)
        return Samples(tokens, torch.tensor([len(row) for row in rows], dtype=torch.long))

    def train(self, mode: bool = True) -> None:
        self.model.train(mode)

    def text(self, samples: Samples) -> list[str]:
        """The captions as text, without special tokens; "" if a caption is empty."""
        rows = [
            row[:length]
            for row, length in zip(samples.tokens.tolist(), samples.lengths.tolist(), strict=True)
        ]
        texts = self._tokenizer.batch_decode(rows, skip_special_tokens=True)
        return [str(text).strip() for text in texts]

    def parameters(self) -> list[torch.nn.Parameter]:
        """The trained parameters, in a fixed order."""
        return list(self._trained_parameters().values())

    def state(self) -> dict[str, torch.Tensor]:
        """The trained weights by name, which `restore` sets."""
        return {
            name: weights.detach().cpu().clone()
            for name, weights in self._trained_parameters().items()
        }

    @torch.no_grad()
    def restore(self, state: Mapping[str, Any]) -> None:
        """Raises SettingsError if the state is of another captioner or method."""
        parameters = self._trained_parameters()
        if parameters.keys() != state.keys():
            raise SettingsError("The saved training belongs to another captioner or method.")
        for name, weights in parameters.items():
            weights.copy_(state[name])

    def _trained_parameters(self) -> dict[str, torch.nn.Parameter]:
        return {
            name: weights
            for name, weights in self.model.named_parameters()
            if weights.requires_grad
        }


def log_probabilities(logits: torch.Tensor, samples: Samples, temperature: float) -> torch.Tensor:
    """Log-probability of each sampled token, float32 [n, longest], 0 where no token counts.

    `logits`: of `Policy.logits`. Samples drawn at a temperature have the probabilities of the
    *tempered* logits: those of the untempered ones would make the gradient biased. Raises
    ValueError if the temperature is not positive.
    """
    if not temperature > 0:
        raise ValueError(f"Log-probabilities need a temperature above 0, not {temperature}.")
    # Tokens after the end are arbitrary, and may be outside the vocabulary.
    mask = samples.mask.to(logits.device)
    tokens = samples.tokens.to(logits.device).masked_fill(~mask, 0)
    log_distribution = F.log_softmax(logits.float() / temperature, dim=-1)
    log_likelihoods = log_distribution.gather(-1, tokens[..., None])[..., 0]
    return log_likelihoods.masked_fill(~mask, 0.0)


def lengths_of(tokens: torch.Tensor, end: int) -> torch.Tensor:
    """Number of tokens up to and including the first `end`, or all of them; int64 [n].

    >>> lengths_of(torch.tensor([[5, 2, 2], [5, 6, 7], [2, 5, 5]]), end=2).tolist()
    [2, 3, 1]
    """
    is_end = tokens == end
    before = (is_end.cumsum(1) - is_end.long()) == 0
    return before.sum(1)


def are_truncated(samples: Samples, end: int) -> torch.Tensor:
    """Which captions reached the maximum length without an end token, bool [n].

    >>> samples = Samples(torch.tensor([[5, 6, 7], [5, 2, 9]]), torch.tensor([3, 2]))
    >>> are_truncated(samples, end=2).tolist()
    [True, False]
    """
    if not samples.tokens.shape[1]:
        return torch.zeros(len(samples), dtype=torch.bool)
    last = samples.tokens.gather(1, (samples.lengths - 1).clamp(min=0)[:, None])[:, 0]
    return last != end
