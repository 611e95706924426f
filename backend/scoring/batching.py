"""Texts of any length in batches of about equal work."""

from collections.abc import Iterator, Sequence
from typing import Any

import torch

from backend.captions import Caption

#: Padded tokens in one call of a text model: bounds memory, keeps the processor busy.
TOKENS_A_BATCH = 4096


#: Images that go through an image tower together.
IMAGES_A_BATCH = 16
#: Patches that the texts of one ITM call look at together (a base model has 577 an image).
PATCHES_A_BATCH = 32_768


def batches(
    lengths: Sequence[int], budget: int = TOKENS_A_BATCH, most: int = 1 << 30
) -> Iterator[list[int]]:
    """Indices in batches of similar length: at most `most` texts and `budget` padded tokens.

    A batch holds one text at least.

    Longest first, so that what does not fit into memory shows at once.
    """
    order = sorted(range(len(lengths)), key=lambda index: -lengths[index])
    batch: list[int] = []
    for index in order:
        full = (
            len(batch) == most or (len(batch) + 1) * lengths[batch[0] if batch else index] > budget
        )
        if batch and full:
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch


def pad(
    sequences: Sequence[Sequence[int]], filler: int, device: str
) -> tuple[torch.Tensor, torch.Tensor]:
    """Token ids and attention mask, both [texts, longest]."""
    longest = max(map(len, sequences))
    ids = torch.full((len(sequences), longest), filler, dtype=torch.long)
    mask = torch.zeros(len(sequences), longest, dtype=torch.long)
    for row, sequence in enumerate(sequences):
        ids[row, : len(sequence)] = torch.tensor(sequence)
        mask[row, : len(sequence)] = 1
    return ids.to(device), mask.to(device)


def words_within(tokenizer: Any, caption: str, context: int) -> int:
    """How many words of the caption lie wholly within the first `context` tokens.

    Special tokens count; the last place belongs to the end token.
    """
    words = Caption.parse(caption).spans
    if len(words) == 0:
        return 0
    found = tokenizer(caption, truncation=True, max_length=context, return_offsets_mapping=True)
    full = tokenizer(caption, truncation=False, return_attention_mask=False, verbose=False)
    if len(full["input_ids"]) <= context:
        return len(words)
    read = max((end for _, end in found["offset_mapping"]), default=0)
    return sum(end <= read for _, end in words)
