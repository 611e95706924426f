"""Who wrote a caption: from columns, sidecars, a card, or told."""

from pathlib import Path
from typing import Any

import pytest

from backend.datasets.caption_writers import Writer, writer_of
from backend.errors import DatasetFormatError
from tests.datasets.folders import csv_file, image_folder, json_lines, picture, read, write


def writers(path: Path, **options: Any) -> list[Writer | None]:
    pairs, _ = read(path, **options)
    return [writer_of(pair.extra) for pair in pairs]


def table(folder: Path, **columns: object) -> Path:
    row = {"file_name": "a.png", "caption": "A dog."}
    return image_folder(folder, [{**row, **columns}], ("a.png",))


@pytest.mark.parametrize(
    ("columns", "writer"),
    [
        ({"writer": "Ada"}, Writer("Ada")),
        ({"Captioner": "blip-base"}, Writer("blip-base", "model")),
        ({"model": "org/blip", "caption_prompt": "Describe it."},
         Writer("org/blip", "model", "Describe it.")),
        ({"annotator_id": 17, "caption_date": "2024-05-01"},
         Writer("17", "person", date="2024-05-01")),
        ({"writer": "Ada", "writer_kind": "person"}, Writer("Ada", "person")),
        ({"writer": ["Ada", "Bob"]}, None),
        ({"writer": True}, None),
        ({"writer": " \n "}, None),
        ({"model": "EOS R5", "make": "Canon"}, None),
        ({"prompt": "a dog, 4k"}, None),
        ({"writer": "x" * 3000}, Writer("x" * 255)),
    ],
)  # fmt: skip
def test_columns_name_the_writer_and_stay(
    tmp_path: Path, columns: dict[str, object], writer: Writer | None
) -> None:
    (pair,), _ = read(table(tmp_path / "pairs", **columns))
    assert writer_of(pair.extra) == writer
    assert {name.lower() for name in columns} <= {name.lower() for name in pair.extra}


def test_a_sidecar_names_the_writer(tmp_path: Path) -> None:
    picture(tmp_path / "a.png")
    write(tmp_path / "a.txt", "A dog.")
    write(tmp_path / "a.json", '{"captioner": "joy"}')
    assert writers(tmp_path) == [Writer("joy", "model")]


def test_rows_before_what_is_told_before_the_card(tmp_path: Path) -> None:
    rows = [{"file_name": "a.png", "caption": f"A dog {n}.", "writer": name}
            for n, name in enumerate(["Ada", "", None])]  # fmt: skip
    folder = image_folder(tmp_path / "pairs", rows, ("a.png",))
    write(folder / "README.md", "---\ncaptioner: org/blip\nconfigs:\n---\n# Dogs\n")
    card = Writer("org/blip", "model")
    assert writers(folder) == [Writer("Ada"), card, card]
    llava = Writer("llava", "model", "Describe it.", "2025")
    options = {"writer": "llava", "writer_prompt": "Describe it.", "writer_date": "2025"}
    assert writers(folder, **options) == [Writer("Ada"), llava, llava]
    assert writers(folder, writer_column="", **options) == [llava] * 3


@pytest.mark.parametrize("card", ["---\ncaptioner: [a, b]\n---\n", "---\n: {[\n---\n", ""])
def test_a_card_that_says_nothing_is_no_obstacle(tmp_path: Path, card: str) -> None:
    folder = table(tmp_path / "pairs")
    write(folder / "README.md", card)
    assert writers(folder) == [None]


def test_a_column_that_is_stated_must_exist(tmp_path: Path) -> None:
    file = csv_file(tmp_path / "t.csv", [{"image": "a.png", "caption": "A dog.", "by": "Ada"}])
    picture(tmp_path / "a.png")
    assert writers(file, writer_column="by") == [Writer("Ada")]
    with pytest.raises(DatasetFormatError, match="no column 'who'"):
        writers(file, writer_column="who")


@pytest.mark.parametrize("options", [{"writer": "a\0b"}, {"writer_prompt": "Describe it."}])
def test_what_names_no_writer_is_refused(tmp_path: Path, options: dict[str, str]) -> None:
    with pytest.raises(DatasetFormatError):
        writers(table(tmp_path / "pairs"), **options)


def test_each_row_of_json_lines_has_its_own(tmp_path: Path) -> None:
    picture(tmp_path / "a.png")
    rows = [{"image": "a.png", "caption": f"A dog {n}.", "model": f"org/m{n}"} for n in range(2)]
    file = write(tmp_path / "t.jsonl", json_lines(rows))
    assert writers(file) == [Writer(f"org/m{n}", "model") for n in range(2)]


def test_a_column_without_a_name_names_no_writer(tmp_path: Path) -> None:
    """pandas writes its index so."""
    picture(tmp_path / "a.png")
    path = csv_file(tmp_path / "rows.csv", [{"": 7, "file_name": "a.png", "caption": "A dog."}])
    ((pair,), reader) = read(path)
    assert pair.extra == {}
    assert reader.notes == []
