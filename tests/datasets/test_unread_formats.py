"""Formats that are not read are named, and no column of theirs is asked for."""

import json
from pathlib import Path

import pytest

from backend.errors import UnsupportedFormat
from tests.datasets.folders import picture, read, write


@pytest.mark.parametrize(
    ("files", "name"),
    [
        ({"train.beton": "x"}, "FFCV"),
        ({"train-00000.tfrecord": "x"}, "TFRecord"),
        ({"data.mdb": "x", "lock.mdb": "x"}, "LMDB"),
    ],
)
def test_the_format_is_named(tmp_path: Path, files: dict[str, str], name: str) -> None:
    for path, content in files.items():
        write(tmp_path / "set" / path, content)
    with pytest.raises(UnsupportedFormat) as refusal:
        read(tmp_path / "set")
    assert name in str(refusal.value)
    assert not refusal.value.remedies


@pytest.mark.parametrize("stray", ["features.h5", "cache.mdb"])
def test_a_stray_file_beside_captions_is_no_format(tmp_path: Path, stray: str) -> None:
    picture(tmp_path / "a.png")
    write(tmp_path / "a.txt", "A dog.")
    write(tmp_path / stray, "x")
    assert [pair.caption for pair in read(tmp_path)[0]] == ["A dog."]


def test_an_index_of_pictures_is_a_table(tmp_path: Path) -> None:
    picture(tmp_path / "a.png")
    write(tmp_path / "index.json", json.dumps([{"image": "a.png", "caption": "A dog."}]))
    assert [pair.caption for pair in read(tmp_path / "index.json")[0]] == ["A dog."]
