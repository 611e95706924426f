"""Pictures and texts in tars of their own, joined by the names of their members."""

import json
from pathlib import Path

import pytest

from backend.errors import DatasetFormatError
from tests.datasets.folders import encoded, make_tar, read


def pictures(path: Path, *names: str) -> Path:
    return make_tar(path, {f"{name}.png": encoded() for name in names})


def texts(path: Path, **captions: str) -> Path:
    return make_tar(path, {f"{name}.txt": text.encode() for name, text in captions.items()})


def captions_of(folder: Path, **options: object) -> list[tuple[str, str]]:
    """The shard and the caption of each pair, in order of both."""
    pairs, _ = read(folder, **options)
    return sorted((pair.file, pair.caption) for pair in pairs)


@pytest.mark.parametrize(
    ("of_pictures", "of_texts"),
    [
        ("images/00000.tar", "texts/00000.tar"),
        ("images/00000.tar", "captions/00000.tar"),
        ("images-00000.tar", "texts-00000.tar"),
        ("00000.img.tar", "00000.cap.tar"),
        ("data/images/0.tar", "data/texts/0.tar"),
        ("images.tar", "texts.tar"),
    ],
)
def test_a_tar_of_pictures_and_one_of_texts_are_one_set(
    tmp_path: Path, of_pictures: str, of_texts: str
) -> None:
    pictures(tmp_path / of_pictures, "a", "b")
    texts(tmp_path / of_texts, b="A cat.", a="A dog.")
    pairs, reader = read(tmp_path)
    assert {pair.id: pair.caption for pair in pairs} == {"a": "A dog.", "b": "A cat."}
    assert reader.problems == []


@pytest.mark.parametrize(
    ("ending", "content", "options"),
    [
        ("caption", b"A dog.", {}),
        ("json", b'{"caption": "A dog.", "width": 3}', {}),
        ("description", b"A dog.", {}),
        ("blip2", b"A dog.", {"caption_column": "blip2"}),
        ("json", b'{"long": "A dog."}', {"caption_column": "json[long]"}),
        ("blip.txt", b"A dog.", {}),
    ],
)
def test_texts_have_the_endings_that_they_have_in_one_tar(
    tmp_path: Path, ending: str, content: bytes, options: dict[str, str]
) -> None:
    pictures(tmp_path / "images/0.tar", "a")
    make_tar(tmp_path / "texts/0.tar", {f"a.{ending}": content})
    pairs, reader = read(tmp_path, **options)
    assert [pair.caption for pair in pairs] == ["A dog."]
    assert reader.problems == []


def test_a_third_tar_holds_metadata(tmp_path: Path) -> None:
    pictures(tmp_path / "images/0.tar", "a")
    texts(tmp_path / "texts/0.tar", a="A dog.")
    make_tar(tmp_path / "meta/0.tar", {"a.json": json.dumps({"licence": "CC0"}).encode()})
    pairs, reader = read(tmp_path)
    assert [(pair.caption, pair.extra["licence"]) for pair in pairs] == [("A dog.", "CC0")]
    assert reader.problems == []


@pytest.mark.parametrize("shards_of_texts", [1, 2, 4])
def test_one_side_may_have_more_shards(tmp_path: Path, shards_of_texts: int) -> None:
    for shard in range(2):
        pictures(tmp_path / f"images/{shard:05}.tar", *(f"{shard * 4 + n:03}" for n in range(4)))
    each = 8 // shards_of_texts
    for shard in range(shards_of_texts):
        numbers = range(shard * each, shard * each + each)
        texts(tmp_path / f"texts/{shard:05}.tar", **{f"{n:03}": f"Number {n}." for n in numbers})
    pairs, reader = read(tmp_path)
    assert [pair.caption for pair in pairs] == [f"Number {n}." for n in range(8)]
    assert reader.problems == []


def test_names_that_begin_again_in_each_shard_join_shards_of_one_name(tmp_path: Path) -> None:
    for shard in ("00000", "00001"):
        pictures(tmp_path / f"images/{shard}.tar", "a", "b")
    texts(tmp_path / "texts/00000.tar", a="First a.", b="First b.")
    texts(tmp_path / "texts/00001.tar", a="Second a.")
    pairs, reader = read(tmp_path)
    assert [pair.caption for pair in pairs] == ["First a.", "First b.", "Second a."]
    assert [(p.file, p.row) for p in reader.problems] == [("images/00001.tar", 2)]


