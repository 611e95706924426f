"""Samples of Data-Juicer as a source of pairs: chunks of text with marks for images, and turns."""

from pathlib import Path

from tests.datasets.folders import json_lines, picture, read, write


def test_each_chunk_is_a_pair(tmp_path: Path) -> None:
    picture(tmp_path / "a.png")
    picture(tmp_path / "b.png")
    rows = [
        {"id": "1", "images": ["a.png"], "text": "<__dj__image> A dog. <|__dj__eoc|>"},
        {"id": "2", "images": ["a.png", "b.png"],
         "text": "<__dj__image>\nOne. <|__dj__eoc|> Two. <__dj__image> <|__dj__eoc|>"},
        {"id": "3", "images": ["a.png", "b.png"], "text": "<__dj__image> Less. <|__dj__eoc|>"},
        {"id": "4", "images": ["a.png", "b.png"], "text": "<__dj__image><__dj__image> Both."},
    ]  # fmt: skip
    pairs, reader = read(write(tmp_path / "dj.jsonl", json_lines(rows)))
    assert [(p.id, p.caption, p.image_path.name) for p in pairs] == [
        ("1", "A dog.", "a.png"), ("2#0", "One.", "a.png"), ("2#1", "Two.", "b.png"),
    ]  # fmt: skip
    assert [p.row for p in reader.problems] == [3, 4]


def test_what_its_converter_makes_of_llava_is_read(tmp_path: Path) -> None:
    """Its converter keeps LLaVA's mark of an image, and writes turns into the text."""
    picture(tmp_path / "a.png")
    question, more = "[[human]]: <image>\nDescribe it.", "[[human]]: How many?"
    rows = [
        {"id": "2", "images": ["a.png"], "text": f"{question}\n[[gpt]]: A dog.\n <|__dj__eoc|>"},
        {"id": "3", "images": ["a.png"],
         "text": f"{question}\n[[gpt]]: A cow.\n{more}\n[[gpt]]: Two. <|__dj__eoc|>"},
        {"id": "4", "images": ["a.png"],
         "text": f"{question}\n[[gpt]]: A pig. <|__dj__eoc|>\n{more}\n[[gpt]]: Two. <|__dj__eoc|>"},
        {"id": "5", "images": [], "text": f"{question}\n[[gpt]]: Less. <|__dj__eoc|>"},
    ]  # fmt: skip
    pairs, reader = read(write(tmp_path / "dj.jsonl", json_lines(rows)))
    assert [(p.id, p.caption, p.image_path.name) for p in pairs] == [
        ("2", "A dog.\n", "a.png"), ("3", "A cow.", "a.png"), ("4", "A pig.", "a.png"),
    ]  # fmt: skip
    assert [p.row for p in reader.problems] == [4]
    alone = [{"id": "1", "images": ["a.png"], "text": "<image>\nA dog.\n <|__dj__eoc|>"}]
    pairs, _ = read(write(tmp_path / "captions.jsonl", json_lines(alone)))
    assert [(p.id, p.caption, p.image_path.name) for p in pairs] == [("1", "A dog.", "a.png")]
