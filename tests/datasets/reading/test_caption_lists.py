"""Lists in a caption column: several captions, the tokens of one, or its tags."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from backend.datasets.reading.caption_lists import form_of, form_of_column
from backend.datasets.reading.dataset_reader import DatasetReader
from backend.datasets.reading.row_pairs import SourcePair
from backend.datasets.reading.token_texts import join_tokens
from backend.errors import DatasetFormatError
from tests.datasets.folders import csv_file, encoded, json_lines, make_tar, picture, read, write

TOKENS = ["A", "dog", "runs", ",", "and", "a", "cat", "does", "n't", "."]
SENTENCE = "A dog runs, and a cat doesn't."
TAGS = ["1girl", "red", "simple background", "solo", "looking at viewer"]


def lines(
    folder: Path, cells: list[Any], column: str = "caption", **options: Any
) -> tuple[list[SourcePair], DatasetReader]:
    """The pairs of JSON lines with these cells, the n-th with the id n."""
    picture(folder / "a.png")
    rows = [{"image": "a.png", "id": str(n), column: cell} for n, cell in enumerate(cells)]
    return read(write(folder / "t.jsonl", json_lines(rows)), **options)


@pytest.mark.parametrize(
    ("cell", "captions"),
    [
        (TOKENS, {"0": SENTENCE}),
        ([TOKENS, ["Two", "pets", "in", "a", "park"]],
         {"0#0": SENTENCE, "0#1": "Two pets in a park"}),
        ([{"id": n, "text": token} for n, token in enumerate(TOKENS)], {"0": SENTENCE}),
        ({"tokens": ["dog", "runs"]}, {"0": "dog runs"}),
        ([{"tokens": TOKENS}, {"tokens": ["dog"]}], {"0#0": SENTENCE, "0#1": "dog"}),
        ([{"tokens": TOKENS, "raw": "A dog  runs."}], {"0#0": "A dog  runs."}),
        ({"en": TOKENS}, {"0": SENTENCE}),
        (["[CLS]", "a", "surf", "##er", "[SEP]"], {"0": "a surfer"}),
        (["▁A", "▁sur", "fer", "."], {"0": "A surfer."}),
        (["一", "只", "狗", "。"], {"0": "一只狗。"}),
        (TAGS, {"0": ", ".join(TAGS)}),
        (["long_hair", "smile"], {"0": "long_hair, smile"}),
        ([{"tag": "dog", "score": 0.9}, {"tag": "cat", "score": 0.8}], {"0": "dog, cat"}),
        (["A dog.", "A cat."], {"0#0": "A dog.", "0#1": "A cat."}),
        (["dog"], {"0#0": "dog"}),
        ([["dog"], ["cat"]], {"0#0": "dog", "0#1": "cat"}),
        (["狗在草地上跑步", "一只棕色的狗在跑步"],
         {"0#0": "狗在草地上跑步", "0#1": "一只棕色的狗在跑步"}),
    ],
)  # fmt: skip
def test_what_a_list_is_follows_from_its_form(
    tmp_path: Path, cell: Any, captions: dict[str, str]
) -> None:
    pairs, reader = lines(tmp_path, [cell])
    assert {pair.id: pair.caption for pair in pairs} == captions
    assert reader.problems == []


@pytest.mark.parametrize(
    ("separator", "between"),
    [
        ("|", " | "),
        ("###", "###"),
        ("tab", "\t"),
        ("\\n", "\n"),
        (" / ", " / "),
        ("<sep>", "<sep>"),
    ],
)
def test_captions_in_one_text_are_several_where_the_separator_is_stated(
    tmp_path: Path, separator: str, between: str
) -> None:
    cells = [between.join(("A dog runs", "A cat sits", "")), "A cow", ["A|hen", "A pig"]]
    pairs, reader = lines(tmp_path, cells, captions_separator=separator)
    assert {pair.id: pair.caption for pair in pairs} == {
        "0#0": "A dog runs", "0#1": "A cat sits", "1#0": "A cow", "2#0": "A|hen", "2#1": "A pig",
    }  # fmt: skip
    assert reader.problems == []
    assert any("1 texts" in note for note in reader.notes)
    (first, *_), _ = lines(tmp_path, cells)
    assert first.caption == cells[0]


@pytest.mark.parametrize("form", ["json", "python", "numpy", "nested", "parquet", "tar"])
def test_tokens_are_joined_in_every_form_of_a_list(tmp_path: Path, form: str) -> None:
    source = tmp_path / "t"
    if form == "parquet":
        picture(source / "a.png")
        table = pa.table({"image": ["a.png"], "caption": [TOKENS]})
        pq.write_table(table, source / "t.parquet")
    elif form == "tar":
        make_tar(
            source / "0.tar",
            {"a.png": encoded(), "a.json": json.dumps({"caption": TOKENS}).encode()},
        )
    else:
        picture(source / "a.png")
        text = json.dumps(TOKENS) if form == "json" else repr(TOKENS)
        text = text.replace(", ", "\n ") if form == "numpy" else text
        text = f"[{text}]" if form == "nested" else text
        csv_file(source / "t.csv", [{"image": "a.png", "caption": text}])
    pairs, reader = read(source)
    assert ([pair.caption for pair in pairs], reader.problems) == ([SENTENCE], [])
    assert any("tokens" in note for note in reader.notes)


def test_the_text_beside_its_tokens_is_preferred(tmp_path: Path) -> None:
    picture(tmp_path / "a.png")
    row = {"image": "a.png", "caption": TOKENS, "raw": "A dog  runs."}
    (pair,), _ = read(write(tmp_path / "t.jsonl", json_lines([row])))
    assert (pair.caption, pair.extra) == ("A dog  runs.", {"caption": TOKENS})
    (pair,), _ = read(tmp_path / "t.jsonl", caption_column="caption")
    assert pair.caption == SENTENCE
    rows = [{"image": "a.png", "tokens": [TOKENS, TOKENS], "raw": ["A dog.", "A dog!"]}]
    pairs, _ = read(write(tmp_path / "t.jsonl", json_lines(rows)))
    assert [pair.caption for pair in pairs] == ["A dog.", "A dog!"]


def test_the_whole_column_decides_and_rows_against_it_are_left_out(tmp_path: Path) -> None:
    cells = [*[TOKENS] * 12, ["dog"], ["dog", "cat"], "A text.", ["A dog runs.", "A cat sits."] * 2]
    pairs, reader = lines(tmp_path, cells)
    assert [pair.caption for pair in pairs[12:]] == ["dog", "dog cat", "A text."]
    assert [(problem.row, problem.kind) for problem in reader.problems] == [(16, "unusable row")]
    pairs, reader = lines(tmp_path, cells, lists="tokens")
    assert (len(pairs), reader.problems) == (16, [])


@pytest.mark.parametrize(
    "cells", [[["dog", "cat"]], [TOKENS, ["A dog.", "A cat."]], [["red square", "blue sky"]]]
)
def test_what_the_form_leaves_open_is_asked(tmp_path: Path, cells: list[Any]) -> None:
    with pytest.raises(DatasetFormatError) as refusal:
        lines(tmp_path, cells)
    assert "--lists" in refusal.value.remedies["terminal"]
    assert "'dog'" in str(refusal.value) or "'red square'" in str(refusal.value)
    texts = sum(map(len, cells))
    for form, number in (("tokens", len(cells)), ("tags", len(cells)), ("captions", texts)):
        pairs, reader = lines(tmp_path, cells, lists=form)
        assert len(pairs) + len(reader.problems) == number
        assert {problem.kind for problem in reader.problems} <= {"repeated pair"}


@pytest.mark.parametrize(
    ("column", "captions"),
    [("captions", ["dog", "cat"]), ("tokens", ["dog cat"]), ("tags", ["dog, cat"])],
)
def test_what_the_form_leaves_open_the_name_decides(
    tmp_path: Path, column: str, captions: list[str]
) -> None:
    pairs, _ = lines(tmp_path, [["dog", "cat"]], column)
    assert [pair.caption for pair in pairs] == captions


def test_numbers_of_tokens_are_no_captions(tmp_path: Path) -> None:
    pairs, reader = lines(tmp_path, [[101, 1037, 102], "A dog."])
    assert [pair.caption for pair in pairs] == ["A dog."]
    assert [problem.row for problem in reader.problems] == [1]


def test_karpathys_sentences_may_have_only_tokens(tmp_path: Path) -> None:
    picture(tmp_path / "a.jpg")
    images = [{"filename": "a.jpg", "sentences": [{"tokens": ["a", "dog"]}, {"raw": "A cat."}]}]
    path = write(tmp_path / "dataset_coco.json", json.dumps({"images": images}))
    assert [pair.caption for pair in read(path)[0]] == ["a dog", "A cat."]


def test_tags_by_picture_are_one_caption(tmp_path: Path) -> None:
    picture(tmp_path / "a.png")
    path = write(tmp_path / "meta_cap.json", json.dumps({"a.png": {"tags": ["dog", "cat"]}}))
    assert [pair.caption for pair in read(path)[0]] == ["dog, cat"]


@pytest.mark.parametrize(
    ("tokens", "text"),
    [
        (["He", "said", '"', "hi", '"', "(", "twice", ")", "!"], 'He said "hi" (twice)!'),
        (["``", "Hi", "''", "-LRB-", "x", "-RRB-"], '"Hi" (x)'),
        (["The", "dog", "'s", "$", "5", "bone", ":", "ca", "n't"], "The dog's $5 bone: can't"),
        (["ĠA", "Ġcaf", "Ã©"], "A café"),
        (["a</w>", "surf", "er</w>", ".</w>"], "a surfer."),
        (["un@@", "believ@@", "able", "dog"], "unbelievable dog"),
        (["▁Ein", "▁gro", "ßer", "▁Hund"], "Ein großer Hund"),
        (["<start>", "a", "dog", "<end>"], "a dog"),
        (["COCO", "图", "片", "，", "一", "只", "dog"], "COCO 图片，一只 dog"),
        (list("A dog."), "A dog."),
        (["", "a", " dog "], "a dog"),
        ([], ""),
    ],
)  # fmt: skip
def test_tokens_are_joined_as_text_is_written(tokens: list[str], text: str) -> None:
    assert join_tokens(tokens) == text


def test_tags_of_single_words_are_told_from_tokens_over_the_column() -> None:
    assert form_of(["dog", "grass", "park"]) is None
    assert (
        form_of_column([["1girl", "solo"], ["red_hair", "smile"], ["solo", "smile"]], "x") == "tags"
    )
    assert form_of_column([["a", "dog"], ["brown", "dog"], ["the", "sea"]], "x") == "tokens"
    assert form_of_column([["a", "dog"], ["1girl", "solo"]], "tags") is None


def test_a_shard_that_leaves_it_open_is_read_like_those_before(tmp_path: Path) -> None:
    for number, tokens in enumerate((TOKENS, ["dog", "cat"])):
        table = pa.table({"image": [{"bytes": encoded()}], "caption": [tokens]})
        pq.write_table(table, tmp_path / f"train-0000{number}-of-00002.parquet")
    pairs, reader = read(tmp_path)
    assert ([pair.caption for pair in pairs], reader.problems) == ([SENTENCE, "dog cat"], [])
    table = pa.table({"image": [{"bytes": encoded()}], "caption": [["A dog."]]})
    pq.write_table(table, tmp_path / "train-00000-of-00002.parquet")
    pairs, reader = read(tmp_path)
    assert ([pair.caption for pair in pairs], len(reader.problems)) == (["A dog."], 1)


def texts(folder: Path, cells: list[str]) -> tuple[list[str], DatasetReader]:
    """The captions of a CSV file with these cells."""
    picture(folder / "a.png")
    rows = [{"image": "a.png", "caption": cell} for cell in cells]
    pairs, reader = read(csv_file(folder / "t.csv", rows))
    return [pair.caption for pair in pairs], reader


@pytest.mark.parametrize(
    "cell", ['["A dog.", "A cat."]', "['A dog.' 'A cat.']", "['A dog.', 'A cat.']"]
)
@pytest.mark.parametrize("count", [0, 3, 40])
def test_each_cell_tells_whether_it_is_a_list(tmp_path: Path, cell: str, count: int) -> None:
    plain = [f"Dog {n} runs." for n in range(count)]
    captions, reader = texts(tmp_path, [*plain, cell])
    assert captions == [*plain, "A dog.", "A cat."]
    assert (reader.problems, bool(reader.notes)) == ([], True)


@pytest.mark.parametrize(
    "cell", ["['A dog.' 'A cat.' ... 'A bird.']", '["A dog.", "A ca', "['A dog.', 'A cat.'"]
)
def test_a_list_of_which_a_part_is_gone_is_no_caption(tmp_path: Path, cell: str) -> None:
    captions, reader = texts(tmp_path, ["A dog.", cell])
    assert captions == ["A dog."]
    assert [(problem.row, problem.kind) for problem in reader.problems] == [(3, "unusable row")]


def test_brackets_and_quotes_alone_make_no_list(tmp_path: Path) -> None:
    cells = ['["Stop"] on a sign', "[laughs]", "['til dawn", "[a dog, a cat]", '"A", "B"', "['A'"]
    captions, reader = texts(tmp_path, cells)
    assert (captions, reader.problems) == (cells, [])


def test_a_list_in_a_text_beside_a_picture_is_one(tmp_path: Path) -> None:
    for name, text in (("a", '["A dog.", "A cat."]'), ("b", "A bird."), ("c", "['A dog.', 'A ca")):
        picture(tmp_path / "s" / f"{name}.png")
        write(tmp_path / "s" / f"{name}.txt", text)
    pairs, reader = read(tmp_path / "s")
    assert [pair.caption for pair in pairs] == ["A dog.", "A cat.", "A bird."]
    assert [problem.kind for problem in reader.problems] == ["unusable row"]