def test_one_text_for_two_pictures_is_given_to_neither(tmp_path: Path) -> None:
    """Both pictures have its name, and no shard of the texts has the name of one of theirs."""
    for shard in ("x-1", "x-2"):
        pictures(tmp_path / f"images/{shard}.tar", "a")
    texts(tmp_path / "texts/everything.tar", a="A dog.")
    pairs, reader = read(tmp_path)
    assert pairs == []
    assert {p.file for p in reader.problems} == {
        "images/x-1.tar", "images/x-2.tar", "texts/everything.tar",
    }  # fmt: skip


def test_splits_are_never_mixed(tmp_path: Path) -> None:
    for split, text in (("train", "A dog."), ("val", "A cat.")):
        pictures(tmp_path / f"images/{split}/0.tar", "a")
        texts(tmp_path / f"texts/{split}/0.tar", a=text)
    pictures(tmp_path / "images/train/1.tar", "only-in-train")
    make_tar(tmp_path / "texts/val/1.tar", {"only-in-train.txt": b"Of another split."})
    pairs, reader = read(tmp_path)
    assert {pair.split: pair.caption for pair in pairs} == {
        "train": "A dog.", "validation": "A cat.",
    }  # fmt: skip
    assert {(p.file, p.row) for p in reader.problems} == {
        ("images/train/1.tar", 1), ("texts/val/1.tar", 1),
    }  # fmt: skip


def test_what_has_no_partner_is_listed_with_file_and_row(tmp_path: Path) -> None:
    pictures(tmp_path / "images/0.tar", "a", "alone", "c")
    texts(tmp_path / "texts/0.tar", a="A dog.", unseen="A cat.", c="A cow.")
    pairs, reader = read(tmp_path)
    assert [pair.caption for pair in pairs] == ["A dog.", "A cow."]
    assert [(p.file, p.row, p.kind) for p in reader.problems] == [
        ("images/0.tar", 2, "unreadable row"), ("texts/0.tar", 2, "no image"),
    ]  # fmt: skip
    assert "alone" in reader.problems[0].message
    assert "unseen" in reader.problems[1].message


def test_several_texts_of_a_picture_are_left_out(tmp_path: Path) -> None:
    pictures(tmp_path / "images/0.tar", "a", "b")
    texts(tmp_path / "texts/0.tar", a="A dog.", b="A cat.")
    texts(tmp_path / "captions/0.tar", a="A red dog.")
    pairs, reader = read(tmp_path)
    assert [pair.caption for pair in pairs] == ["A cat."]
    assert [(p.file, p.row) for p in reader.problems] == [("images/0.tar", 1)]
    for name in ("texts/0.tar", "captions/0.tar"):
        assert name in reader.problems[0].message


def test_a_caption_in_the_tar_of_the_picture_comes_first(tmp_path: Path) -> None:
    make_tar(tmp_path / "whole/0.tar", {"a.png": encoded(), "a.txt": b"A dog."})
    texts(tmp_path / "more/0.tar", a="Something else.")
    pairs, reader = read(tmp_path)
    assert [pair.caption for pair in pairs] == ["A dog."]
    assert [(p.file, p.row) for p in reader.problems] == [("more/0.tar", 1)]


def test_the_folder_that_was_packed_is_no_part_of_a_name(tmp_path: Path) -> None:
    make_tar(tmp_path / "images.tar", {"images/x/a.png": encoded(), "images/y/a.png": encoded()})
    make_tar(tmp_path / "texts.tar", {"texts/y/a.txt": b"A cat.", "texts/x/a.txt": b"A dog."})
    pairs, reader = read(tmp_path)
    assert [pair.caption for pair in pairs] == ["A dog.", "A cat."]
    assert reader.problems == []


def test_names_in_another_normal_form_join(tmp_path: Path) -> None:
    make_tar(tmp_path / "images/0.tar", {"cafe\u0301.png": encoded()})
    make_tar(tmp_path / "texts/0.tar", {"caf\u00e9.txt": b"A cup."})
    assert captions_of(tmp_path) == [("images/0.tar", "A cup.")]


