"""The table of research/RESULTS.md: `python -m tests.faults --times 100`"""

import argparse
import sys
import tempfile
from pathlib import Path

import pytest

from tests.faults.repeating import repeat
from tests.faults.scenarios import SCENARIOS
from tests.fixtures import small_cold_start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=100)
    parser.add_argument("--only", choices=[scenario.name for scenario in SCENARIOS])
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    small_cold_start.shrink(pytest.MonkeyPatch())  # the commits stay the same
    print("| killed during | times | killed before its end | lost | doubled | seconds, unkilled |")
    print("|---|---|---|---|---|---|", flush=True)
    for kind in SCENARIOS:
        if args.only not in (None, kind.name):
            continue
        with tempfile.TemporaryDirectory() as folder:
            done = repeat(kind(), args.times, Path(folder), args.seed, _print_kills)
        # A lost or duplicated item would have raised an error.
        print(f"| {done.name} | {done.times} | {done.killed} | 0 | 0 | {done.seconds:.1f} |",
              flush=True)  # fmt: skip


def _print_kills(done: int, times: int, killed: int) -> None:
    """One line per kill on standard error: some kinds take half an hour for a hundred."""
    print(f"{done} of {times}, {killed} before the end", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
