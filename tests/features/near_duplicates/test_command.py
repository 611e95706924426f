"""`duplicates` as scripts use it."""

import pytest

from tests.cli.conftest import scored_copies
from tests.cli.invoking import as_json, invoked
from tests.jobs.copied_pictures import PAIRS

__all__ = ["scored_copies"]


def test_groups_are_listed_and_one_image_of_each_is_kept(scored_copies: dict[str, str]) -> None:
    answer = as_json(scored_copies, "duplicates", "pairs", "--threshold", "0.995")
    assert (answer["pictures"], answer["kept"]) == (PAIRS + 3, None)
    (group,) = (g for g in answer["groups"] if g[0]["image"] == "2.png")
    assert [member["image"] for member in group] == ["2.png", "same.png", "copy.jpg"]
    assert group[0]["similarity"] == 1
    status, out, _ = invoked(scored_copies, "duplicates", "pairs", "--threshold", "0.995")
    assert status == 0
    assert "3 pictures:" in out
    assert "copy.jpg" in out
    planned = as_json(
        scored_copies, "duplicates", "pairs", "--threshold", "0.995", "--keep", "first", "--dry-run"
    )
    done = as_json(scored_copies, "duplicates", "pairs", "--threshold", "0.995", "--keep", "first")
    assert planned["kept"] == done["kept"]
    assert done["kept"]["groups"] == len(answer["groups"])
    (group,) = (g for g in done["groups"] if g[0]["image"] == "2.png")
    again = as_json(scored_copies, "duplicates", "pairs", "--threshold", "0.995", "--keep", "first")
    assert again["kept"] == {"groups": 0, "dropped": 0, "left_alone": 0, "passed_over": 0}
    (group,) = (g for g in again["groups"] if g[0]["image"] == "2.png")
    assert [member["verdict"] for member in group] == [None, "drop", "drop"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--keep", "prettiest"), "first, sharpest, best"),
        (("--dry-run",), "--keep"),
        (("--keep", "sharpest"), "quality NAME"),
    ],
)
def test_invalid_arguments_are_refused_with_the_reason(
    scored_copies: dict[str, str], arguments: tuple[str, ...], message: str
) -> None:
    status, out, err = invoked(scored_copies, "duplicates", "pairs", *arguments)
    assert status == 2
    assert message in err
    assert out == ""
