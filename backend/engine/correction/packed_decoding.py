"""A BLIP captioner's answers about many images, in one call of its decoder per round."""

from collections.abc import Iterator, Sequence

import torch

from backend.engine.correction.beam_search import BEAMS, beam_search
from backend.engine.correction.decoding import (
    WHOLE,
    AskedSequences,
    AskedTokens,
    Decoding,
    TokenModel,
)
from backend.engine.correction.plain_decoding import PlainDecoding
from backend.engine.scoring.towers.blip_decoder import BlipDecoder, DecoderSession


class PackedDecoding(Decoding):
    """Through `BlipDecoder`. Prefixes of all requests are cached.

    `memories`: the images' patch states, each [1, patches, width]."""

    def __init__(
        self, captioner: TokenModel, tower: BlipDecoder, memories: Sequence[torch.Tensor]
    ) -> None:
        super().__init__(captioner)
        self._memories = memories
        # With 1, fewer tokens would be read, in more rounds; on an accelerator rounds cost more.
        self.stride = WHOLE if tower.pads else 2
        self.session = DecoderSession(tower, torch.cat(list(memories)))

    def describe(
        self, images: Sequence[int], prefix: str = "", max_new_tokens: int = 30
    ) -> list[str]:
        captioner = self._captioner
        if not captioner.has_plain_beam_search:
            plain = PlainDecoding(captioner, self._memories)
            return plain.describe(images, prefix, max_new_tokens)
        prompt = captioner.tokens([prefix])[0][:-1]
        # The last token is not read by the decoder, so it may lie one beyond the context.
        longest = min(len(prompt) + max_new_tokens, self.session.tower.context + 1)
        return captioner.texts(
            beam_search(images, prompt, captioner.end, longest, BEAMS, self._next_log_p)
        )

    def steps(self, requests: AskedTokens) -> list[torch.Tensor]:
        paths = self.session.read(requests)
        slots = [int(slot) for path in paths for slot in path]
        return list(self.session.log_probabilities(slots).split([len(path) for path in paths]))

    def _next_log_p(self, requests: AskedTokens) -> torch.Tensor:
        return self.session.log_probabilities([int(p[-1]) for p in self.session.read(requests)])

    def _after(self, requests: AskedTokens) -> Iterator[tuple[torch.Tensor, list[float]]]:
        paths = self.session.read(requests)
        log_p = self.session.log_probabilities([int(path[-1]) for path in paths])
        yield log_p, self.session.log_likelihoods(paths)

    def _sums(self, requests: AskedSequences) -> list[list[float]]:
        """Of the last token, no more than its own probability is computed."""
        flat = [(image, sequence) for image, sequences in requests for sequence in sequences]
        paths = self.session.read([(image, sequence[:-1]) for image, sequence in flat])
        values = iter(self.session.log_likelihoods(paths, [sequence[-1] for _, sequence in flat]))
        return [[next(values) for _ in sequences] for _, sequences in requests]
