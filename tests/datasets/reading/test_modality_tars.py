"""Pictures and texts in tars of their own, joined by the names of their members."""

from pathlib import Path

import pytest

from backend.errors import DatasetFormatError
from tests.datasets.folders import encoded, make_tar, read


def pictures(path: Path, *names: str) -> Path:
    return make_tar(path, {f"{name}.png": encoded() for name in names})


def texts(path: Path, **captions: str) -> Path:
    return make_tar(path, {f"{name}.txt": text.encode() for name, text in captions.items()})


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


PNG = encoded()
#: Tars with their members, the captions that are read, and the places of problems.
SETS: dict[str, tuple[dict[str, dict[str, bytes]], list[str], list[tuple[str, int]]]] = {
    "a third tar holds metadata": (
        {"images/0.tar": {"a.png": PNG}, "texts/0.tar": {"a.txt": b"A dog."},
         "meta/0.tar": {"a.json": b'{"licence": "CC0"}'}},
        ["A dog."], [],
    ),
    "names that begin again in each shard": (
        {"images/0.tar": {"a.png": PNG, "b.png": PNG}, "texts/1.tar": {"a.txt": b"1a"},
         "images/1.tar": {"a.png": PNG, "b.png": PNG},
         "texts/0.tar": {"a.txt": b"0a", "b.txt": b"0b"}},
        ["0a", "0b", "1a"], [("images/1.tar", 2)],
    ),
    # Both pictures have its name, and no shard of the texts has the name of one of theirs.
    "one text for two pictures": (
        {"images/x-1.tar": {"a.png": PNG}, "images/x-2.tar": {"a.png": PNG},
         "texts/everything.tar": {"a.txt": b"A dog."}},
        [], [("images/x-1.tar", 1), ("images/x-2.tar", 1), ("texts/everything.tar", 1)],
    ),
    "splits": (
        {"images/train/0.tar": {"a.png": PNG, "b.png": PNG},
         "texts/train/0.tar": {"a.txt": b"A dog."},
         "images/val/0.tar": {"a.png": PNG},
         "texts/val/0.tar": {"a.txt": b"A cat.", "b.txt": b"A cow."}},
        ["A dog.", "A cat."], [("images/train/0.tar", 2), ("texts/val/0.tar", 2)],
    ),
    "no partner": (
        {"images/0.tar": {"a.png": PNG, "alone.png": PNG, "c.png": PNG},
         "texts/0.tar": {"a.txt": b"A dog.", "unseen.txt": b"A cat.", "c.txt": b"A cow."}},
        ["A dog.", "A cow."], [("images/0.tar", 2), ("texts/0.tar", 2)],
    ),
    "several texts of a picture": (
        {"images/0.tar": {"a.png": PNG, "b.png": PNG},
         "texts/0.tar": {"a.txt": b"A dog.", "b.txt": b"A cat."},
         "captions/0.tar": {"a.txt": b"A red dog."}},
        ["A cat."], [("images/0.tar", 1)],
    ),
    "a caption beside the picture": (
        {"whole/0.tar": {"a.png": PNG, "a.txt": b"A dog."}, "more/0.tar": {"a.txt": b"Else."}},
        ["A dog."], [("more/0.tar", 1)],
    ),
    "the folder that was packed": (
        {"images.tar": {"images/x/a.png": PNG, "images/y/a.png": PNG},
         "texts.tar": {"texts/y/a.txt": b"A cat.", "texts/x/a.txt": b"A dog."}},
        ["A dog.", "A cat."], [],
    ),
    "another normal form": (
        {"images/0.tar": {"cafe\u0301.png": PNG}, "texts/0.tar": {"caf\u00e9.txt": b"A cup."}},
        ["A cup."], [],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SETS)
def test_texts_join_the_pictures_of_their_names(tmp_path: Path, name: str) -> None:
    tars, captions, problems = SETS[name]
    for place, members in tars.items():
        make_tar(tmp_path / place, members)
    pairs, reader = read(tmp_path)
    assert [pair.caption for pair in pairs] == captions
    assert [(problem.file, problem.row) for problem in reader.problems] == problems
    if name == "a third tar holds metadata":
        assert pairs[0].extra["licence"] == "CC0"
    if name == "several texts of a picture":
        assert all(place in reader.problems[0].message for place in ("texts/0", "captions/0"))
    if name == "no partner":
        assert ["alone" in p.message for p in reader.problems] == [True, False]


def test_pictures_behind_many_texts_are_seen(tmp_path: Path) -> None:
    """A tar that is not sorted by sample is no tar of texts."""
    members = {f"{n}.txt": b"A text." for n in range(300)}
    make_tar(tmp_path / "x/0.tar", {**members, "0.png": PNG})
    make_tar(tmp_path / "y/0.tar", {"a.png": PNG, "a.txt": b"A dog."})
    pairs, reader = read(tmp_path)
    assert [pair.caption for pair in pairs] == ["A dog."]
    assert "x/0.tar" in {p.file for p in reader.problems}


def test_pictures_alone_will_do_where_that_is_stated(tmp_path: Path) -> None:
    pictures(tmp_path / "images/0.tar", "a", "b")
    texts(tmp_path / "texts/0.tar", a="A dog.")
    assert sorted(pair.caption for pair in read(tmp_path, uncaptioned=True)[0]) == ["", "A dog."]


def test_a_damaged_tar_of_texts_is_said(tmp_path: Path) -> None:
    pictures(tmp_path / "images/0.tar", "a", "b")
    path = texts(tmp_path / "texts/0.tar", a="A dog.", b="A cat.")
    path.write_bytes(path.read_bytes()[:1100])
    pairs, reader = read(tmp_path)
    assert [pair.caption for pair in pairs] == ["A dog."]
    assert {p.file for p in reader.problems} == {"images/0.tar", "texts/0.tar"}


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
