"""Several people at once over a real server, on either database (`backend/bench/load.py`)."""

from backend.bench.load import bench_load


def test_no_verdict_is_lost_and_no_pair_is_judged_twice(url: str) -> None:
    found = bench_load(6, 60, url)
    assert found.confirmed >= 60
    assert (found.lost, found.doubled, found.conflicts) == (0, 0, 0)
    assert {one.question for one in found.latencies} == {"next pair", "verdict"}
