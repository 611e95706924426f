"""A byte-level BPE tokenizer for the very small language models; it can encode any text."""

from collections.abc import Sequence
from typing import Any


def byte_pair_tokenizer(
    texts: Sequence[str], vocabulary: int, special: Sequence[str], end: str, **named: str
) -> Any:
    """Train a fast tokenizer on `texts`; "<pad>" and `end` must be among the `special` tokens.

    `vocabulary`: its size; `named`: additional special tokens by their attribute names.
    """
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    built = Tokenizer(models.BPE())
    built.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    built.decoder = decoders.ByteLevel()
    built.train_from_iterator(
        texts,
        trainers.BpeTrainer(
            vocab_size=vocabulary,
            special_tokens=list(special),
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        ),
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=built, pad_token="<pad>", eos_token=end, extra_special_tokens=named
    )
