"""The world's own small BERT vocabulary, laid out as BLIP's: [DEC] and [ENC] are the last two."""

from transformers import BertTokenizerFast

from backend.lab.scenes.phrasing import vocabulary

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
TOKENS: tuple[str, ...] = (*SPECIAL, ".", ",", *vocabulary(), "[DEC]", "[ENC]")
INDEX = {token: number for number, token in enumerate(TOKENS)}
#: Longest caption in tokens, [CLS] and [SEP] included, that the models read.
CONTEXT = 32


def make_tokenizer() -> BertTokenizerFast:
    """A tokenizer that any `AutoTokenizer` can load once it is saved."""
    return BertTokenizerFast(
        vocab=dict(INDEX),
        do_lower_case=True,
        model_max_length=CONTEXT,
        bos_token="[DEC]",
        additional_special_tokens=["[ENC]"],
    )
