"""Word spans are the user's own text, whatever that text is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.engine.captions import Caption, replaced_spans

HOSTILE = [
    "", " ", "🙂🙂", "${7*6}", "<b>bold</b> <script>alert(1)</script>", "مرحبا بالعالم",
    "日本の犬 runs", "a\u0000b", "a" * 10_000, "it's a well-known cat—no, dog!", "one\ntwo\tthree",
]  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE)
def test_spans_cut_the_words_out_of_the_text(text: str) -> None:
    caption = Caption.parse(text)
    assert caption.words == tuple(text[a:b] for a, b in caption.spans)
    assert "".join(caption.chunks) == (text if len(caption) else "")


@given(st.text(max_size=80))
def test_chunks_tile_any_text_and_changing_nothing_keeps_it(text: str) -> None:
    caption = Caption.parse(text)
    whole = text if len(caption) else ""
    assert "".join(caption.chunks) == whole
    assert caption.without([]) == whole.strip()
    assert caption.without(range(len(caption))) == ""
    assert caption.replace(dict(enumerate(caption.words))) == whole.strip()


def test_deleting_a_word_takes_its_punctuation_along() -> None:
    caption = Caption.parse("A man, tall and thin, waves.")
    assert caption.without([1]) == "A tall and thin, waves."
    assert caption.replace({5: "runs"}) == "A man, tall and thin, runs."
    assert caption.replace({0: ""}) == "man, tall and thin, waves."


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("日本の犬 runs", "日本 の 犬 runs"),
        ("一只红色的狗，坐在长椅上。", "一 只 红色 的 狗 坐 在 长椅 上"),
        ("公园里有两辆 BMW", "公园 里 有 两 辆 BMW"),
        ("赤い自転車に乗る男性。", "赤い 自転車 に 乗る 男性"),
        ("𠮷𠮷", "𠮷 𠮷"),
    ],
)
def test_writing_without_spaces_is_divided_into_words(text: str, words: str) -> None:
    assert Caption.parse(text).words == tuple(words.split())


def test_words_without_spaces_are_replaced_and_deleted_where_they_stand() -> None:
    caption = Caption.parse("一只红色的狗，坐在长椅上。")
    assert caption.replace({2: "蓝色"}) == "一只蓝色的狗，坐在长椅上。"
    assert caption.without([2, 3]) == "一只狗，坐在长椅上。"
    assert replaced_spans(caption.text, "一只蓝色的狗，坐在长椅上。") == {(2, 4)}
