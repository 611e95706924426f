"""Datasets that contain their images: read in place, written, and read again unchanged."""

import json
import re
import unicodedata
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.datasets.cells import escape, unescape
from backend.datasets.export_row import ExportRow
from backend.datasets.safe_files.containers import Member, locate, relative_name
from backend.datasets.safe_files.images import image_size, load_image
from backend.datasets.writing.dataset_writer import write_dataset
from backend.errors import DatasetFormatError, ImageError, UnsafePath
from tests.datasets.folders import (
    encoded,
    json_lines,
    make_tar,
    picture,
    read,
    tar_bytes,
    write,
    zip_bytes,
)  # fmt: skip


def test_a_webdataset_shard_is_read_without_unpacking(tmp_path: Path) -> None:
    make_tar(
        tmp_path / "train" / "00000.tar",
        {
            "a/0001.png": encoded((12, 8)),
            "a/0001.txt": "A dög.".encode(),
            "a/0001.json": json.dumps({"licence": "by", "width": 12}).encode(),
            "0002.jpg": encoded((5, 9), format="JPEG"),
            "0002.json": json.dumps({"caption": "From JSON"}).encode(),
            "0003.txt": b"no image",
            "0004.png": encoded(),
            "0004.txt": b"\xff\xfe broken",
            "0005.png": b"no png",
            "0005.txt": b"broken image",
        },
    )
    pairs, reader = read(tmp_path)
    assert [(p.id, p.caption, p.split) for p in pairs] == [
        ("a/0001", "A dög.", "train"), ("0002", "From JSON", "train"),
    ]  # fmt: skip
    assert pairs[0].extra == {"licence": "by", "width": 12}
    assert image_size(pairs[0].image_path) == (12, 8)
    assert load_image(pairs[1].image_path).size == (5, 9)
    assert [(p.row, p.kind) for p in reader.problems] == [
        (3, "no image"), (4, "unreadable row"), (5, "unreadable image"),
    ]  # fmt: skip
    # The name leads back to the image.
    name = relative_name(pairs[0].image_path, tmp_path)
    assert load_image(locate(tmp_path, name)).size == (12, 8)


@pytest.mark.parametrize(
    "given", ["../outside.tar!/0+10/x.png", "/etc/hosts!/0+10/x.png", "link.tar!/0+10/x.png"]
)
def test_a_container_stays_inside_the_root(tmp_path: Path, given: str) -> None:
    root = tmp_path / "root"
    make_tar(tmp_path / "outside.tar", {"x.png": encoded()})
    root.mkdir()
    (root / "link.tar").symlink_to(tmp_path / "outside.tar")
    with pytest.raises(UnsafePath):
        locate(root, given)


@pytest.mark.parametrize(
    "inner", ["0+99999999999/x.png", "x+y/z", "-5+10/x", "999999+10/x", "", "0+600000000/x.png"]
)
def test_an_invalid_position_in_a_container_is_reported(tmp_path: Path, inner: str) -> None:
    archive = make_tar(tmp_path / "s.tar", {"x.png": encoded()})
    with pytest.raises(ImageError):
        load_image(Member(archive, inner))


def test_a_zip_with_metadata_and_a_zip_named_by_a_table_are_read(tmp_path: Path) -> None:
    names = (("images/a.png", "A dog."), ("images/none.png", "Gone."))
    lines = json_lines({"file_name": name, "caption": caption} for name, caption in names)
    members = {"set/images/a.png": encoded((7, 7)), "set/metadata.jsonl": lines.encode()}
    pairs, reader = read(write(tmp_path / "data.zip", zip_bytes(members)))
    assert [(p.caption, image_size(p.image_path)) for p in pairs] == [("A dog.", (7, 7))]
    assert len(reader.problems) == 1
    table = write(tmp_path / "t.csv", "image,caption\ndata.zip!/set/images/a.png,A cat.\n")
    pairs, _ = read(table)
    assert [(p.caption, image_size(p.image_path)) for p in pairs] == [("A cat.", (7, 7))]
    with pytest.raises(DatasetFormatError, match="not a zip"):
        read(write(tmp_path / "no.zip", b"PK nothing"))


@pytest.mark.parametrize("name", ["filename", "file_name"])
def test_an_embedded_image_takes_precedence_over_its_file_name(tmp_path: Path, name: str) -> None:
    """As the `datasets` library writes it, a common layout on the hub."""
    import datasets

    rows = [
        {name: f"was-{n}.png", "image": {"bytes": encoded((3 + n, 5)), "path": f"was-{n}.png"},
         "caption": f"caption {n}"}
        for n in range(3)
    ]  # fmt: skip
    features = datasets.Features(
        {name: datasets.Value("string"), "image": datasets.Image(),
         "caption": datasets.Value("string")}
    )  # fmt: skip
    made = datasets.Dataset.from_list(rows, features=features)
    (tmp_path / "hub").mkdir()
    made.to_parquet(str(tmp_path / "hub" / "train-00000-of-00001.parquet"))
    made.save_to_disk(str(tmp_path / "saved"))
    for path in (tmp_path / "hub", tmp_path / "saved"):
        pairs, reader = read(path)
        assert reader.problems == []
        assert [image_size(pair.image_path)[0] for pair in pairs] == [3, 4, 5]
        assert [pair.extra[name] for pair in pairs] == ["was-0.png", "was-1.png", "was-2.png"]


