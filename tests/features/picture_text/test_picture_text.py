"""Quotations in captions, and whether the text of a picture shows them."""

import sys
from pathlib import Path

import pytest
from PIL import Image, ImageDraw, ImageFont

from backend.errors import ImageError, SettingsError
from backend.features.picture_text import measure
from backend.features.picture_text.matching import share_shown
from backend.features.picture_text.quotations import quotations
from backend.workspace import Workspace
from tests.datasets.folders import image_folder


@pytest.mark.parametrize(
    ("caption", "quoted"),
    [
        ("A sign that reads EXIT.", ["EXIT"]),
        ('A man in front of a "Fresh Fish" stall', ["Fresh Fish"]),
        ("A board says “Open” above «Fermé»", ["Open", "Fermé"]),
        ("„Zum Ochsen“ steht über der Tür", ["Zum Ochsen"]),
        ("看板に「営業中」と『本日』", ["営業中", "本日"]),
        ('门上写着"营业中"的牌子', ["营业中"]),
        ("A sign with 'NO PARKING' on it", ["NO PARKING"]),
        ("A bus labelled 42 and a van marked POLICE", ["42", "POLICE"]),
        ("A shirt that says Don't Panic in white", ["Don't Panic"]),
        ("A sign reading NO ENTRY next to a sign that says STOP", ["NO ENTRY", "STOP"]),
        ('It says "Hi", and "Hi" again', ["Hi"]),
        ("A dog's bowl and two cats' beds", []),
        ('A dog called "Rex"', []),
        ('A 12" pizza and a 14" one', []),
        ("A woman reading a book says nothing", []),
        ('An "unclosed quotation', []),
        ('"" and "…"', []),
        ("", []),
    ],
)
def test_what_a_caption_quotes(caption: str, quoted: list[str]) -> None:
    assert quotations(caption) == quoted


def test_five_hundred_quotations() -> None:
    caption = " ".join(f'"word {number}"' for number in range(500))
    assert len(quotations(caption)) == 500


@pytest.mark.parametrize(
    ("quoted", "lines", "least", "most"),
    [
        ("exit", ["EXIT"], 1, 1),
        ("Main Street", ["MAIN", "STREET"], 1, 1),
        ("Main Street", ["STREET", "MAIN"], 1, 1),
        ("O'Neill's, est. 1910", ["ONEILLS", "EST 1910"], 1, 1),
        ("Café", ["CAFE ROMA"], 1, 1),
        ("Bakery", ["BAKERV"], 0.8, 0.9),
        ("STOP", ["EXIT"], 0, 0.5),
        ("Happy Birthday", ["HAPPY"], 0.3, 0.7),
        ("STOP", [], 0, 0),
        ("STOP", ["SHOP"], 0, 0),
        ("STOP", ["TOP"], 0, 0),
        ("STOP", ["DESKTOP"], 0, 0),
        ("TOP", ["STOP"], 0, 0),
        ("ART", ["START"], 0, 0),
        ("STOP", ["ST", "OP"], 1, 1),
        ("NO", ["NOPARKING"], 1, 1),
        ("No exit", ["NO", "EXIT"], 1, 1),
        ("No exit", ["NO", "EXT"], 0.3, 0.9),
        ("42", ["42A"], 0, 0),
        ("…", ["STOP"], 0, 0),
        ("営業中", ["本日営業中"], 1, 1),
    ],
)
def test_how_far_lines_show_a_quotation(
    quoted: str, lines: list[str], least: float, most: float
) -> None:
    assert least <= share_shown(quoted, lines) <= most


def sign(text: str, angle: float = 0) -> Image.Image:
    picture = Image.new("RGB", (320, 240), "white")
    draw = ImageDraw.Draw(picture)
    draw.text((60, 100), text, "black", ImageFont.load_default(36))
    return picture.rotate(angle, fillcolor="white")


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[Image.Image]:
    """The pictures that were read, each of which says EXIT."""
    pictures: list[Image.Image] = []

    def reader(picture: Image.Image) -> list[str]:
        pictures.append(picture)
        return ["EXIT"]

    monkeypatch.setattr(measure, "_reader", lambda: reader)
    return pictures


def unreadable() -> Image.Image:
    raise ImageError("truncated")


def test_only_pictures_of_captions_that_quote_are_read(read: list[Image.Image]) -> None:
    assert measure.picture_text("A red door", unreadable) is None
    assert read == []
    assert measure.picture_text('A door with "EXIT" on it', lambda: sign("EXIT")) == 1
    half = measure.picture_text('"EXIT" next to "STOP"', lambda: sign("EXIT"))
    assert half is not None
    assert half < 0.5
    assert len(read) == 2
    with pytest.raises(ImageError):
        measure.picture_text('"EXIT"', unreadable)


def test_large_letters_are_read_from_a_small_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[tuple[int, int]] = []

    def reader(picture: Image.Image) -> list[str]:
        sizes.append(picture.size)
        return ["STOP"] if max(picture.size) <= 1_000 else ["a"]

    monkeypatch.setattr(measure, "_reader", lambda: reader)
    large = Image.new("RGB", (4_000, 3_000), "white")
    assert measure.picture_text('A sign says "STOP"', lambda: large) == 1
    assert sizes == [(4_000, 3_000), (1_000, 750)]
    assert large.size == (4_000, 3_000)


def test_without_the_library_it_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rapidocr", None)
    measure._reader.cache_clear()
    with pytest.raises(SettingsError, match="requirements-text"):
        measure.picture_text('"EXIT"', lambda: sign("EXIT"))


def test_the_number_is_stored_sorted_by_and_counted(
    workspace: Workspace, read: list[Image.Image], tmp_path: Path
) -> None:
    rows = [{"file_name": "a.png", "id": name, "caption": caption} for name, caption in (
        ("right", 'A door that says "EXIT"'), ("wrong", 'A door that says "STOP"'),
        ("silent", "A door"),
    )]  # fmt: skip
    rows.append({"file_name": "gone.png", "id": "gone", "caption": 'A door that says "EXIT"'})
    source = image_folder(tmp_path / "source", rows, ("a.png", "gone.png"))
    dataset = workspace.jobs.import_dataset(str(source)).dataset_id
    (source / "gone.png").unlink()
    report = workspace.jobs.run("measure", dataset, measure="x_picture_text")
    assert (report.measured, report.without, report.unreadable) == (2, 1, 1)


@pytest.mark.parametrize("angle", [0, 20, 180])
def test_the_library_reads_signs_upright_and_rotated(angle: float) -> None:
    pytest.importorskip("rapidocr")
    measure._reader.cache_clear()
    assert measure.picture_text('a "WET PAINT" sign', lambda: sign("Wet paint", angle)) == 1
    assert measure.picture_text('a "WET PAINT" sign', lambda: Image.new("RGB", (64, 64))) == 0
    caption = " ".join(f'"word {number}"' for number in range(500))
    value = measure.picture_text(caption, lambda: sign("Wet paint", angle))
    assert value is not None
    assert value < 0.7
