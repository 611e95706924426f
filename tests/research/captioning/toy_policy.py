"""A policy whose gradient can be computed exactly: three tokens, one table of logits."""

import itertools
from collections.abc import Sequence
from typing import Any

import torch

from research.captioning.policy import Images, Policy, Samples, lengths_of

END = 0
WORDS = ("", "red", "blue")


class ToyPolicy(Policy):
    """Each token depends on the image, a number below `kinds`, and on the token before."""

    def __init__(self, kinds: int = 1, longest: int = 3, seed: int = 0) -> None:
        generator = torch.Generator().manual_seed(seed)
        # The last row of the second dimension stands for the start of a caption.
        self.table = torch.nn.Parameter(torch.randn(kinds, 4, 3, generator=generator))
        module = torch.nn.ParameterDict({"table": self.table})
        super().__init__(module, None, None, False, longest, END)

    def next_logits(
        self, memory: torch.Tensor, last: torch.Tensor | None, past: Any, step: int
    ) -> tuple[torch.Tensor, Any]:
        before = torch.full((len(memory),), 3) if last is None else last
        return self.table.detach()[memory, before], None

    def logits(self, images: Images, samples: Samples) -> torch.Tensor:
        before = torch.cat([torch.full((len(images), 1), 3), samples.tokens[:, :-1]], 1)
        return self.table[images[:, None], before]

    def samples_of(self, captions: Sequence[str]) -> Samples:
        rows = [[WORDS.index(word) for word in text.split()] for text in captions]
        tokens = torch.tensor([(row + [END] * self.longest)[: self.longest] for row in rows])
        return Samples(tokens, lengths_of(tokens, END))

    def text(self, samples: Samples) -> list[str]:
        return [
            " ".join(WORDS[token] for token in row[:length] if token != END)
            for row, length in zip(samples.tokens.tolist(), samples.lengths.tolist(), strict=True)
        ]

    def every_caption(self) -> Samples:
        """All captions that it can generate, each once."""
        unique = {
            tuple(row[: row.index(END) + 1] if END in row else row)
            for row in map(list, itertools.product(range(3), repeat=self.longest))
        }
        rows = [[*row, *[END] * (self.longest - len(row))] for row in sorted(unique)]
        tokens = torch.tensor(rows)
        return Samples(tokens, lengths_of(tokens, END))
