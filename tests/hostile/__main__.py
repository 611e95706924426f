"""Run all attacks and report which were withstood: `python -m tests.hostile`"""

import argparse
import sys
from collections import Counter

import pytest

from tests.hostile.attacks import ATTACKS, ROOT, Attack


class Outcomes:
    """A pytest plugin that records the outcome of each test."""

    def __init__(self) -> None:
        self.by_test: dict[str, str] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" or report.outcome != "passed":
            self.by_test[report.nodeid] = (
                "failed" if "failed" in (report.outcome, self.by_test.get(report.nodeid))
                else report.outcome
            )  # fmt: skip

    def of(self, attack: Attack) -> Counter[str]:
        return Counter(
            outcome
            for test, outcome in self.by_test.items()
            if any(within(test.removeprefix("tests/"), wanted) for wanted in attack.tests)
        )


def within(test: str, wanted: str) -> bool:
    """Whether a test, by its path below tests/, is or belongs to an entry of `Attack.tests`."""
    return test == wanted or test.startswith((f"{wanted}::", f"{wanted}[", f"{wanted}/"))


def table(outcomes: Outcomes, attacks: tuple[Attack, ...]) -> tuple[str, bool]:
    """The table in Markdown, and whether everything that could be tried was withstood."""
    lines = ["| tried | cases | held | did not hold | not tried |", "|---|---|---|---|---|"]
    all_held = True
    for attack in attacks:
        counts = outcomes.of(attack)
        total, failed = counts.total(), counts["failed"]
        all_held &= failed == 0 and total > 0
        cells = (attack.tried, total, counts["passed"], failed, counts["skipped"])
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines), all_held


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="attacks whose line holds this text")
    args = parser.parse_args()
    attacks = tuple(attack for attack in ATTACKS if args.only in attack.tried)
    if not attacks:
        parser.error(f"No attack is called '{args.only}'.")
    outcomes = Outcomes()
    tests = dict.fromkeys(str(ROOT / "tests" / test) for attack in attacks for test in attack.tests)
    status = pytest.main(
        ["-q", "--no-header", f"--rootdir={ROOT}", "-p", "no:cacheprovider", *tests], [outcomes]
    )
    text, all_held = table(outcomes, attacks)
    print(f"\n{text}")
    return 0 if all_held and status == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
