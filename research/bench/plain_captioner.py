"""A naive reference captioner: every caption is decoded in full, every image separately.

The baseline for the optimised captioner (`suggestion_speed`, and the tests).
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields

import torch

from backend.engine.correction.captioner import Captioner
from backend.engine.correction.decoding import AskLikeliest, AskLikelihoods, Ranked
from backend.engine.correction.shared_prefixes import TokenTrees, trees_of
from backend.engine.correction.tree_decoding import TreeDecoding


class PlainDecoding(TreeDecoding):
    """All captions are read, and images are described one by one."""

    def likeliest(self, requests: Sequence[tuple[int, AskLikeliest]]) -> list[Ranked]:
        every = self.log_likelihoods(
            [(image, AskLikelihoods(request.captions)) for image, request in requests]
        )
        return [
            sorted(enumerate(values), key=lambda item: (-item[1], item[0]))[: request.count]
            for values, (_, request) in zip(every, requests, strict=True)
        ]

    def describe(
        self, images: Sequence[int], prefix: str = "", max_new_tokens: int = 30
    ) -> list[str]:
        return [super(PlainDecoding, self).describe([image], prefix, max_new_tokens)[0]
                for image in images]  # fmt: skip


@dataclass(frozen=True)
class PlainCaptioner(Captioner):
    """The same model and the same results, without the optimisations."""

    def decoding(self, memories: Sequence[torch.Tensor]) -> PlainDecoding:
        return PlainDecoding(self, memories)

    def trees(self, sequences: Sequence[Sequence[int]]) -> TokenTrees:
        return trees_of(sequences, 1)

    def through_trees(self, memory: torch.Tensor, trees: TokenTrees) -> torch.Tensor:
        ids = torch.from_numpy(trees.tokens).to(self.device)
        mask = trees.lengths_mask(self.device)
        logits = self._decoded(ids, mask, memory.expand(len(ids), -1, -1))
        return logits.float().log_softmax(-1)


def plain(captioner: Captioner) -> PlainCaptioner:
    """The naive version of a BLIP captioner."""
    values = {field.name: getattr(captioner, field.name) for field in fields(Captioner)}
    return PlainCaptioner(**values)
