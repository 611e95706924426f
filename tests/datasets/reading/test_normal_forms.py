"""Names that differ in their normal form alone, as between macOS and Linux, are one name."""

import unicodedata
from collections.abc import Callable
from itertools import permutations
from pathlib import Path

import pytest

from backend.datasets.export_row import ExportRow
from backend.datasets.writing.dataset_writer import write_dataset
from tests.datasets.folders import (
    csv_file,
    encoded,
    json_lines,
    make_tar,
    picture,
    read,
    write,
)

#: Letters with accents, Hangul, Vietnamese with two marks, Japanese with a voiced mark.
NAMES = ["café", "한국어", "Việt", "がぎ", "Ångström-Ä"]
FORMS = [*permutations(("NFC", "NFD"))]


def in_form(form: str, name: str) -> str:
    return unicodedata.normalize("NFD" if form == "NFD" else "NFC", name)


def sidecar(folder: Path, image: str, text: str, caption: str) -> Path:
    picture(folder / "süb" / f"{image}.png")
    write(folder / "süb" / f"{text}.txt", caption)
    return folder


def img2dataset(folder: Path, image: str, text: str, caption: str) -> Path:
    picture(folder / f"{image}.png")
    write(folder / f"{text}.json", json_lines([{"caption": caption}]))
    return folder


def table(folder: Path, image: str, text: str, caption: str) -> Path:
    picture(folder / image / f"{image}.png")
    row = {"file_name": f"{text}/{text}.png", "caption": caption}
    return csv_file(folder / "pairs.csv", [row])


def tar(folder: Path, image: str, text: str, caption: str) -> Path:
    members = {f"{image}.png": encoded(), f"{text}.txt": caption.encode()}
    return make_tar(folder / "x.tar", members)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("image_form", "text_form"), FORMS)
@pytest.mark.parametrize("source", [sidecar, img2dataset, table, tar])
def test_a_picture_and_its_text_are_one_sample(
    tmp_path: Path, source: Callable[..., Path], image_form: str, text_form: str, name: str
) -> None:
    image = in_form(image_form, name)
    text = in_form(text_form, name)
    pairs, reader = read(source(tmp_path / "source", image, text, f"A {name}."))
    assert ([pair.caption for pair in pairs], reader.problems) == ([f"A {name}."], [])


def test_two_pictures_whose_names_differ_in_form_keep_their_own_texts(tmp_path: Path) -> None:
    for form in ("NFC", "NFD"):
        name = in_form(form, "café")
        picture(tmp_path / f"{name}.png", (8 if form == "NFC" else 9, 8))
        write(tmp_path / f"{name}.txt", form)
    pairs, reader = read(tmp_path)
    forms = {p.caption: unicodedata.is_normalized("NFC", p.image_path.name) for p in pairs}
    assert (forms, reader.problems) == ({"NFC": True, "NFD": False}, [])
    out, root = tmp_path / "out", tmp_path
    every = [ExportRow(pair.id, pair.image_path, pair.caption, "") for pair in pairs]
    write_dataset(every, out, format="imagefolder", card="", source_root=root)
    names = [path.name for path in (out / "train" / "images").iterdir()]
    assert len({unicodedata.normalize("NFC", name) for name in names}) == 2
