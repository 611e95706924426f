"""The world's small BERT vocabulary, laid out like BLIP's: [DEC] and [ENC] are the last two."""

from transformers import BertTokenizerFast

from research.scenes.phrasing import vocabulary

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
TOKENS: tuple[str, ...] = (*SPECIAL, ".", ",", *vocabulary(), "[DEC]", "[ENC]")
INDEX = {token: number for number, token in enumerate(TOKENS)}
#: Maximum number of tokens that the models read, including [CLS] and [SEP].
CONTEXT = 32


def make_tokenizer() -> BertTokenizerFast:
    """A tokenizer that, once saved, `AutoTokenizer` can load."""
    return BertTokenizerFast(
        vocab=INDEX,
        do_lower_case=True,
        model_max_length=CONTEXT,
        bos_token="[DEC]",
        additional_special_tokens=["[ENC]"],
    )
