"""Text files with a picture and a caption on each line, as Flickr8k has them."""

from pathlib import Path

import pytest

from backend.errors import DatasetFormatError
from tests.datasets.folders import picture, read, write


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("captions.txt", 'image,caption\na.jpg,A dog .\na.jpg,"A dog, running ."\nb.jpg,A cat\n'),
        ("captions.txt", "a.jpg,A dog .\na.jpg,A dog, running .\nb.jpg,A cat"),
        ("Flickr8k.token.txt",
         "a.jpg#0\tA dog .\r\na.jpg#1\tA dog, running .\r\nb.jpg#0\tA cat\r\n"),
        ("captions.txt",
         "image| number| caption\na.jpg| 0|A dog .\na.jpg|1|A dog, running .\nb.jpg|0|A cat"),
        ("captions.txt", "a.jpg: A dog .\na.jpg: A dog, running .\nb.jpg: A cat\n"),
        ("labels.txt", "a.jpg\tA dog .\na.jpg\tA dog, running .\nb.jpg\tA cat\n"),
        ("train.txt", "a.jpg A dog .\na.jpg A dog, running .\nb.jpg A cat\n"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("folder", ["Images", ""])
@pytest.mark.parametrize("is_file", [True, False])
def test_captions_are_listed_by_picture(
    tmp_path: Path, name: str, text: str, folder: str, is_file: bool
) -> None:
    for size, stem in enumerate("ab"):
        picture(tmp_path / folder / f"{stem}.jpg", (8, 8 + size))
    write(tmp_path / name, text)
    pairs, reader = read(tmp_path / name if is_file else tmp_path)
    assert [(pair.image_path.name, pair.caption) for pair in pairs] == [
        ("a.jpg", "A dog ."), ("a.jpg", "A dog, running ."), ("b.jpg", "A cat"),
    ]  # fmt: skip
    assert reader.problems == []


def test_a_line_without_a_picture_is_reported(tmp_path: Path) -> None:
    picture(tmp_path / "a.jpg")
    write(tmp_path / "captions.txt", "image,caption\na.jpg,A dog.\nno picture here\n")
    pairs, reader = read(tmp_path)
    assert [pair.caption for pair in pairs] == ["A dog."]
    assert [problem.row for problem in reader.problems] == [3]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("captions.txt", "These are the captions of my pictures.\n"),
        ("val.txt", "a.jpg 65\na.jpg 970\n"),
        ("boxes.txt", "a.jpg dog 3 14 15 92.1\na.jpg 2 7 1 8 0\n"),
        ("notes.txt", "Notes.\nOf a.jpg nobody has asked us so far.\nNor of others.\n"),
    ],
)
def test_another_text_is_no_list(tmp_path: Path, name: str, text: str) -> None:
    picture(tmp_path / "a.jpg")
    write(tmp_path / name, text)
    for source in (tmp_path, tmp_path / name):
        with pytest.raises(DatasetFormatError):
            read(source)
