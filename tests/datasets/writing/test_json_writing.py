"""A corrected caption is written back into its JSON; all else stays to the byte."""

import json
from pathlib import Path
from typing import Any

import pytest

from backend.datasets.export_row import ExportRow
from backend.datasets.read_options import ReadOptions
from backend.datasets.reading.dataset_reader import read_dataset
from backend.datasets.writing.dataset_writer import write_dataset
from backend.datasets.writing.json_writing import replace_value
from tests.datasets.folders import picture, read, write

IDEOGRAM = json.dumps(
    {
        "high_level_description": "A red square.",
        "elements": [{"desc": f"Side {n}.", "bbox": [0, 0, n, 1.50]} for n in range(50)],
    },
    indent=2,
)
#: JSON, its caption, the corrected one, and what changes in the JSON: (old, new).
CASES = [
    ('{"caption":"A red dog.",\n "n": 1.0}', "A red dog.", "A red cat.", ("dog", "cat")),
    (IDEOGRAM, "A red square.", "A tan square.", ("A red", "A tan")),
    ('{"a": {"b": {"caption": " A red dog. "}}}', "A red dog.", "A tan dog.", ("red", "tan")),
    (
        '{"short": "A dog.", "caption": "A dog.", "alt": "A dog."}', "A dog.", "A cat.",
        ('"caption": "A dog', '"caption": "A cat'),
    ),
    ('{"A dog.": 1, "text": "A dog."}', "A dog.", "A cat.", ('"text": "A dog', '"text": "A cat')),
    ('{"caption": "A \\u00e9\\u00e9 dog\\/cat"}', "A éé dog/cat", "A éé fox/cat", ("dog", "fox")),
    ('{"caption": "A \\ud83d\\ude00 dog"}', "A 😀 dog", "A 😀 cat", ("dog", "cat")),
    ('{"caption": "A été dog"}', "A été dog", "A été œuf", ("dog", "œuf")),
    ('{"caption": "A dog"}', "A dog", 'A "big"\ndog', ("A dog", 'A \\"big\\"\\ndog')),
    ('{"tags": ["red",  "dog"], "id": 7}', "red, dog", "red, cat", ("dog", "cat")),
    ('```json\n{"caption": "A red dog."}\n```', "A red dog.", "A tan dog.", ("red", "tan")),
]  # fmt: skip


@pytest.mark.parametrize(("text", "caption", "corrected", "change"), CASES)
def test_only_the_words_of_the_value_change(
    text: str, caption: str, corrected: str, change: tuple[str, str]
) -> None:
    assert replace_value(text, caption, caption) == text
    assert replace_value(text, caption, corrected) == text.replace(*change, 1)


@pytest.mark.parametrize(
    ("corrected", "tags"),
    [("red, 8k", ["red", "8k"]), ("a, red, dog, 8k", ["a", "red", "dog", "8k"])],
)
def test_tags_come_and_go(corrected: str, tags: list[str]) -> None:
    changed = replace_value('{"tags": ["red",  "dog", "8k"], "n": 1.0}', "red, dog, 8k", corrected)
    assert changed is not None
    assert json.loads(changed)["tags"] == tags
    assert changed.endswith('], "n": 1.0}')


@pytest.mark.parametrize("text", ['{"caption": 3}', '{"n": "A cat."}', "prose", '{"caption": "A'])
def test_what_is_not_in_it_is_not_replaced(text: str) -> None:
    assert replace_value(text, "A dog.", "A fox.") is None


@pytest.mark.parametrize("ending", ["txt", "caption", "json"])
@pytest.mark.parametrize(
    "text",
    [case[0] for case in CASES if "red" in case[1] and case[0][:6] not in ("```jso", '{"a": ')],
)
def test_an_export_with_texts_beside_pictures_has_the_same_json(
    tmp_path: Path, text: str, ending: str
) -> None:
    source, out = tmp_path / "source", tmp_path / "out"
    picture(source / "a.png")
    content = f"\ufeff{text}\r\n".encode()
    write(source / f"a.{ending}", content)
    (pair,) = read_dataset(source, ReadOptions())
    for new, expected in (("red", content), ("crimson", content.replace(b"red", b"crimson", 1))):
        caption = pair.caption.replace("red", new)
        row = ExportRow(pair.id, pair.image_path, caption, pair.caption, pair.split)
        write_dataset([row], out / new, format="sidecar", card="", source_root=source)
        (exported,) = (out / new).rglob("a.json" if ending == "json" else "a.txt")
        assert exported.read_bytes() == expected
        again, reader = read(out / new)
        assert [each.caption for each in again] == [caption]
        assert reader.problems == []


def test_json_that_differs_from_its_text_stays_apart(tmp_path: Path) -> None:
    source = tmp_path / "source"
    picture(source / "a.png")
    write(source / "a.txt", "A red dog.\n")
    values: dict[str, Any] = {"caption": "A blue dog."}
    write(source / "a.json", json.dumps(values))
    (pair,) = read_dataset(source, ReadOptions())
    row = ExportRow(pair.id, pair.image_path, "A tan dog.", pair.caption, pair.split)
    write_dataset([row], tmp_path / "out", format="sidecar", card="", source_root=source)
    assert next((tmp_path / "out").rglob("a.txt")).read_bytes() == b"A tan dog.\n"