@pytest.mark.parametrize("inside", [0, 1])
def test_parquet_that_names_external_images_is_read(tmp_path: Path, inside: int) -> None:
    import datasets

    for n in range(2):
        picture(tmp_path / f"{n}.png", (3 + n, 5))
    images: list[dict[str, Any]] = [{"bytes": None, "path": f"{n}.png"} for n in range(2)]
    images += [{"bytes": encoded((9, 5)), "path": "gone.png"}] * inside
    features = datasets.Features({"image": datasets.Image(), "caption": datasets.Value("string")})
    captions = [f"caption {n}" for n in range(len(images))]
    table = pa.table({"image": images, "caption": captions}, features.arrow_schema)
    pq.write_table(table, tmp_path / "outside.parquet")
    pairs, reader = read(tmp_path / "outside.parquet")
    assert reader.problems == []
    assert [image_size(pair.image_path)[0] for pair in pairs] == [3, 4] + [9] * inside


def test_classes_are_read_by_the_names_of_their_own_file(tmp_path: Path) -> None:
    """As the `datasets` library writes them, whose numbers begin anew in each file."""
    import datasets

    for file, names in (("a", ["cat", "dog"]), ("b", ["dog", "horse"])):
        kind = datasets.ClassLabel(names=names)
        features = datasets.Features(
            {"image": datasets.Image(), "caption": datasets.Value("string"), "kind": kind,
             "parts": datasets.List(kind)}
        )  # fmt: skip
        rows = [
            {"image": {"bytes": encoded((3 + n, 5))}, "caption": f"{file}{n}", "kind": number,
             "parts": [number, 0]}
            for n, number in enumerate((0, 1, -1, None))
        ]  # fmt: skip
        made = datasets.Dataset.from_list(rows, features=features)
        (tmp_path / "hub").mkdir(exist_ok=True)
        made.to_parquet(str(tmp_path / "hub" / f"train-{file}.parquet"))
        made.save_to_disk(str(tmp_path / file))
    expected = ["cat", "dog", -1, None, "dog", "horse", -1, None]
    for paths in ([tmp_path / "hub"], [tmp_path / "a", tmp_path / "b"]):
        pairs = [pair for path in paths for pair in read(path)[0]]
        assert [pair.extra["kind"] for pair in pairs] == expected
        assert [pair.extra["parts"][0] for pair in pairs] == expected


def with_classes(folder: Path, cells: list[list[int]], declared: Any) -> Path:
    """Parquet whose column `parts` is declared so in the schema."""
    rows = {"image": [encoded()] * len(cells), "caption": ["A dog."] * len(cells), "parts": cells}
    about = {"info": {"features": {"parts": declared, "other": []}}}
    table = pa.table(rows).replace_schema_metadata({"huggingface": json.dumps(about)})
    folder.mkdir()
    pq.write_table(table, folder / "train.parquet")
    return folder


def test_lists_of_classes_are_read_as_earlier_versions_declare_them(tmp_path: Path) -> None:
    kind = {"names": ["cat", "dog"], "_type": "ClassLabel"}
    for number, declared in enumerate(([kind], {"feature": kind, "_type": "Sequence"})):
        (pair,) = read(with_classes(tmp_path / str(number), [[1, 0, 2]], declared))[0]
        assert pair.extra["parts"] == ["dog", "cat", 2]


def test_names_of_classes_make_no_cell_larger_than_one_may_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("backend.datasets.reading.class_names.LONGEST_LINE", 10, raising=False)
    kind = {"feature": {"names": ["cat"], "_type": "ClassLabel"}, "_type": "List"}
    pairs, reader = read(with_classes(tmp_path / "hub", [[0, 0, 0], [0, 0, 0, 0]], kind))
    assert [pair.extra["parts"] for pair in pairs] == [["cat"] * 3]
    assert [(problem.row, problem.kind) for problem in reader.problems] == [(2, "unusable row")]


@given(
    st.text(max_size=12)
    | st.text("'=@-␛01b7f8 \t\n\r\0\x07\x1b\x7f\x9b", max_size=12)
    | st.sampled_from(["␛\x1b␛1b␛", "=1+1", "+1", "-1", "@SUM(1)", "\tx", "\rx", "'=\x1b]0;x\x07"])
)
def test_cells_are_escaped_and_restored(text: str) -> None:
    """Neither a spreadsheet nor a terminal obeys the cell, and nothing is lost."""
    safe = escape(text)
    assert not safe.startswith(("=", "+", "-", "@", "\t", "\r"))
    assert not any(unicodedata.category(c) == "Cc" and c not in "\t\n\r" for c in safe)
    assert unescape(safe) == text
    if text.isprintable() and not re.search("^'*[=+@-]|␛[01789][0-9a-f]", text):
        assert safe == text


