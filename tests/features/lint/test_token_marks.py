"""Marks of tokenizers are found, and nothing that people write is taken for one."""

import pytest

from backend.features.lint.faults import faults_of
from backend.features.lint.token_marks import has_token_marks


@pytest.mark.parametrize(
    "caption",
    [
        "<start> a red square <end>", "[CLS] a red square [SEP]", "a dog [PAD] [PAD]",
        "A red square on a table.<end_of_utterance>", "<bos>A red square.<start_of_image>",
        "A dog.<|eot_id|>", "A dog.<|im_end|>", "A dog<|endoftext|>", "<|begin_of_text|>A dog",
        "A dog.</s>", "<s> a dog", "a <unk> on a table", "a [UNK] on a table", "A dog<eos>",
        "[DEC] a dog", "[unused0] a dog", "A dog.<|reserved_special_token_12|>", "<pad><pad>a dog",
        "a \u0120dog \u0120on \u0120a \u0120beach", "A\u0120dog\u0120runs.", "A dog.\u010aIt runs.",
        "\u2581a \u2581dog \u2581runs", "A\u2581dog", "a dog play ##ing", "a do@@ g runs",
        "a</w> dog</w>", "A dog.<0x0A>It runs.", "<extra_id_0> a dog", "<loc0123><loc0456> dog",
        "A dog.<\uff5cend\u2581of\u2581sentence\uff5c>", "<image>A dog.",
        "<fake_token_around_image>",
        "A dog <START>", "startoftext <startoftext>", "<end_of_turn>", "[INST] what [/INST] a dog",
        "<|start_header_id|>assistant<|end_header_id|>A dog.", "<MORE_DETAILED_CAPTION>A dog",
        "<OD>dog", "<image_1> A dog", "<seg_3>A dog", "[gMASK]<sop>A dog", "A dog.<|im_end",
    ],
)  # fmt: skip
def test_marks_of_common_tokenizers_are_found(caption: str) -> None:
    assert has_token_marks(caption)
    assert "placeholder" in faults_of(caption)


@pytest.mark.parametrize(
    "caption",
    [
        "A <CLOSED> sign", "x <| y",
        "A sign that says [EXIT]", "x <3 y", "I <3 dogs", "A board with [OPEN] and [CLOSED] on it",
        "A heart, <3, and a smile", "a < b > c", "An arrow -> and another <-", "<b>A dog</b>",
        "The start and the end of a race", "A Canon EOS camera", "A screen shows <html>",
        "#sunset ##", "## A title", "Issue ##3 of a magazine", "a dog@home @@ noon",
        "\u0120gantija temples in Malta", "\u0120or\u0121 and \u0120anni at the beach",
        "MA\u0120\u0120URI in capitals", "\u2581\u2582\u2583\u2585\u2587 a chart of blocks",
        "A wall with \u2581\u2581\u2581 painted on it", "[3] A dog", "[sic] a dog", "A [red] dog",
        "Press |> to play", "A key with <Enter> on it", "A mask and a pad", "unknown (unk) origin",
        "A student of CLS sits in a row", "the [MASKED] singer", "A menu: <File> <Edit>",
    ],
)  # fmt: skip
def test_what_people_write_is_no_mark(caption: str) -> None:
    assert not has_token_marks(caption)
    assert "placeholder" not in faults_of(caption)
