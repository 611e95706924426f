"""Annotations of the VGG Image Annotator as a source of pairs: projects, JSON and CSV."""

import json
from pathlib import Path
from typing import Any

import pytest

from backend.errors import DatasetFormatError
from tests.datasets.folders import picture, read, write

PAIRS = [("A dog.", "a.png"), ("A cat.", "b.png")]


def via(caption: str, image: str) -> dict[str, Any]:
    return {"filename": image, "size": 7, "regions": [], "file_attributes": {"caption": caption}}


#: By their form: the file, and its text.
FILES: dict[str, tuple[str, str]] = {
    "VIA's CSV": (
        "via.csv",
        "filename,file_size,file_attributes,region_count,region_id,region_shape_attributes,"
        "region_attributes\n" + "".join(
            f'{i},7,"{{""caption"":""{c}""}}",2,{region},"{{""name"":""rect""}}",{{}}\n'
            for c, i in PAIRS for region in ((0, 1) if i == PAIRS[0][1] else (1,))
        ),
    ),
    "VIA": ("via.json", json.dumps({f"{i}7": via(c, i) for c, i in PAIRS})),
    "VIA, a project": ("via_project.json", json.dumps({
        "_via_settings": {"ui": {}},
        "_via_img_metadata": {f"{i}7": via(c, i) for c, i in PAIRS},
        "_via_image_id_list": ["a.png7"],
    })),
}  # fmt: skip


@pytest.mark.parametrize("form", FILES)
def test_captions_are_with_their_pictures(tmp_path: Path, form: str) -> None:
    for _, image in PAIRS:
        picture(tmp_path / image)
    pairs, reader = read(write(tmp_path / FILES[form][0], FILES[form][1]))
    assert sorted((p.caption, Path(str(p.image_path)).name) for p in pairs) == sorted(PAIRS)
    assert reader.problems == []


def test_the_picture_of_via_may_be_stated(tmp_path: Path) -> None:
    for _, image in PAIRS:
        picture(tmp_path / image)
    for form in ("VIA's CSV", "VIA"):
        name, text = FILES[form]
        pairs, _ = read(write(tmp_path / name, text), image_column="filename")
        assert len(pairs) == len(PAIRS)


def test_a_field_of_via_that_stands_twice_is_a_problem(tmp_path: Path) -> None:
    twice = json.dumps({"a.png7": via("A dog.", "a.png")}).replace(
        '{"caption":', '{"caption": "A cat.", "caption":'
    )
    picture(tmp_path / "a.png")
    with pytest.raises(DatasetFormatError, match="'caption' twice"):
        read(write(tmp_path / "via.json", twice))
