"""The world's small BERT vocabulary, laid out like BLIP's: [DEC] and [ENC] are the last two."""

from collections.abc import Sequence

from transformers import BertTokenizerFast

from research.scenes.phrasing import vocabulary

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
TOKENS: tuple[str, ...] = (*SPECIAL, ".", ",", *vocabulary(), "[DEC]", "[ENC]")
INDEX = {token: number for number, token in enumerate(TOKENS)}
#: Maximum number of tokens that the models read, including [CLS] and [SEP].
CONTEXT = 32


def make_tokenizer(tokens: Sequence[str] = TOKENS) -> BertTokenizerFast:
    """A tokenizer that, once saved, `AutoTokenizer` can load; `tokens` are laid out like TOKENS."""
    return BertTokenizerFast(
        vocab={token: number for number, token in enumerate(tokens)},
        do_lower_case=True,
        model_max_length=CONTEXT,
        bos_token="[DEC]",
        additional_special_tokens=["[ENC]"],
    )
