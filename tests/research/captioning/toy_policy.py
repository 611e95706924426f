"""A policy whose gradient can be computed exactly: three tokens, one table of logits."""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from research.captioning.policy import Images, Samples, lengths_of

END = 0
WORDS = ("", "red", "blue")


class ToyPolicy:
    """Each token depends on the image, a number below `kinds`, and on the token before."""

    def __init__(self, kinds: int = 1, longest: int = 3, seed: int = 0) -> None:
        generator = torch.Generator().manual_seed(seed)
        # The last row of the second dimension stands for the start of a caption.
        self.table = torch.nn.Parameter(torch.randn(kinds, 4, 3, generator=generator))
        self._longest = longest
        self.training = True

    @property
    def longest(self) -> int:
        return self._longest

    @property
    def end(self) -> int:
        return END

    def sample(self, images: Images, temperature: float, generator: torch.Generator) -> Samples:
        assert not self.training
        before = torch.full((len(images),), 3)
        drawn = []
        for _ in range(self._longest):
            logits = self.table.detach()[images, before]
            if temperature:
                p = (logits / temperature).softmax(-1)
                before = torch.multinomial(p, 1, generator=generator)[:, 0]
            else:
                before = logits.argmax(-1)
            drawn.append(before)
        tokens = torch.stack(drawn, 1)
        return Samples(tokens, lengths_of(tokens, END))

    def logits(self, images: Images, samples: Samples) -> torch.Tensor:
        before = torch.cat([torch.full((len(images), 1), 3), samples.tokens[:, :-1]], 1)
        return self.table[images[:, None], before]

    def samples_of(self, captions: Sequence[str]) -> Samples:
        rows = [[WORDS.index(word) for word in text.split()] for text in captions]
        tokens = torch.tensor([(row + [END] * self._longest)[: self._longest] for row in rows])
        return Samples(tokens, lengths_of(tokens, END))

    def text(self, samples: Samples) -> list[str]:
        return [
            " ".join(WORDS[token] for token in row[:length] if token != END)
            for row, length in zip(samples.tokens.tolist(), samples.lengths.tolist(), strict=True)
        ]

    def parameters(self) -> list[torch.nn.Parameter]:
        return [self.table]

    def train(self, mode: bool = True) -> None:
        self.training = mode

    def state(self) -> dict[str, torch.Tensor]:
        return {"table": self.table.detach().clone()}

    def restore(self, state: Mapping[str, Any]) -> None:
        with torch.no_grad():
            self.table.copy_(state["table"])

    def every_caption(self) -> Samples:
        """All captions that it can generate, each once."""
        unique = {
            tuple(row[: row.index(END) + 1] if END in row else row)
            for row in map(list, itertools.product(range(3), repeat=self._longest))
        }
        rows = [[*row, *[END] * (self._longest - len(row))] for row in sorted(unique)]
        tokens = torch.tensor(rows)
        return Samples(tokens, lengths_of(tokens, END))
