"""Word spans are the user's own text, whatever that text is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.engine.captions import Caption

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


def test_unspaced_writing_is_split_into_characters() -> None:
    assert Caption.parse("日本の犬 runs").words == ("日", "本", "の", "犬", "runs")
