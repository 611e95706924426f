"""Any captioner's answers, image by image, through the decoder of transformers.

Captions with a common beginning are read as token trees where the decoder accepts them.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import itemgetter

import torch

from backend.engine.correction.decoding import AskedTokens, Decoding, TokenModel


class TreeDecoding(Decoding):
    """For every architecture. `memories`: the images as encoded by the captioner."""

    def __init__(self, captioner: TokenModel, memories: Sequence[torch.Tensor]) -> None:
        super().__init__(captioner)
        self._memories = memories

    @torch.inference_mode()
    def describe(
        self, images: Sequence[int], prefix: str = "", max_new_tokens: int = 30
    ) -> list[str]:
        if not images:
            return []
        captioner = self._captioner
        prompt = captioner.tokens([prefix])[0][:-1]
        begun = torch.tensor([prompt] * len(images), device=captioner.device)
        memories = torch.cat([self._memories[image] for image in images])
        return captioner.texts(captioner.generated(memories, begun, max_new_tokens))

    @torch.inference_mode()
    def steps(self, requests: AskedTokens) -> list[torch.Tensor]:
        if not requests:
            return []
        memories = torch.cat([self._memories[image] for image, _ in requests])
        sequences = [tokens for _, tokens in requests]
        logits = self._captioner.logits(memories, sequences)
        return [
            logits[row, : len(tokens)].log_softmax(-1) for row, tokens in enumerate(sequences)
        ]  # fmt: skip

    @torch.inference_mode()
    def _after(self, requests: AskedTokens) -> Iterator[tuple[torch.Tensor, list[float]]]:
        for image, of_image in groupby(requests, key=itemgetter(0)):
            trees = self._captioner.trees([tokens for _, tokens in of_image])
            steps = self._captioner.through_trees(self._memories[image], trees)
            last = torch.stack([steps[tree, int(path[-1])] for tree, path in trees.paths])
            yield last, trees.log_likelihoods(steps)
