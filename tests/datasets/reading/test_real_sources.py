"""Sources as people have them: nothing is mixed up or lost without a word."""

import json
import zipfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from backend.datasets.cells import split_proof
from backend.datasets.export_row import MARK
from backend.datasets.reading.dataset_reader import DatasetReader, read_dataset
from backend.datasets.safe_files.containers import relative_name
from backend.errors import DatasetFormatError
from tests.datasets.folders import (
    encoded,
    image_folder,
    json_lines,
    make_tar,
    picture,
    read,
    write,
    zip_bytes,
)  # fmt: skip


def places(path: Path, **options: Any) -> tuple[list[tuple[str, str]], DatasetReader]:
    """Place of the picture and caption of each pair."""
    pairs, reader = read(path, **options)
    root = reader.root
    return [(split_proof(relative_name(p.image_path, root))[0], p.caption) for p in pairs], reader


def kinds(reader: DatasetReader) -> list[tuple[str, str]]:
    return [(problem.file, problem.kind) for problem in reader.problems]


def table(folder: Path, *paths: str, caption: Any = "A dog.") -> Path:
    """A table without ids whose rows name these pictures."""
    rows = [{"file_name": path, "caption": caption} for path in paths]
    return write(folder / "rows.jsonl", json_lines(rows))


# Captions


@pytest.mark.parametrize(
    ("caption", "options", "expected"),
    [
        ({"raw": "A dog.", "sentid": 7}, {}, ["A dog."]),
        ([{"raw": "A dog."}, {"raw": "A cat."}], {}, ["A dog.", "A cat."]),
        ([["A dog.", "A cat."]], {}, ["A dog.", "A cat."]),
        ({"en": "A dog."}, {}, ["A dog."]),
        ({"en": "A dog.", "de": ["Ein Hund."]}, {"language": "de"}, ["Ein Hund."]),
        ({"en": "A dog.", "de": "Ein Hund."}, {}, []),
        ({"en": "A dog."}, {"language": "de"}, []),
        ({"start": 1, "end": 2}, {}, []),
        ([], {}, []),
        (True, {}, []),
    ],
)
def test_structured_captions_become_text_or_a_problem(
    tmp_path: Path, caption: Any, options: dict[str, Any], expected: list[str]
) -> None:
    picture(tmp_path / "a.png")
    pairs, reader = places(table(tmp_path, "a.png", caption=caption), **options)
    assert [text for _, text in pairs] == expected
    assert len(reader.problems) == (not expected)


def test_structs_of_parquet_are_read_like_those_of_json(tmp_path: Path) -> None:
    picture(tmp_path / "a.png")
    captions = [[{"raw": "A dog.", "sentid": 1}, {"raw": "A cat.", "sentid": 2}]]
    pq.write_table(pa.table({"image": ["a.png"], "captions": captions}), tmp_path / "t.parquet")
    assert [text for _, text in places(tmp_path / "t.parquet")[0]] == ["A dog.", "A cat."]


@pytest.mark.parametrize("caption", ["\u200b", "\ufeff \u2060", "\t"])
def test_a_caption_that_cannot_be_seen_is_empty(tmp_path: Path, caption: str) -> None:
    picture(tmp_path / "a.png")
    _, reader = places(table(tmp_path, "a.png", caption=caption))
    assert [problem.kind for problem in reader.problems] == ["empty caption"]


def test_a_repeated_pair_is_no_problem_of_ids(tmp_path: Path) -> None:
    picture(tmp_path / "a.png")
    _, reader = places(table(tmp_path, "a.png", "a.png"))
    assert [problem.kind for problem in reader.problems] == ["repeated pair"]
    row = {"file_name": "a.png", "caption": "A dog.", "id": 1}
    rows = json_lines((row, row, row | {"caption": "A cat."}))
    _, reader = places(write(tmp_path / "ids.jsonl", rows), id_column="id")
    assert [problem.kind for problem in reader.problems] == ["repeated pair", "duplicate id"]


# Files that cannot be read, among others that can


