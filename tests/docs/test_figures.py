"""Limits and names that pages state, and that nothing generates, are those of the program."""

import pytest

from backend.datasets.export_row import COLUMNS
from backend.datasets.reading import pair_checks
from backend.engine.detection.verdict_learning import FEWEST_VERDICTS
from backend.engine.statistics.stopping import ENOUGH
from backend.engine.trajectories.depth import FIRST_STEP_ABOVE
from backend.jobs.manage_datasets import SAMPLE
from backend.review.queue import LEAST_MIXED, MIXED_EVERY
from backend.review.queue_values import MOST_READ
from tests.docs.reference import ROOT

_NUMBERS = {5: "five", 30: "thirty"}
SAID = [
    ("reviewing.md", f"of more than {MOST_READ:,} pairs the shares of a random sample"),
    ("reviewing.md", f"One pair in {MIXED_EVERY} of the queue is drawn at random"),
    ("reviewing.md", f"in datasets of {LEAST_MIXED} pairs or more"),
    ("reviewing.md", f"Once {_NUMBERS[ENOUGH]} of them are decided"),
    ("reviewing.md", f"After {_NUMBERS[FEWEST_VERDICTS]} verdicts or more"),
    ("method.md", f"the default above {FIRST_STEP_ABOVE:,} pairs"),
    ("datasets.md", f"of up to {pair_checks.LONGEST_CAPTION:,} characters"),
    ("datasets.md", f"a duplicate id or one of more than {pair_checks.LONGEST_ID}"),
    ("datasets.md", f"looks for {SAMPLE} of its pictures"),
]


@pytest.mark.parametrize(("page", "text"), SAID)
def test_limits_that_pages_state_are_those_of_the_program(page: str, text: str) -> None:
    assert text in " ".join((ROOT / "docs" / page).read_text(encoding="utf-8").split())


def test_the_page_on_exports_names_every_column() -> None:
    page = (ROOT / "docs/export.md").read_text(encoding="utf-8")
    assert [name for name in COLUMNS if f"`{name}`" not in page] == []
