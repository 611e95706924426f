"""The demo as it is, and with its captions one row off; from the command line."""

import json
from pathlib import Path

from backend.workspace import Workspace
from tests.cli.invoking import invoked
from tests.fixtures.demo import demo_pairs, true_captions
from tests.fixtures.features import has_feature

#: Fewer pairs tell less, more take longer to score.
PAIRS = 60


def test_nothing_is_found_in_the_demo(
    scored_demo: Workspace, opened_pictures: list[object]
) -> None:
    """Half of its captions are wrong, and all stand in their own rows. Few pictures are opened."""
    report = scored_demo.jobs.run("rows", 1)
    assert report.findings == ()
    assert report.reasons == ()
    assert report.compared == report.pairs == 600
    assert len(opened_pictures) <= 200


def test_captions_one_row_off_are_said_and_moved_back(tmp_path: Path) -> None:
    captions = true_captions(PAIRS)
    folder = demo_pairs(tmp_path / "pairs", captions[-1:] + captions[:-1])
    environment = {
        "TRACED_DATA_DIRECTORY": str(tmp_path / "state"), "TRACED_TRAJECTORIES": "first-step",
        "TRACED_CAPTIONER": "none", "TRACED_DETECTOR": "eight signs",
    }  # fmt: skip

    def run(*words: str) -> dict[str, object]:
        status, out, err = invoked(environment, *words, "--json")
        assert status == 0, err
        report: dict[str, object] = json.loads(out)
        return report

    scored = run("score", str(folder), "--no-suggestions")
    assert len(scored["notices"]) == 1  # type: ignore[arg-type]
    if has_feature("lint"):
        assert len(run("lint", "pairs")["notices"]) == 1  # type: ignore[arg-type]
    assert len(run("progress", "pairs")["notices"]) == 1  # type: ignore[arg-type]
    run("export", "pairs", str(tmp_path / "before"), "--format", "csv")
    card = (tmp_path / "before" / "README.md").read_text(encoding="utf-8")
    assert str(scored["notices"][0]) in card  # type: ignore[index]
    planned = run("rows", "pairs", "--mend", "--dry-run")
    assert (planned["moves"], planned["moved"]) == (PAIRS - 1, 0)
    assert run("rows", "pairs", "--mend")["moved"] == PAIRS - 1
    assert run("progress", "pairs")["notices"] == []
    run("export", "pairs", str(tmp_path / "out"), "--format", "csv")
    card = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    assert "caption of another row" in card
    assert f"caption of another row, by curator 1 ({PAIRS - 1})" in card
