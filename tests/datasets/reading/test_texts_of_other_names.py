"""Captions beside pictures whose files are called neither `.txt` nor `.caption`."""

import json
from pathlib import Path

import pytest

from tests.datasets.folders import encoded, make_tar, picture, read, write


@pytest.mark.parametrize(
    ("ending", "captions"),
    [
        ("captions", ["A dog.", "It is red."]),
        ("sentences", ["A dog.", "It is red."]),
        ("description", ["A dog.\nIt is red."]),
    ],
)
@pytest.mark.parametrize("is_tar", [True, False])
def test_endings_that_say_caption_are_read(
    tmp_path: Path, ending: str, captions: list[str], is_tar: bool
) -> None:
    text = b"A dog.\nIt is red.\n"
    if is_tar:
        make_tar(tmp_path / "0.tar", {"a.png": encoded(), f"a.{ending}": text, "a.cls": b"3"})
    else:
        picture(tmp_path / "a.png")
        write(tmp_path / f"a.{ending}", text)
    pairs, reader = read(tmp_path)
    assert [pair.caption for pair in pairs] == captions
    assert reader.problems == []


def test_a_usual_ending_comes_first(tmp_path: Path) -> None:
    make_tar(tmp_path / "0.tar", {"a.png": encoded(), "a.title": b"Title", "a.txt": b"A dog."})
    assert [pair.caption for pair in read(tmp_path)[0]] == ["A dog."]


@pytest.mark.parametrize("name", [".blip2", "blip2", "json[long]", "json[both][blip2]"])
def test_any_other_name_can_be_chosen(tmp_path: Path, name: str) -> None:
    document = {"long": "A dog.", "both": {"blip2": "A dog."}, "width": 12}
    members = {"a.png": encoded(), "a.blip2": b"A dog.", "a.json": json.dumps(document).encode()}
    make_tar(tmp_path / "0.tar", members)
    pairs, reader = read(tmp_path, caption_column=name)
    assert [pair.caption for pair in pairs] == ["A dog."]
    assert reader.problems == []


def test_what_lies_beside_a_picture_without_a_caption_is_named(tmp_path: Path) -> None:
    """The shard is read all the same: other samples have a caption."""
    make_tar(
        tmp_path / "0.tar",
        {
            "a.png": encoded(), "a.blip2": b"A dog.", "a.json": b'{"wide": "A red dog."}',
            "b.png": encoded(), "b.txt": b"A cat.", "c.png": encoded(),
        },
    )  # fmt: skip
    pairs, reader = read(tmp_path)
    assert [pair.caption for pair in pairs] == ["A cat."]
    assert [p.row for p in reader.problems] == [1, 3]
    assert {p.kind for p in reader.problems} == {"unreadable row"}
    for name in (".blip2", "json[wide]"):
        assert name in reader.problems[0].message


def test_conversations_of_a_sample_are_its_captions(tmp_path: Path) -> None:
    turns = [{"from": "human", "value": "<image>"}, {"from": "gpt", "value": "A dog."}]
    document = json.dumps({"conversations": turns}).encode()
    make_tar(tmp_path / "0.tar", {"a.png": encoded(), "a.json": document})
    assert [pair.caption for pair in read(tmp_path)[0]] == ["A dog."]


def in_languages(tmp_path: Path, *languages: str) -> Path:
    """A tar of pictures, whose captions are in a language each."""
    members: dict[str, bytes] = {}
    for number, language in enumerate(languages):
        members |= {f"{number}.png": encoded(), f"{number}{language}.txt": b"A dog."}
    make_tar(tmp_path / "t.tar", members)
    return tmp_path


@pytest.mark.parametrize(
    ("languages", "left_out"),
    [
        ((".en", ".de", ".en"), [".de"]),
        (("", ".en", ".en"), [".en", ".en"]),
        ((".en", ".en", ".en"), []),
        ((".png", "", ".png"), []),
        (("", ".1", ""), []),
        ((".cap1", ".cap2", ".cap3"), []),
        ((".ab", ".cd", ".ef"), []),
    ],
)
def test_texts_of_another_kind_than_the_first_are_left_out(
    tmp_path: Path, languages: tuple[str, ...], left_out: list[str]
) -> None:
    """Those whose name comes again: others may be hashes or authors."""
    pairs, reader = read(in_languages(tmp_path, *languages))
    assert len(pairs) == len(languages) - len(left_out)
    assert [problem.kind for problem in reader.problems] == ["unreadable row"] * len(left_out)
    for problem, language in zip(reader.problems, left_out, strict=True):
        assert f"{languages[0]}.txt,".removeprefix(".") in problem.message
        assert f",{language.removeprefix('.')}.txt" in problem.message


def test_kinds_in_several_tars_are_those_of_the_first(tmp_path: Path) -> None:
    for number, language in enumerate(("en", "de")):
        members: dict[str, bytes] = {}
        for key in "ab":
            members |= {f"{key}{number}.png": encoded(), f"{key}{number}.{language}.txt": b"A."}
        make_tar(tmp_path / f"{number}.tar", members)
    pairs, reader = read(tmp_path)
    assert (len(pairs), [problem.row for problem in reader.problems]) == (2, [1, 2])


def test_texts_that_are_called_otherwise_than_their_pictures_are_read(tmp_path: Path) -> None:
    members = {"a.b.png": encoded(), "a.c.txt": b"A dog.", "d.e.png": encoded(), "d.f.txt": b"Cat."}
    make_tar(tmp_path / "0.tar", members)
    pairs, reader = read(tmp_path)
    assert [pair.caption for pair in pairs] == ["A dog.", "Cat."]
    assert reader.problems == []
    assert len(reader.notes) == 1


def test_of_several_texts_of_a_sample_none_of_another_kind_is_chosen(tmp_path: Path) -> None:
    members = {
        "a.png": encoded(), "a.en.txt": b"A dog.",
        "b.png": encoded(), "b.en.txt": b"A cat.", "b.txt": b"Eine Katze.",
    }  # fmt: skip
    make_tar(tmp_path / "0.tar", members)
    pairs, reader = read(tmp_path)
    assert [pair.caption for pair in pairs] == ["A dog."]
    assert [problem.row for problem in reader.problems] == [2]


def test_one_message_names_all_texts_of_a_tar(tmp_path: Path) -> None:
    """By authors, of whom nothing tells that they are no kinds."""
    authors = (".ann", ".bob", ".cem", ".ann", ".bob", ".cem")
    pairs, reader = read(in_languages(tmp_path, *authors))
    assert (len(pairs), len(reader.problems)) == (2, 4)
    every = "ann.txt,bob.txt,cem.txt"
    assert all(every in problem.message for problem in reader.problems)
    pairs, reader = read(tmp_path / "t.tar", caption_column=every)
    assert (len(pairs), reader.problems) == (6, [])


def test_kinds_of_captions_of_samples_may_be_named(tmp_path: Path) -> None:
    pairs, reader = read(in_languages(tmp_path, ".en", ".de"), caption_column="en.txt,de.txt")
    assert len(pairs) == 2
    assert reader.problems == []