def test_pictures_behind_many_texts_are_seen(tmp_path: Path) -> None:
    """A tar that is not sorted by sample is no tar of texts."""
    members = {f"{n}.txt": b"A text." for n in range(300)}
    make_tar(tmp_path / "x/0.tar", {**members, "0.png": encoded()})
    make_tar(tmp_path / "y/0.tar", {"a.png": encoded(), "a.txt": b"A dog."})
    pairs, reader = read(tmp_path)
    assert [pair.caption for pair in pairs] == ["A dog."]
    assert "x/0.tar" in {p.file for p in reader.problems}


def test_a_damaged_tar_of_texts_is_said(tmp_path: Path) -> None:
    pictures(tmp_path / "images/0.tar", "a", "b")
    path = texts(tmp_path / "texts/0.tar", a="A dog.", b="A cat.")
    path.write_bytes(path.read_bytes()[:1100])
    pairs, reader = read(tmp_path)
    assert [pair.caption for pair in pairs] == ["A dog."]
    assert {p.file for p in reader.problems} == {"images/0.tar", "texts/0.tar"}


def test_pictures_alone_will_do_where_that_is_stated(tmp_path: Path) -> None:
    pictures(tmp_path / "images/0.tar", "a", "b")
    texts(tmp_path / "texts/0.tar", a="A dog.")
    assert captions_of(tmp_path, uncaptioned=True) == [
        ("images/0.tar", ""), ("images/0.tar", "A dog."),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("of_pictures", "of_texts"),
    [
        (("a", "b"), ("data/captions/a", "data/captions/b")),
        (("set/images/a", "set/images/b"), ("a", "b")),
        (("set/train/a", "set/val/b"), ("train/a", "val/b")),
        (("x/images/a", "x/images/b"), ("y/x/captions/a", "y/x/captions/b")),
        (("00/a", "01/b"), ("a", "b")),
        (("a", "b"), ("x/00/a", "x/01/b")),
    ],
)
def test_folders_of_another_depth(
    tmp_path: Path, of_pictures: tuple[str, str], of_texts: tuple[str, str]
) -> None:
    pictures(tmp_path / "0.img.tar", *of_pictures)
    texts(tmp_path / "0.cap.tar", **dict(zip(of_texts, ("A dog.", "A cat."), strict=True)))
    pairs, reader = read(tmp_path)
    assert [(pair.id, pair.caption) for pair in pairs] == [
        (of_pictures[0], "A dog."), (of_pictures[1], "A cat.")
    ]  # fmt: skip
    assert reader.problems == []
    assert len(reader.notes) == 1


@pytest.mark.parametrize(
    ("of_pictures", "of_texts"),
    [
        (("train/a",), ("val/a",)),
        (("cats/a",), ("dogs/a",)),
        (("train/images/a",), ("val/captions/a",)),
        (("x/images/a",), ("y/captions/a",)),
        (("train/a", "val/a"), ("a",)),
        (("a",), ("x/a", "y/a")),
    ],
)
def test_folders_that_tell_pictures_apart_count(
    tmp_path: Path, of_pictures: tuple[str, ...], of_texts: tuple[str, ...]
) -> None:
    pictures(tmp_path / "0.img.tar", *of_pictures)
    texts(tmp_path / "0.cap.tar", **dict.fromkeys(of_texts, "A dog."))
    with pytest.raises(DatasetFormatError):
        read(tmp_path)


@pytest.mark.parametrize("gone", ["images/1.tar", "texts/1.tar"])
@pytest.mark.parametrize("begins_again", [False, True])
def test_where_a_shard_is_gone_its_partner_is_left_out(
    tmp_path: Path, gone: str, begins_again: bool
) -> None:
    for shard in range(3):
        name = "a" if begins_again else f"a{shard}"
        pictures(tmp_path / f"images/{shard}.tar", name)
        texts(tmp_path / f"texts/{shard}.tar", **{name: f"A dog {shard}."})
    (tmp_path / gone).unlink()
    pairs, reader = read(tmp_path)
    captions = [(pair.file, pair.caption) for pair in pairs]
    assert captions == [("images/0.tar", "A dog 0."), ("images/2.tar", "A dog 2.")]
    partner = gone.replace("images", "TEXTS").replace("texts", "images").replace("TEXTS", "texts")
    assert [problem.file for problem in reader.problems] == [partner]
