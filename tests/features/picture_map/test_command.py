"""`map` as scripts use it."""

from tests.cli.conftest import scored_copies
from tests.cli.invoking import as_json, invoked
from tests.jobs.copied_pictures import PAIRS

__all__ = ["scored_copies"]


def test_the_map_command_reports_counts_and_an_unknown_dataset(
    scored_copies: dict[str, str],
) -> None:
    report = as_json(scored_copies, "map", "pairs")
    assert (report["pictures"], report["pairs"], report["without"]) == (PAIRS + 3, PAIRS + 4, 0)
    status, out, _ = invoked(scored_copies, "map", "pairs")
    assert status == 0
    assert f"{PAIRS + 3} pictures" in out
    status, _, err = invoked(scored_copies, "map", "nothing")
    assert status != 0
    assert "nothing" in err
