"""What of a text is the caption: lists as text, line ends and byte order marks, picture markers."""

from pathlib import Path

import pytest

from backend.datasets.export_row import ExportRow
from backend.datasets.writing.dataset_writer import write_dataset
from tests.datasets.folders import encoded, make_tar, picture, read, write
from tests.fixtures.features import needs

#: A caption in a file, and what is read of it.
FILES = {b"A dog.\n": "A dog.", b"A dog.\r\n": "A dog.", b"\xef\xbb\xbfA dog.": "A dog.",
         b"A dog.\n\nA cat.\n": "A dog.\n\nA cat.", b" A dog. \n": " A dog. "}  # fmt: skip


@pytest.mark.parametrize("content", FILES)
def test_a_caption_file_reads_alike_in_a_tar_and_beside_a_picture(
    tmp_path: Path, content: bytes
) -> None:
    picture(tmp_path / "side" / "a.png")
    write(tmp_path / "side" / "a.txt", content)
    make_tar(tmp_path / "tar" / "0.tar", {"a.png": encoded(), "a.txt": content})
    for source in ("side", "tar"):
        assert [pair.caption for pair in read(tmp_path / source)[0]] == [FILES[content]]


@pytest.mark.parametrize("format", ["webdataset", "sidecar", "imagefolder", "jsonl", "csv", "coco",
                                    pytest.param("conversations", marks=needs("conversations")),
                                    "parquet"])  # fmt: skip
def test_marks_and_line_ends_of_captions_survive_every_export(tmp_path: Path, format: str) -> None:
    image = picture(tmp_path / "source" / "a.png")
    captions = ["\ufeffA dog.", "\ufeff\ufeffA dog.", "A dog.\n", "A dog.\r\n", "\nA\rdog.\x85",
                '["A dog."]', "<image>\nA dog."]  # fmt: skip
    every = [ExportRow(str(n), image, text, "") for n, text in enumerate(captions)]
    out = tmp_path / "source" / "out"
    write_dataset(every, out, format=format, card="", source_root=image.parent)
    table = next(iter([*out.glob("captions_*.json"), *out.glob("data.*")]), out)
    pairs, reader = read(table, image_root=None if table == out else image.parent)
    assert ([pair.caption for pair in pairs], reader.problems) == (captions, [])


def test_the_card_says_what_a_trainer_reads_of_several_lines(tmp_path: Path) -> None:
    image = picture(tmp_path / "source" / "a.png")
    every = [ExportRow(str(n), image, text, "") for n, text in enumerate(["A\nb", "\nb", "c"])]
    write_dataset(every, tmp_path / "out", format="sidecar", card="", source_root=image.parent)
    assert "2 captions have several lines, and the first of 1 is empty" in (
        tmp_path / "out" / "README.md"
    ).read_text("utf-8")
