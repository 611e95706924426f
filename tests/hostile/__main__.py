"""Run the tests that SECURITY.md names and report which threats were withstood:
`python -m tests.hostile`"""

import argparse
import sys
from collections import Counter

import pytest

from tests.hostile.security import ROOT, Threat, threats


class Outcomes:
    """A pytest plugin that records the outcome of each test."""

    def __init__(self) -> None:
        self.by_test: dict[str, str] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" or report.outcome != "passed":
            has_failed = "failed" in (report.outcome, self.by_test.get(report.nodeid))
            self.by_test[report.nodeid] = "failed" if has_failed else report.outcome

    def of(self, threat: Threat) -> Counter[str]:
        return Counter(
            outcome
            for test, outcome in self.by_test.items()
            if any(test.startswith((name, f"{name}[")) for name in threat.tests)
        )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="threats whose line holds this text")
    only = parser.parse_args().only
    chosen = [threat for threat in threats() if only in threat.name]
    if not chosen:
        parser.error(f"No threat is called '{only}'.")
    outcomes = Outcomes()
    tests = dict.fromkeys(str(ROOT / test) for threat in chosen for test in threat.tests)
    options = ["-q", "--no-header", f"--rootdir={ROOT}", "-p", "no:cacheprovider"]
    status = pytest.main([*options, *tests], [outcomes])
    print("\n| threat | held | did not hold | not tried |\n|---|---|---|---|")
    for threat in chosen:
        counts = outcomes.of(threat)
        cells = (threat.name, counts["passed"], counts["failed"], counts["skipped"])
        print("| " + " | ".join(map(str, cells)) + " |")
    return int(status)


if __name__ == "__main__":
    sys.exit(main())
