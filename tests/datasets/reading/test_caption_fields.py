"""Captions of several kinds of a picture: one or all are read, each under its own name, and an
export has them under these names again."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from backend.datasets.export_row import ExportRow
from backend.datasets.reading.caption_fields import FIELD_COLUMN, is_caption_name, texts_by_field
from backend.datasets.reading.json_captions import JSON_COLUMN
from backend.datasets.reading.row_pairs import SourcePair
from backend.datasets.writing.dataset_writer import write_dataset
from backend.errors import DatasetFormatError
from tests.datasets.folders import (
    csv_file,
    json_lines,
    picture,
    read,
    write,
    zip_bytes,
)

TAGS, DESCRIPTION = "dog, red", "A red dog on grass."


def beside(folder: Path, *endings: str, names: tuple[str, ...] = ("a", "b")) -> Path:
    """Pictures with a text of each ending beside them, `.txt` or `_tags.txt`."""
    for number, name in enumerate(names):
        picture(folder / f"{name}.png", (8, 8 + number))
        for ending in endings:
            text = TAGS if "tag" in ending else DESCRIPTION if len(ending) > 5 else "A dog."
            write(folder / f"{name}{ending}", f"{text} {name}")
    return folder


def by_field(pairs: list[SourcePair]) -> dict[str, list[str]]:
    fields: dict[str, list[str]] = {}
    for pair in pairs:
        fields.setdefault(pair.extra.get(FIELD_COLUMN, ""), []).append(pair.caption)
    return fields


@pytest.mark.parametrize("mark", ["_", "-", "."])
def test_texts_of_several_names_beside_a_picture(tmp_path: Path, mark: str) -> None:
    source = beside(tmp_path, ".txt", f"{mark}tags.txt", f"{mark}description.txt")
    pairs, reader = read(source)
    assert by_field(pairs) == {"": ["A dog. a", "A dog. b"]}
    assert pairs[0].extra["tags"] == f"{TAGS} a"
    assert reader.problems == []
    assert any("tags" in note for note in reader.notes)
    pairs, reader = read(source, caption_fields="all")
    assert by_field(pairs) == {
        "caption": ["A dog. a", "A dog. b"],
        "tags": [f"{TAGS} a", f"{TAGS} b"],
        "description": [f"{DESCRIPTION} a", f"{DESCRIPTION} b"],
    }
    assert reader.problems == []
    assert len({pair.id for pair in pairs}) == 6
    assert all(pair.extra == {FIELD_COLUMN: pair.extra[FIELD_COLUMN]} for pair in pairs)


def test_without_a_plain_text_the_most_usual_one_is_the_caption(tmp_path: Path) -> None:
    source = beside(tmp_path, "_tags.txt", "_description.txt")
    pairs, reader = read(source)
    assert by_field(pairs) == {"description": [f"{DESCRIPTION} a", f"{DESCRIPTION} b"]}
    assert pairs[1].extra["tags"] == f"{TAGS} b"
    assert reader.problems == []
    pairs, _ = read(source, caption_fields="tags")
    assert by_field(pairs) == {"tags": [f"{TAGS} a", f"{TAGS} b"]}
    assert pairs[0].extra["description"] == f"{DESCRIPTION} a"


def kinds_beside(folder: Path, **kinds: str) -> Path:
    """Pictures `a` to `d`; `kinds`: which of them have a text of each kind, "plain" without one."""
    for name in "abcd":
        picture(folder / f"{name}.png", (8, ord(name)))
    for kind, names in kinds.items():
        for name in names:
            text = f"{name}.txt" if kind == "plain" else f"{name}.{kind}.txt"
            write(folder / text, f"A dog in {kind}. {name}")
    return folder


def in_zip(folder: Path) -> Path:
    members = {path.name: path.read_bytes() for path in sorted(folder.iterdir())}
    return write(folder.with_suffix(".zip"), zip_bytes(members))


@pytest.mark.parametrize("form", ["folder", "zip"])
@pytest.mark.parametrize(
    ("kinds", "kind", "left_out"),
    [
        ({"en": "abcd", "de": "bcd"}, "en", []),
        ({"de": "abcd", "en": "ab"}, "de", []),
        ({"en": "abc", "de": "cd"}, "en", ["d"]),
        ({"plain": "ab", "en": "bcd"}, "", ["c", "d"]),
        ({"plain": "a", "en": "abcd"}, "en", []),
        ({"tags": "abcd", "en": "abcd"}, "en", []),
    ],
)
def test_captions_of_two_kinds_are_never_mixed(
    tmp_path: Path, form: str, kinds: dict[str, str], kind: str, left_out: list[str]
) -> None:
    source = kinds_beside(tmp_path / "pictures", **kinds)
    pairs, reader = read(in_zip(source) if form == "zip" else source)
    names = [name for name in "abcd" if name not in left_out]
    captions = [f"A dog in {kind or 'plain'}. {name}" for name in names]
    assert by_field(pairs) == {kind: captions}
    assert len(reader.problems) == len(left_out)
    assert len(reader.notes) == 1


@pytest.mark.parametrize("form", ["folder", "zip"])
def test_kinds_as_usual_as_each_other_are_chosen_by_the_user(tmp_path: Path, form: str) -> None:
    source = kinds_beside(tmp_path / "pictures", de="abc", en="bcd")
    source = in_zip(source) if form == "zip" else source
    with pytest.raises(DatasetFormatError) as raised:
        read(source)
    assert "--caption-fields" in raised.value.remedies["terminal"]
    for options in ({"language": "EN"}, {"caption_fields": "en"}):
        pairs, reader = read(source, **options)
        assert by_field(pairs) == {"en": [f"A dog in en. {name}" for name in "bcd"]}
        assert len(reader.problems) == 1


def test_pictures_of_another_kind_have_no_caption_yet(tmp_path: Path) -> None:
    source = kinds_beside(tmp_path, en="abc", de="cd")
    pairs, reader = read(source, uncaptioned=True)
    assert [pair.caption for pair in pairs][-1] == ""
    assert pairs[-1].extra["de"] == "A dog in de. d"
    assert reader.problems == []


@pytest.mark.parametrize("form", ["folder", "zip"])
@pytest.mark.parametrize(("plain", "tags"), [("d", "abc"), ("ad", "bcd"), ("abcd", "cd")])
def test_texts_of_no_kind_are_kept_and_named_by_what_reads_them(
    tmp_path: Path, form: str, plain: str, tags: str
) -> None:
    source = kinds_beside(tmp_path / "pictures", plain=plain, tags=tags)
    source = in_zip(source) if form == "zip" else source
    pairs, reader = read(source, uncaptioned=True)
    texts = {text for pair in pairs for text in (pair.caption, *pair.extra.values())}
    wanted = {"plain": plain, "tags": tags}
    assert texts >= {f"A dog in {kind}. {n}" for kind, names in wanted.items() for n in names}
    note = next(note for note in reader.notes if "tags" in note)
    assert "''" not in note
    _, reader = read(source)
    (stated,) = {"tags,caption", "caption,tags"} & {*re.findall(r"\w+,\w+", note)}
    assert all(stated in problem.message for problem in reader.problems)
    pairs, reader = read(source, caption_fields=stated)
    assert {pair.caption for pair in pairs} == texts - {"", "tags", "caption"}
    assert reader.problems == []


def test_a_kind_is_a_column_where_json_has_the_captions(tmp_path: Path) -> None:
    source = kinds_beside(tmp_path, tags="abcd")
    for name in "abcd":
        write(source / f"{name}.json", json.dumps({"caption": f"A dog. {name}", "width": 8}))
    pairs, _ = read(source)
    assert by_field(pairs) == {"": [f"A dog. {name}" for name in "abcd"]}
    assert pairs[0].extra["tags"] == "A dog in tags. a"
    for name in "abcd":
        write(source / f"{name}.json", json.dumps({"width": 8}))
    assert list(by_field(read(source)[0])) == ["tags"]


def test_captions_of_json_beside_those_of_texts_are_told(tmp_path: Path) -> None:
    source = kinds_beside(tmp_path, plain="abc")
    write(source / "d.json", json.dumps({"caption": "A dog. d"}))
    pairs, reader = read(source)
    assert len(pairs) == 4
    assert len(reader.notes) == 1


@pytest.mark.parametrize("form", ["folder", "zip"])
def test_of_texts_with_two_endings_one_is_named(tmp_path: Path, form: str) -> None:
    source = kinds_beside(tmp_path / "pictures", plain="abcd")
    for name in "abcd":
        write(source / f"{name}.caption", f"A cat. {name}")
    source = in_zip(source) if form == "zip" else source
    with pytest.raises(DatasetFormatError):
        read(source)
    for ending, caption in (("caption", "A cat. a"), (".txt", "A dog in plain. a")):
        pairs, _ = read(source, caption_column=ending)
        assert (len(pairs), pairs[0].caption) == (4, caption)


@pytest.mark.parametrize("form", ["folder", "zip"])
@pytest.mark.parametrize(
    ("texts", "column"),
    [
        ({"a.txt": "A dog."}, "caption"),
        ({"a.txt": "A dog."}, "txt"),
        ({"a.txt": "A dog.", "a.json": '{"caption": "A cat."}'}, "caption"),
        ({"a.txt": "A dog.", "b.caption": "A dog.", "c.txt": "A dog."}, "caption"),
        ({"a.txt": "A dog.", "a.caption": "A cat.", "b.caption": "A dog."}, "txt"),
    ],
)
def test_a_named_ending_only_decides_between_texts_of_one_picture(
    tmp_path: Path, texts: dict[str, str], column: str, form: str
) -> None:
    source = tmp_path / "pictures"
    for name, text in texts.items():
        picture(source / f"{name[0]}.png")
        write(source / name, text)
    pairs, reader = read(in_zip(source) if form == "zip" else source, caption_column=column)
    assert [pair.caption for pair in pairs] == ["A dog."] * len({name[0] for name in texts})
    assert reader.problems == []


def test_what_belongs_to_another_picture_is_no_kind_of_this_one(tmp_path: Path) -> None:
    names = ["a.png", "a_tags.png", "a.txt", "a_tags.txt", "a_b.txt", "a_2.txt"]
    assert texts_by_field(names) == {}
    assert texts_by_field(["a.png", "a_b.png", "a_b_tags.txt"]) == {
        "a_b.png": {"tags": "a_b_tags.txt"}
    }
    several = ["a.png", "b.png", "a_florence.txt", "b_florence.txt", "a_x.txt"]
    assert texts_by_field(several) == {
        "a.png": {"florence": "a_florence.txt"}, "b.png": {"florence": "b_florence.txt"}
    }  # fmt: skip
    assert texts_by_field(["a.png", "a.jpg", "a_tags.txt"]) == {}
    source = beside(tmp_path, ".txt", "_2.txt")
    pairs, reader = read(source, caption_fields="all")
    assert [pair.caption for pair in pairs] == ["A dog. a", "A dog. b"]
    assert len(reader.problems) == 2


def test_some_pictures_have_fewer_kinds(tmp_path: Path) -> None:
    beside(tmp_path, ".txt", "_tags.txt")
    (tmp_path / "b_tags.txt").unlink()
    write(tmp_path / "a.txt", " \n")
    picture(tmp_path / "c.png", (9, 9))
    pairs, reader = read(tmp_path, caption_fields="all")
    assert by_field(pairs) == {"tags": [f"{TAGS} a"], "caption": ["A dog. b"]}
    assert [problem.row for problem in reader.problems] == [3]


ROWS: list[dict[str, Any]] = [
    {"file_name": "a.png", "id": "1", "caption": "A dog.", "blip_caption": "A red dog.",
     "wd14_tags": "dog, red", "alt_text": "", "width": "8", "artist": "Ann"},
    {"file_name": "a.png", "id": "2", "caption": "A cat.", "blip_caption": "A red cat.",
     "wd14_tags": "cat", "alt_text": "IMG 7", "width": "8", "artist": "Bo"},
]  # fmt: skip


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_columns_of_a_table(tmp_path: Path, form: str) -> None:
    picture(tmp_path / "a.png")
    path = tmp_path / f"rows.{form}"
    csv_file(path, ROWS) if form == "csv" else write(path, json_lines(ROWS))
    pairs, reader = read(path, caption_fields="all")
    assert by_field(pairs) == {
        "caption": ["A dog.", "A cat."], "blip_caption": ["A red dog.", "A red cat."],
        "wd14_tags": ["dog, red", "cat"], "alt_text": ["IMG 7"],
    }  # fmt: skip
    assert [pair.id for pair in pairs][:3] == ["1", "1#blip_caption", "1#wd14_tags"]
    rest = {"width": "8", "artist": "Ann", "alt_text": ""}
    assert pairs[0].extra == {FIELD_COLUMN: "caption", **rest}
    assert reader.problems == []
    pairs, _ = read(path, caption_fields="wd14_tags, caption")
    assert set(by_field(pairs)) == {"wd14_tags", "caption"}
    assert pairs[0].extra["blip_caption"] == "A red dog."
    with pytest.raises(DatasetFormatError) as raised:
        read(path, caption_fields="caption,booru")
    assert "booru" in str(raised.value)
    assert "wd14_tags" in str(raised.value)


def test_fields_of_json(tmp_path: Path) -> None:
    value = {"short": "A dog.", "long": "A red dog runs.", "tags": ["dog", "red"], "n": 3}
    picture(tmp_path / "a.png")
    row = {"file_name": "a.png", "caption": json.dumps(value), "id": "7"}
    path = write(tmp_path / "rows.jsonl", json_lines([row]))
    pairs, _ = read(path, caption_fields="all")
    assert by_field(pairs) == {
        "long": ["A red dog runs."], "short": ["A dog."], "tags": ["dog, red"]
    }  # fmt: skip
    assert {pair.extra[JSON_COLUMN] for pair in pairs} == {row["caption"]}
    assert {pair.extra["n"] for pair in pairs} == {3}
    assert by_field(read(path, caption_fields="short")[0]) == {"short": ["A dog."]}


def test_a_list_and_a_text_that_two_kinds_share(tmp_path: Path) -> None:
    picture(tmp_path / "a.png")
    row = {"file_name": "a.png", "caption": "A dog.", "tags": ["dog", "red"], "short": "A dog."}
    pairs, reader = read(write(tmp_path / "r.jsonl", json_lines([row])), caption_fields="all")
    assert by_field(pairs) == {"caption": ["A dog."], "tags": ["dog, red"], "short": ["A dog."]}
    assert reader.problems == []


@pytest.mark.parametrize(
    ("name", "wanted"),
    [("caption", True), ("blip-caption", True), ("Short Caption", True), ("tags", True),
     ("recaption_qwen", True), ("caption_kind", False), ("caption_id", False), ("width", False),
     ("original_caption", False), ("own_tags", False), (FIELD_COLUMN, False)],
)  # fmt: skip
def test_names_of_captions(name: str, wanted: bool) -> None:
    assert is_caption_name(name) is wanted


def exported(pairs: list[SourcePair], source: Path, out: Path, format: str) -> Path:
    """An export in which "red" is edited."""
    rows = [
        ExportRow(
            pair.id, pair.image_path, pair.caption.replace("red", "tan"), pair.caption, pair.split,
            extra=pair.extra,
        )
        for pair in pairs
    ]  # fmt: skip
    write_dataset(rows, out, format=format, card="", source_root=source)
    return out


def test_texts_beside_pictures_are_written_under_their_names(tmp_path: Path) -> None:
    source = beside(tmp_path / "source", ".txt", "_tags.txt", "-description.txt")
    write(source / "a_tags.txt", b"\xef\xbb\xbfdog, red\r\n")
    pairs, _ = read(source, caption_fields="all")
    out = exported(pairs, source, tmp_path / "out", "sidecar")
    texts = {path.name: path.read_bytes() for path in out.rglob("*.txt")}
    assert texts == {
        "a.txt": b"A dog. a", "b.txt": b"A dog. b",
        "a_tags.txt": b"\xef\xbb\xbfdog, tan\r\n", "b_tags.txt": b"dog, tan b",
        "a-description.txt": b"A tan dog on grass. a",
        "b-description.txt": b"A tan dog on grass. b",
    }  # fmt: skip
    assert len(list(out.rglob("*.png"))) == 2
    again, reader = read(out)
    assert by_field(again) == by_field(
        [SourcePair(p.id, p.image_path, p.caption.replace("red", "tan"), None, p.extra, "", 0)
         for p in pairs]
    )  # fmt: skip
    assert reader.problems == []


def test_kinds_from_columns_are_written_beside_one_picture(tmp_path: Path) -> None:
    picture(tmp_path / "source" / "a.png")
    path = csv_file(tmp_path / "source" / "rows.csv", ROWS[:1])
    pairs, _ = read(path, caption_fields="all")
    out = exported(pairs, tmp_path / "source", tmp_path / "out", "sidecar")
    assert {each.name: each.read_text() for each in out.rglob("*.txt")} == {
        "a.txt": "A dog.", "a_blip_caption.txt": "A tan dog.", "a_wd14_tags.txt": "dog, tan"
    }  # fmt: skip
    assert len(list(out.rglob("*.png"))) == 1


def test_kinds_from_one_json_stay_in_it(tmp_path: Path) -> None:
    text = '{"n": 1.0,  "long": "A red dog runs.", "tags": ["dog",  "red"]}\n'
    picture(tmp_path / "source" / "a.png")
    write(tmp_path / "source" / "a.txt", text)
    pairs, _ = read(tmp_path / "source", caption_fields="all")
    assert len(pairs) == 2
    out = exported(pairs, tmp_path / "source", tmp_path / "out", "sidecar")
    texts = {each.name: each.read_text() for each in out.rglob("*.txt")}
    assert texts == {"a.txt": text.replace("red", "tan")}


def test_kinds_from_json_beside_a_picture_stay_in_it(tmp_path: Path) -> None:
    text = '{"n": 1.0,  "long": "A red dog runs.", "tags": ["dog",  "red"]}\n'
    picture(tmp_path / "source" / "a.png")
    write(tmp_path / "source" / "a.json", text)
    pairs, _ = read(tmp_path / "source", caption_fields="all")
    assert by_field(pairs) == {"long": ["A red dog runs."], "tags": ["dog, red"]}
    out = exported(pairs, tmp_path / "source", tmp_path / "out", "sidecar")
    texts = {each.name: each.read_text() for each in out.glob("train/a*.*[nt]")}
    assert texts == {
        "a.json": text.replace("red", "tan"), "a_long.txt": "A tan dog runs.",
        "a_tags.txt": "dog, tan",
    }  # fmt: skip
