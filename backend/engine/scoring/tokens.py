"""Captions to tokens and back, through a fast Hugging Face tokenizer."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from backend.engine.captions import Caption
from backend.engine.scoring.protocol import BoolArray, Tokens


@dataclass
class HubReader:
    """A `PreTrainedTokenizerFast` with the model's context.

    `context` includes the two special tokens around a caption. `vocabulary` is the number of rows
    of the model's embedding table, which may exceed the tokenizer's vocabulary.
    """

    tokenizer: Any
    context: int
    vocabulary: int

    def tokenise(self, captions: Sequence[str]) -> list[Tokens]:
        if not captions:
            return []
        encoded = self.tokenizer(
            list(captions),
            add_special_tokens=False,
            truncation=True,
            max_length=self.context - 2,
            return_attention_mask=False,
        )
        return [tuple(ids) for ids in encoded["input_ids"]]

    def spans(self, caption: str) -> list[tuple[int, int]]:
        encoded = self.tokenizer(
            caption,
            add_special_tokens=False,
            truncation=True,
            max_length=self.context - 2,
            return_offsets_mapping=True,
        )
        return [(int(start), int(end)) for start, end in encoded["offset_mapping"]]

    def decode(self, tokens: Tokens) -> str:
        return str(self.tokenizer.decode(list(tokens), skip_special_tokens=True)).strip()

    def words_read(self, caption: str) -> int:
        return words_within(caption, self.spans(caption), self.context - 2)

    def replaceable(self, whole_words: bool) -> BoolArray:
        allowed = np.zeros(self.vocabulary, np.bool_)
        known = self.tokenizer.get_vocab()
        special, mark = set(self.tokenizer.all_special_ids), mark_of(known)
        for token, number in known.items():
            if number in special or number >= self.vocabulary or _is_placeholder(token):
                continue
            allowed[number] = not whole_words or is_word(token, mark)
        return allowed


def mark_of(vocabulary: Collection[str]) -> str:
    """How a vocabulary marks whole words: CLIP by a suffix, SigLIP by a prefix, BERT not at all."""
    return next((mark for mark in ("a</w>", "▁a") if mark in vocabulary), "").replace("a", "")


def is_word(token: str, mark: str) -> bool:
    """Whether a vocabulary entry is a complete word.

    >>> is_word("dog</w>", "</w>"), is_word("do", "</w>"), is_word("dog", ""), is_word("##ing", "")
    (True, False, True, False)
    """
    bare = token.removesuffix("</w>").removeprefix("▁")
    return mark in token and bare.isalpha()


def _is_placeholder(token: str) -> bool:
    return token.startswith("[") and token.endswith("]") and len(token) > 2


def words_within(caption: str, read: Sequence[tuple[int, int]], most: int) -> int:
    """How many words of the caption are fully covered by the token spans `read`.

    With fewer than `most` tokens nothing was truncated, so every word counts as read, even one that
    the tokenizer discards.
    """
    words = Caption.parse(caption).spans
    if len(read) < most:
        return len(words)
    end_of_text = max((end for _, end in read), default=0)
    return sum(end <= end_of_text for _, end in words)
