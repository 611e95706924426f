"""Any captioner's answers, image by image, through the decoder of transformers.

Captions with a common beginning are read as token trees where the decoder accepts them.
"""

from collections.abc import Sequence

import torch

from backend.engine.correction.decoding import (
    WHOLE,
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


class TreeDecoding:
    """`Decoding` for every architecture. `memories`: the images as encoded by the captioner."""

    def __init__(self, captioner: TokenModel, memories: Sequence[torch.Tensor]) -> None:
        self._captioner = captioner
        self._memories = memories

    def next_words(
        self, requests: Sequence[tuple[int, AskNextWords]]
    ) -> list[list[list[NextWord]]]:
        return [self._next_words(image, request) for image, request in requests]

    def log_likelihoods(self, requests: Sequence[tuple[int, AskLikelihoods]]) -> list[list[float]]:
        sequences = tokens_of(self._captioner, [request.captions for _, request in requests])
        return self._read(
            [(image, sequence) for (image, _), sequence in zip(requests, sequences, strict=True)]
        )  # fmt: skip

    def likeliest(self, requests: Sequence[tuple[int, AskLikeliest]]) -> list[Ranked]:
        sequences = tokens_of(self._captioner, [request.captions for _, request in requests])
        # In full, because each call reads them from the start.
        return search_likeliest(requests, sequences, self._read, WHOLE)

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
    def steps(self, requests: Sequence[tuple[int, Sequence[int]]]) -> list[torch.Tensor]:
        if not requests:
            return []
        memories = torch.cat([self._memories[image] for image, _ in requests])
        sequences = [tokens for _, tokens in requests]
        logits = self._captioner.logits(memories, sequences)
        return [
            logits[row, : len(tokens)].log_softmax(-1) for row, tokens in enumerate(sequences)
        ]  # fmt: skip

    @torch.inference_mode()
    def _next_words(self, image: int, request: AskNextWords) -> list[list[NextWord]]:
        if not request.prefixes:
            return []
        captioner = self._captioner
        # Without the end token, because the text continues.
        sequences = [tokens[:-1] for tokens in captioner.tokens(request.prefixes)]
        trees = captioner.trees(sequences)
        steps = captioner.through_trees(self._memories[image], trees)
        last = torch.stack([steps[tree, int(path[-1])] for tree, path in trees.paths])
        likeliest = last.topk(min(captioner.looked_at(request.count), last.shape[1]))
        return [
            captioner.whole_words(
                Beginning(tuple(tokens), so_far), values, indices, not prefix, request.count
            )
            for prefix, tokens, so_far, values, indices in zip(
                request.prefixes, sequences, trees.log_likelihoods(steps),
                likeliest.values.tolist(), likeliest.indices.tolist(), strict=True,
            )
        ]  # fmt: skip

    @torch.inference_mode()
    def _read(self, requests: AskedSequences) -> list[list[float]]:
        """For each sequence: sum of log p(token | tokens before) over all tokens but the first."""
        captioner = self._captioner
        values: list[list[float]] = []
        for image, sequences in requests:
            if not sequences:
                values.append([])
                continue
            trees = captioner.trees([sequence[:-1] for sequence in sequences])
            steps = captioner.through_trees(self._memories[image], trees)
            ends = [
                float(steps[tree, int(path[-1]), sequence[-1]])
                for sequence, (tree, path) in zip(sequences, trees.paths, strict=True)
            ]
            before = trees.log_likelihoods(steps)
            values.append([so_far + end for so_far, end in zip(before, ends, strict=True)])
        return values


def tokens_of(captioner: TokenModel, captions: Sequence[Sequence[str]]) -> list[list[list[int]]]:
    """The tokens of several lists of captions, in one call of the tokenizer."""
    tokens = iter(captioner.tokens([caption for of_image in captions for caption in of_image]))
    return [[next(tokens) for _ in of_image] for of_image in captions]