def test_exported_csv_holds_no_control_characters(tmp_path: Path) -> None:
    caption = "a\x1b]0;owned\x07 \x9b2J dog ␛␛1b ␛"
    picture(tmp_path / "in/a.png")
    row = ExportRow("1", tmp_path / "in/a.png", caption, caption, extra={"camera": "\x9b\x1b"})
    write_dataset([row], tmp_path / "out", format="csv", card="", source_root=tmp_path / "in")
    text = (tmp_path / "out/data.csv").read_text("utf-8")
    assert not any(unicodedata.category(c) == "Cc" and c not in "\r\n" for c in text)
    (pair,), _ = read(tmp_path / "out/data.csv", image_root=tmp_path / "in")
    assert pair.caption == caption
    assert pair.extra["camera"] == "\x9b\x1b"


def read_colours(path: Path, members: list[tuple[str, str]]) -> tuple[dict[str, str], list[str]]:
    """A tar of pictures of a colour and of texts; the colours of the pictures by caption, and what
    the reader reports or notes."""
    write(path, tar_bytes(
        (name, encoded(colour=content) if name.endswith((".jpg", ".png")) else content.encode())
        for name, content in members
    ))  # fmt: skip
    try:
        pairs, reader = read(path)
    except DatasetFormatError as problem:
        return {}, [str(problem)]
    names = {(255, 0, 0): "red", (0, 0, 255): "blue", (0, 128, 0): "green"}
    colours = {p.caption: names[load_image(p.image_path).getpixel((0, 0))] for p in pairs}  # pyrefly: ignore[bad-index]
    assert len(colours) == len(pairs)
    return colours, [problem.message for problem in reader.problems] + reader.notes


TWO_SAMPLES = {"red": "red", "blue": "blue"}


@pytest.mark.parametrize(
    ("members", "colours"),
    [
        # A key that ends at the first dot would join two samples.
        ([("k.01.jpg", "red"), ("k.01.txt", "red"), ("k.02.jpg", "blue"), ("k.02.txt", "blue")],
         TWO_SAMPLES),
        # One name, twice.
        ([("a.jpg", "red"), ("a.txt", "red"), ("a.jpg", "blue"), ("a.txt", "blue")], TWO_SAMPLES),
        ([("a.jpg", "red"), ("a.jpg", "blue"), ("a.txt", "red"), ("a.txt", "blue")], {}),
        ([("k.01.jpg", "red"), ("k.02.jpg", "blue"), ("k.01.txt", "red"), ("k.02.txt", "blue")],
         {}),
        # Compound endings of one sample, and what is beside a plain one.
        ([("a.image.jpg", "red"), ("a.caption.txt", "red"), ("b.jpg", "blue"), ("b.txt", "blue")],
         TWO_SAMPLES),
        ([("a.mask.png", "green"), ("a.jpg", "red"), ("a.txt", "red")], {"red": "red"}),
        ([("a.jpg", "red"), ("a.mask.png", "green"), ("a.txt", "red")], {"red": "red"}),
        # Several pictures or texts with plain endings.
        ([("a.jpg", "red"), ("a.png", "blue"), ("a.txt", "red")], {}),
        ([("a.jpg", "red"), ("a.txt", "red"), ("a.caption", "blue")], {}),
        ([("a.jpg", "red"), ("a.txt", "red"), ("a.caption", "red")], {"red": "red"}),
    ],
)  # fmt: skip
def test_a_caption_of_a_tar_never_gets_another_samples_picture(
    tmp_path: Path, members: list[tuple[str, str]], colours: dict[str, str]
) -> None:
    """Each caption names the colour of its picture; what is not read is told."""
    colours_read, messages = read_colours(tmp_path / "a.tar", members)
    assert colours_read == colours
    pictures = sum(name.endswith((".jpg", ".png")) for name, _ in members)
    if len(colours) < pictures:
        assert messages


def test_a_sidecar_text_that_two_pictures_may_claim_is_reported(tmp_path: Path) -> None:
    for name in ("a.png", "a.jpg", "b.png", "b.jpg", "c.png"):
        picture(tmp_path / name)
    for name in ("a.txt", "b.png.txt", "b.jpg.txt", "c.txt"):
        (tmp_path / name).write_text(name)
    pairs, reader = read(tmp_path)
    assert {pair.caption for pair in pairs} == {"b.png.txt", "b.jpg.txt", "c.txt"}
    assert [problem.row for problem in reader.problems] == [1, 2]
