"""A naive reference captioner: every caption is decoded in full, every image separately.

The baseline for the optimised captioner (`suggestion_speed`, and the tests).
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields

import torch

from backend.engine.correction.captioner import Beginning, Captioner
from backend.engine.correction.shared_prefixes import TokenTrees, trees_of


@dataclass(frozen=True)
class PlainCaptioner(Captioner):
    """The same model and the same results, without the optimisations."""

    def likeliest(
        self,
        memory: torch.Tensor,
        captions: Sequence[str],
        beginnings: Sequence[Beginning],
        count: int,
    ) -> list[tuple[int, float]]:
        values = self.log_likelihoods(memory, captions)
        return sorted(enumerate(values), key=lambda item: (-item[1], item[0]))[:count]

    @torch.inference_mode()
    def describe_all(
        self, memories: Sequence[torch.Tensor], prefix: str = "", max_new_tokens: int = 30
    ) -> list[str]:
        return [super(PlainCaptioner, self).describe_all([memory], prefix, max_new_tokens)[0]
                for memory in memories]  # fmt: skip

    def _trees(self, sequences: Sequence[Sequence[int]]) -> TokenTrees:
        return trees_of(sequences, 1)

    def _through_trees(self, memory: torch.Tensor, trees: TokenTrees) -> torch.Tensor:
        ids = torch.from_numpy(trees.tokens).to(self.device)
        mask = trees.lengths_mask(self.device)
        logits = self._decoded(ids, mask, memory.expand(len(ids), -1, -1))
        return logits.float().log_softmax(-1)


def plain(captioner: Captioner) -> PlainCaptioner:
    """The naive version of a BLIP captioner."""
    values = {field.name: getattr(captioner, field.name) for field in fields(Captioner)}
    return PlainCaptioner(**values)
