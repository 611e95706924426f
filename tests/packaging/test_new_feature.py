"""A feature with a page, a table, a key, a filter and a part of the review page, in one folder that
touches nothing outside it (`favourites`)."""

import json
import os
import re
import shutil
import tomllib
from pathlib import Path

from tests.fixtures import programs

FEATURE = Path(__file__).with_name("favourites")


def test_a_feature_in_one_folder_has_all_its_places(tmp_path: Path) -> None:
    packages = tmp_path / "packages"
    about = packages / "favourites-1.0.dist-info"
    shutil.copytree(FEATURE / "favourites", packages / "favourites")
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: favourites\nVersion: 1.0\n")
    groups = tomllib.loads((FEATURE / "pyproject.toml").read_text())["project"]["entry-points"]
    (about / "entry_points.txt").write_text(
        "".join(
            f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in members.items())
            for group, members in groups.items()
        )
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(packages), str(programs.ROOT)])}
    status, printed, reported = programs.run(
        [str(FEATURE / "journey.py"), str(tmp_path / "data")], environment
    )
    assert status == 0, reported
    report = json.loads(printed.splitlines()[-1])
    pair, liked_by = report["pair"], "Ada &lt;b&gt;"
    assert "liking" not in report["before"]
    assert f"A favourite of {liked_by}" in report["after"]
    assert report["queue"] == pair
    assert re.findall(r'id="row-(\d+)"', report["rows"]) == [str(pair)]
    assert 'data-filter="liked"' in report["panel"]
    assert [row["id"] for row in report["listed"]["pairs"]] == [pair]
    assert report["api"] == {"liked_by": "Ada <b>"}
    assert (report["page"], report["is_in_bar"]) == (200, True)
