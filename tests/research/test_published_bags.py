"""The published format of the bags, and files in other formats."""

import json
from pathlib import Path

import pytest

from backend.errors import DatasetError
from backend.features.specificity.picture_bags import write_bags
from research.bags_and_recall import read_bags, rows_of


def test_the_published_form_is_read_unchanged(tmp_path: Path) -> None:
    file = tmp_path / "truematch_3.json"
    file.write_text(json.dumps([[391895, 522418, 184613], [318219, 554625, 574769], [1, 2, 3]]))
    bags = read_bags(file)
    assert bags[0] == ("391895", "522418", "184613")
    assert rows_of(file, bags[2:], {"1": 7, "2": 0, "3": 4}) == [(7, 0, 4)]


def test_written_bags_can_be_read_again(tmp_path: Path) -> None:
    file = tmp_path / "bags-2.json"
    bags = (("a/ü.jpg", "b"), ("c", 'd"'))
    write_bags(file, bags)
    assert read_bags(file) == bags
    write_bags(file, ())
    assert read_bags(file) == ()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "not valid JSON"),
        ('{"a": 1}', "list of bags"),
        ("[1, 2]", "list of bags"),
        ('[["a", "b"], ["c", null]]', "bag 2: ids are texts"),
        ('[["a", true]]', "bag 1: ids are texts"),
        ('[["a"]]', "at least two"),
        ('[["a", "b", "a"]]', "the picture 'a' twice"),
    ],
)
def test_invalid_files_are_reported_with_the_place(
    tmp_path: Path, content: str, message: str
) -> None:
    file = tmp_path / "bags.json"
    file.write_text(content)
    with pytest.raises(DatasetError, match=message):
        read_bags(file)


def test_unknown_pictures_are_listed_with_their_bags(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=r"'x' \(bag 2\), 'y' \(bag 2\)"):
        rows_of(tmp_path, (("a", "b"), ("x", "y")), {"a": 0, "b": 1})
    with pytest.raises(DatasetError, match="cannot be read"):
        read_bags(tmp_path / "none.json")