@pytest.mark.parametrize("damage", [b"", b"<html>404</html>", "half"])
@pytest.mark.parametrize("ending", ["tar", "parquet"])
def test_one_unreadable_shard_costs_only_itself(
    tmp_path: Path, ending: str, damage: bytes | str
) -> None:
    image, broken = encoded(), tmp_path / f"1.{ending}"
    for name in ("0", "1", "2"):
        if ending == "tar":
            make_tar(tmp_path / f"{name}.tar", {f"{name}.png": image, f"{name}.txt": name.encode()})
        else:
            rows = pa.table({"image": [image], "caption": [name]})
            pq.write_table(rows, tmp_path / f"{name}.parquet")
    whole = broken.read_bytes()
    broken.write_bytes(whole[: len(whole) // 8] if isinstance(damage, str) else damage)
    pairs, reader = places(tmp_path)
    assert [text for _, text in pairs] == ["0", "2"]
    assert {file for file, _ in kinds(reader)} == {f"1.{ending}"}


@pytest.mark.parametrize(
    "text", ["", "file_name,caption\n", "<html>\n", "version https://git-lfs.github.com/spec/v1\n"]
)
def test_one_empty_split_costs_only_itself(tmp_path: Path, text: str) -> None:
    picture(tmp_path / "train" / "a.png")
    write(tmp_path / "train" / "metadata.csv", "file_name,caption\na.png,A dog.\n")
    write(tmp_path / "test" / "metadata.csv", text)
    pairs, reader = places(tmp_path)
    assert [text for _, text in pairs] == ["A dog."]
    assert kinds(reader) == [("test/metadata.csv", "unreadable file")]


# Tars, zips, JSON


def test_hidden_members_and_files_are_skipped(tmp_path: Path) -> None:
    image, junk = encoded(), b"\0\5\x16\7"
    members = {"./._1.jpg": junk, "./._1.txt": junk, "./1.jpg": image, "./1.txt": b"A dog."}
    members |= {"__MACOSX/1.jpg": junk, ".git/2.jpg": junk}
    make_tar(tmp_path / "t" / "0.tar", members)
    write(tmp_path / "t" / "._0.tar", junk)
    packed = {
        "__MACOSX/._metadata.csv": junk, "__MACOSX/metadata.csv": junk,
        "metadata.csv": b"file_name,caption\na.png,A dog.\n", "a.png": image,
    }  # fmt: skip
    write(tmp_path / "z.zip", zip_bytes(packed))
    for name in ("a.jpg", "._a.jpg", "__MACOSX/a.jpg"):
        write(picture(tmp_path / "s" / name).with_suffix(".txt"), "A dog.")
    for source in ("t", "z.zip", "s"):
        pairs, reader = places(tmp_path / source)
        assert ([text for _, text in pairs], reader.problems) == (["A dog."], [])


def test_joined_tars_are_read_to_their_end(tmp_path: Path) -> None:
    image = encoded()
    parts = [
        make_tar(tmp_path / f"{n}.tar", {f"{n}.png": image, f"{n}.txt": b"Caption %d" % n})
        for n in range(3)
    ]
    contents = [part.read_bytes() for part in parts]
    joined = write(tmp_path / "d" / "all.tar", b"".join(contents))
    pairs, reader = places(joined.parent)
    assert [text for _, text in pairs] == ["Caption 0", "Caption 1", "Caption 2"]
    write(joined, contents[0] + b"something else" * 100)
    pairs, reader = places(joined.parent)
    assert ([text for _, text in pairs], len(reader.problems)) == (["Caption 0"], 1)


def test_numbers_that_json_lacks_are_read_as_in_json_lines(tmp_path: Path) -> None:
    picture(tmp_path / "a.png")
    row = '{"file_name": "a.png", "caption": "NaN, [NaN]", "x": NaN, "y": [-Infinity, Infinity]}'
    for name, text in (("t.json", f"[{row}]"), ("t.jsonl", row)):
        (pair,) = read_dataset(write(tmp_path / name, text))
        assert pair.caption == "NaN, [NaN]"
        assert pair.extra == {"x": None, "y": ["-Infinity", "Infinity"]}


@pytest.mark.parametrize("form", ["list", "coco"])
def test_a_field_that_occurs_twice_is_a_problem(tmp_path: Path, form: str) -> None:
    picture(tmp_path / "a.png")
    row = '{"file_name": "a.png", "image_id": 1, "caption": "A dog.", "caption": "A cat."}'
    images = '[{"id": 1, "file_name": "a.png"}]'
    good = '{"file_name": "a.png", "image_id": 1, "caption": "A cow."}'
    row = f"{row}, {good}"
    text = f"[{row}]" if form == "list" else f'{{"images": {images}, "annotations": [{row}]}}'
    pairs, reader = places(write(tmp_path / "t.json", text))
    assert [text for _, text in pairs] == ["A cow."]
    assert "twice" in reader.problems[0].message


def test_a_field_that_occurs_twice_beside_a_picture_is_a_problem(tmp_path: Path) -> None:
    image = picture(tmp_path / "d" / "a.png").read_bytes()
    text = '{"caption": "A dog.", "caption": "A cat."}'
    good = '{"caption": "A cow."}'
    write(tmp_path / "d" / "a.json", text)
    write(picture(tmp_path / "d" / "b.png").with_suffix(".json"), good)
    members = {"a.png": image, "a.json": text.encode(), "b.png": image, "b.json": good.encode()}
    for source in (tmp_path / "d", make_tar(tmp_path / "t.tar", members)):
        pairs, reader = places(source)
        assert [caption for _, caption in pairs] == ["A cow."]
        assert ["twice" in problem.message for problem in reader.problems] == [True]


def test_a_name_that_occurs_twice_in_a_zip_is_no_picture(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "z.zip", "w") as archive:
        for name, size in (("a.png", 3), ("b.png", 4), ("a.png", 5)):
            archive.writestr(name, encoded((size, size)))
    pairs, reader = places(table(tmp_path, "z.zip!/a.png", "z.zip!/b.png"))
    assert [place for place, _ in pairs] == ["z.zip!/b.png"]
    assert "several members" in reader.problems[0].message


# COCO


def coco(path: Path, *names: str) -> Path:
    images = [{"id": n, "file_name": name} for n, name in enumerate(names)]
    rows = [{"image_id": n, "caption": f"Caption of {name}."} for n, name in enumerate(names)]
    return write(path, json.dumps({"images": images, "annotations": rows}))


def test_the_official_layout_of_coco_is_read(tmp_path: Path) -> None:
    names = {"val2017": ("1.jpg", "2.jpg"), "train2017": ("3.jpg",)}
    for part, images in names.items():
        for name in images:
            picture(tmp_path / part / name)
        coco(tmp_path / "annotations" / f"captions_{part}.json", *images)
        write(tmp_path / "annotations" / f"instances_{part}.json", "{}")
    reader = read_dataset(tmp_path)
    pairs = [(relative_name(p.image_path, reader.root).partition("#")[0], p.split) for p in reader]
    assert pairs == [
        ("train2017/3.jpg", "train"), ("val2017/1.jpg", "validation"),
        ("val2017/2.jpg", "validation"),
    ]  # fmt: skip
    alone = list(read_dataset(tmp_path / "annotations" / "captions_val2017.json"))
    assert [pair.caption for pair in alone] == ["Caption of 1.jpg.", "Caption of 2.jpg."]
    assert len({pair.id for pair in alone}) == 2


# Captions beside pictures


def test_capitals_do_not_hide_a_caption(tmp_path: Path) -> None:
    for name in ("IMG_0.JPG", "b.jfif", "c.jpe", "d.jp2", "E.png", "e.jpg"):
        picture(tmp_path / f"{name}.png").rename(tmp_path / name)
    for name in ("IMG_0.TXT", "b.txt", "c.Txt", "d.caption", "e.txt"):
        write(tmp_path / name, name)
    pairs, reader = places(tmp_path)
    assert sorted(pairs) == [
        ("IMG_0.JPG", "IMG_0.TXT"), ("b.jfif", "b.txt"), ("c.jpe", "c.Txt"), ("d.jp2", "d.caption"),
        ("e.jpg", "e.txt"),
    ]  # fmt: skip
    assert ["E.png" in problem.message for problem in reader.problems] == [True]


def test_two_captions_beside_a_picture_are_not_guessed_among(tmp_path: Path) -> None:
    picture(tmp_path / "a.jpg")
    picture(tmp_path / "b.jpg")
    for name in ("a.txt", "a.caption", "b.txt"):
        write(tmp_path / name, name)
    pairs, reader = places(tmp_path)
    assert pairs == [("b.jpg", "b.txt")]
    assert "a.caption" in reader.problems[0].message


@pytest.mark.parametrize("form", ["files", "tar"])
def test_lines_are_captions_where_that_is_wanted(tmp_path: Path, form: str) -> None:
    image, text = picture(tmp_path / "d" / "a.png").read_bytes(), "A dog.\nA brown dog.\n"
    source = write(tmp_path / "d" / "a.txt", text).parent
    if form == "tar":
        source = make_tar(tmp_path / "t.tar", {"a.png": image, "a.txt": text.encode()})
    (pair,), reader = places(source)
    assert pair[1].strip() == text.strip()
    assert "several lines" in reader.notes[0]
    pairs, reader = places(source, captions_per_line=True)
    assert ([caption for _, caption in pairs], reader.notes) == (["A dog.", "A brown dog."], [])


def test_formats_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    for name in ("alone", "beside"):
        write(tmp_path / name / "b.heic", "ftypheic")
        write(tmp_path / name / "b.txt", "A cat.")
    with pytest.raises(DatasetFormatError, match=r"\.heic"):
        places(tmp_path / "alone")
    write(picture(tmp_path / "beside" / "a.png").with_suffix(".txt"), "A dog.")
    beside = places(tmp_path / "beside")[1]
    named = places(table(tmp_path / "beside", "b.heic"))[1]
    packed = {"a.heic": b"ftyp", "a.txt": b"A dog.", "b.png": encoded()}
    shard = places(make_tar(tmp_path / "t.tar", packed | {"b.txt": b"A cat."}))[1]
    for reader in (beside, named, shard):
        assert ["(HEIC)" in problem.message for problem in reader.problems] == [True]


# Paths


@pytest.mark.parametrize(
    "given",
    [
        "img\\a b.PNG", "img/a%20b.PNG", "IMG/A b.png", " img/a b.PNG ", "file://img/a b.PNG",
        "file:img/a%20b.PNG", "/home/ann/data/img/a b.PNG", "C:\\data\\img\\a b.PNG",
        "file:///data/img/a%20b.PNG",
    ],
)  # fmt: skip
def test_paths_of_other_systems_are_read_and_told(tmp_path: Path, given: str) -> None:
    picture(tmp_path / "img" / "a b.PNG")
    pairs, reader = places(table(tmp_path, given))
    assert pairs == [("img/a b.PNG", "A dog.")]
    assert ["'img/a b.PNG'" in note for note in reader.notes] == [True]


def test_an_exact_name_comes_before_all_others(tmp_path: Path) -> None:
    names = ("a%20b.png", "a b.png", "A b.png", "c\\d.png", "c/d.png", " e.png", "e.png")
    for name in names:
        picture(tmp_path / name)
    pairs, reader = places(table(tmp_path, *names))
    assert ([place for place, _ in pairs], reader.notes) == ([*names], [])


def test_all_paths_of_a_table_are_relative_to_one_folder(tmp_path: Path) -> None:
    """What is missing there is not replaced by another picture of that name."""
    for name in ("sub/img/1.png", "sub/img/2.png", "img/3.png"):
        picture(tmp_path / name)
    rows = table(tmp_path / "sub", "img/1.png", "img/2.png", "img/3.png")
    pairs, reader = places(rows, image_root=tmp_path)
    assert [place for place, _ in pairs] == ["sub/img/1.png", "sub/img/2.png"]
    assert [problem.kind for problem in reader.problems] == ["missing image"]


def test_one_folder_of_another_machine_is_replaced(tmp_path: Path) -> None:
    """A file that is missing below it is not looked for further up."""
    for name in ("train/1.png", "train/2.png", "3.png"):
        picture(tmp_path / name)
    paths = [f"/home/ann/data/train/{n}.png" for n in (1, 2, 3)]
    pairs, reader = places(table(tmp_path, *paths))
    assert [place for place, _ in pairs] == ["train/1.png", "train/2.png"]
    assert len(reader.problems) == 1


@pytest.mark.parametrize("path", ["http://example.org/a/1.png", "file:///etc/1.png", "~/1.png"])
def test_a_missing_picture_is_reported_as_its_table_writes_it(path: str, tmp_path: Path) -> None:
    _, reader = places(table(tmp_path, path))
    assert path in reader.problems[0].message


def test_flickr30k_as_it_was_published_has_captions_in_comments(tmp_path: Path) -> None:
    picture(tmp_path / "1.jpg")
    lines = "image_name| comment_number| comment\n1.jpg| 0| A dog .\n1.jpg| 1| A brown dog .\n"
    (tmp_path / "results.csv").write_text(lines)
    reader = read_dataset(tmp_path)
    assert [pair.caption.strip() for pair in reader] == ["A dog .", "A brown dog ."]


def test_a_missing_file_is_reported_with_the_most_similar_name(tmp_path: Path) -> None:
    for name in ("img/cat_0001.png", "img/cat_0002.png", "Img_3.png", "img_3.PNG"):
        picture(tmp_path / name)
    _, reader = places(table(tmp_path, "img/cat_001.png", "img_3.png", "../a.png"))
    problems = {problem.row: problem for problem in reader.problems}
    assert "'cat_0001.png'" in problems[1].message
    assert [problems[n].kind for n in (2, 3)] == ["missing image", "unsafe path"]


# Several tables in a folder


def test_metadata_of_the_root_and_of_a_split_are_both_read(tmp_path: Path) -> None:
    for place, name in ((".", "a.png"), ("train", "b.png"), ("old", "c.png")):
        image_folder(tmp_path / place, [{"file_name": name, "caption": name}], (name,))
    write(tmp_path / "train" / "metadata.csv", "file_name,caption\nb.png,Another\n")
    make_tar(tmp_path / "0.tar", {})
    pairs, reader = places(tmp_path)
    assert [text for _, text in pairs] == ["a.png", "b.png"]
    assert all(n in reader.notes[0] for n in ("train/metadata.csv", "old/metadata.jsonl", "0.tar"))


def test_two_tables_in_a_folder_of_a_zip_are_not_mixed(tmp_path: Path) -> None:
    members = {
        "a.png": encoded(), "metadata.csv": b"file_name,caption\na.png,A cat.\n",
        "metadata.jsonl": b'{"file_name": "a.png", "caption": "A dog."}\n',
    }  # fmt: skip
    pairs, reader = places(write(tmp_path / "z.zip", zip_bytes(members)))
    assert [text for _, text in pairs] == ["A dog."]
    assert "metadata.csv" in reader.notes[0]


@pytest.mark.parametrize("form", ["metadata", "files", "tars", "parquet"])
def test_an_export_inside_its_source_is_not_read_again(tmp_path: Path, form: str) -> None:
    image, out = encoded(), tmp_path / "d" / "out"
    for folder in (tmp_path / "d" / "train", out):
        write(folder / "a.png", image)
        if form == "metadata":
            write(folder / "metadata.csv", "file_name,caption\na.png,A dog.\n")
        elif form == "files":
            write(folder / "a.txt", "A dog.")
        elif form == "tars":
            make_tar(folder / "0.tar", {"a.png": image, "a.txt": b"A dog."})
        else:
            rows = pa.table({"image": [image], "caption": ["A dog."]})
            pq.write_table(rows, folder / "train-0.parquet")
    (out / MARK).touch()
    pairs, reader = places(tmp_path / "d")
    assert [text for _, text in pairs] == ["A dog."]
    assert "'out'" in reader.notes[0]
