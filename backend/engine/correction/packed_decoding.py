"""A BLIP captioner's answers about many images, in one call of its decoder per round."""

from collections.abc import Sequence

import torch

from backend.engine.correction.beam_search import BEAMS, beam_search
from backend.engine.correction.decoding import (
    AskedSequences,
    AskLikeliest,
    AskLikelihoods,
    AskNextWords,
    Beginning,
    NextWord,
    Ranked,
    TokenModel,
    search_likeliest,
)
from backend.engine.correction.tree_decoding import TreeDecoding, tokens_of
from backend.engine.scoring.towers.blip_decoder import BlipDecoder, DecoderSession

#: Tokens by which a search extends what it reads. With 1, fewer would be read, in more rounds.
_STRIDE = 2


class PackedDecoding:
    """`Decoding` through `BlipDecoder`. Prefixes of all requests are cached.

    `memories`: the images' patch states, each [1, patches, width]."""

    def __init__(
        self, captioner: TokenModel, tower: BlipDecoder, memories: Sequence[torch.Tensor]
    ) -> None:
        self._captioner = captioner
        self._memories = memories
        self.session = DecoderSession(tower, torch.cat(list(memories)))

    def next_words(
        self, requests: Sequence[tuple[int, AskNextWords]]
    ) -> list[list[list[NextWord]]]:
        prefixes = [(image, prefix, request.count)
                    for image, request in requests for prefix in request.prefixes]  # fmt: skip
        if not prefixes:
            return [[] for _ in requests]
        # Without the end token, because the text continues.
        tokens = [
            sequence[:-1]
            for sequence in self._captioner.tokens([prefix for _, prefix, _ in prefixes])
        ]
        paths = self.session.read(
            [(image, sequence) for (image, _, _), sequence in zip(prefixes, tokens, strict=True)]
        )
        log_p = self.session.log_probabilities([int(path[-1]) for path in paths])
        so_far = self.session.log_likelihoods(paths)
        most = max(self._captioner.looked_at(count) for _, _, count in prefixes)
        likeliest = log_p.topk(min(most, log_p.shape[1]))
        words = iter(
            self._captioner.whole_words(
                Beginning(tuple(sequence), before), values, indices, not prefix, count
            )
            for (_, prefix, count), sequence, before, values, indices in zip(
                prefixes, tokens, so_far,
                likeliest.values.tolist(), likeliest.indices.tolist(), strict=True,
            )
        )  # fmt: skip
        return [[next(words) for _ in request.prefixes] for _, request in requests]

    def log_likelihoods(self, requests: Sequence[tuple[int, AskLikelihoods]]) -> list[list[float]]:
        sequences = tokens_of(self._captioner, [request.captions for _, request in requests])
        return self._read(
            [(image, sequence) for (image, _), sequence in zip(requests, sequences, strict=True)]
        )

    def likeliest(self, requests: Sequence[tuple[int, AskLikeliest]]) -> list[Ranked]:
        sequences = tokens_of(self._captioner, [request.captions for _, request in requests])
        return search_likeliest(requests, sequences, self._read, _STRIDE)

    def describe(
        self, images: Sequence[int], prefix: str = "", max_new_tokens: int = 30
    ) -> list[str]:
        captioner = self._captioner
        if not captioner.has_plain_beam_search:
            plain = TreeDecoding(captioner, self._memories)
            return plain.describe(images, prefix, max_new_tokens)
        prompt = captioner.tokens([prefix])[0][:-1]
        # The last token is not read by the decoder, so it may lie one beyond the context.
        longest = min(len(prompt) + max_new_tokens, self.session.tower.context + 1)
        return captioner.texts(
            beam_search(images, prompt, captioner.end, longest, BEAMS, self._after)
        )

    def steps(self, requests: Sequence[tuple[int, Sequence[int]]]) -> list[torch.Tensor]:
        paths = self.session.read(requests)
        slots = [int(slot) for path in paths for slot in path]
        return list(self.session.log_probabilities(slots).split([len(path) for path in paths]))

    def _after(self, requests: Sequence[tuple[int, Sequence[int]]]) -> torch.Tensor:
        return self.session.log_probabilities([int(p[-1]) for p in self.session.read(requests)])

    def _read(self, requests: AskedSequences) -> list[list[float]]:
        """Log-likelihoods; the last token of a sequence is not read, only predicted."""
        flat = [(image, sequence) for image, sequences in requests for sequence in sequences]
        paths = self.session.read([(image, sequence[:-1]) for image, sequence in flat])
        values = iter(
            self.session.log_likelihoods(paths, [sequence[-1] for _, sequence in flat])
        )  # fmt: skip
        return [[next(values) for _ in sequences] for _, sequences in requests]
