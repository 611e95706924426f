"""`duplicates` and `map` as scripts use them."""

from pathlib import Path

import pytest

from tests.cli.invoking import as_json, environment_of, invoked
from tests.fixtures.shared import SharedFolder
from tests.jobs.copied_pictures import PAIRS, score_copies


@pytest.fixture(scope="session")
def scored(shared_folder: SharedFolder) -> Path:
    return shared_folder("scored-copies", score_copies)


@pytest.fixture
def environment(scored: Path, tmp_path: Path) -> dict[str, str]:
    return environment_of(scored, tmp_path)


def test_groups_are_listed_and_one_image_of_each_is_kept(environment: dict[str, str]) -> None:
    listed = as_json(environment, "duplicates", "pairs", "--threshold", "0.995")
    assert (listed["pictures"], listed["kept"]) == (PAIRS + 3, None)
    (group,) = (g for g in listed["groups"] if g[0]["image"] == "2.png")
    assert [member["image"] for member in group] == ["2.png", "same.png", "copy.jpg"]
    assert group[0]["similarity"] == 1
    status, out, _ = invoked(environment, "duplicates", "pairs", "--threshold", "0.995")
    assert status == 0
    assert "3 pictures:" in out
    assert "copy.jpg" in out
    planned = as_json(
        environment, "duplicates", "pairs", "--threshold", "0.995", "--keep", "first", "--dry-run"
    )
    done = as_json(environment, "duplicates", "pairs", "--threshold", "0.995", "--keep", "first")
    assert planned["kept"] == done["kept"]
    assert done["kept"]["groups"] == len(listed["groups"])
    (group,) = (g for g in done["groups"] if g[0]["image"] == "2.png")
    again = as_json(environment, "duplicates", "pairs", "--threshold", "0.995", "--keep", "first")
    assert again["kept"] == {"groups": 0, "dropped": 0, "left_alone": 0, "passed_over": 0}
    (group,) = (g for g in again["groups"] if g[0]["image"] == "2.png")
    assert [member["verdict"] for member in group] == [None, "drop", "drop"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--keep", "prettiest"), "first, sharpest, best"),
        (("--dry-run",), "--keep"),
        (("--threshold", "0.2"), "0.8 to 1"),
        (("--keep", "sharpest"), "quality NAME"),
    ],
)
def test_invalid_arguments_are_refused_with_the_reason(
    environment: dict[str, str], arguments: tuple[str, ...], message: str
) -> None:
    status, out, err = invoked(environment, "duplicates", "pairs", *arguments)
    assert status == 2
    assert message in err
    assert out == ""


def test_the_map_command_reports_counts_and_an_unknown_dataset(environment: dict[str, str]) -> None:
    report = as_json(environment, "map", "pairs")
    assert (report["pictures"], report["pairs"], report["without"]) == (PAIRS + 3, PAIRS + 4, 0)
    status, out, _ = invoked(environment, "map", "pairs")
    assert status == 0
    assert f"{PAIRS + 3} pictures" in out
    status, _, err = invoked(environment, "map", "nothing")
    assert status != 0
    assert "nothing" in err
