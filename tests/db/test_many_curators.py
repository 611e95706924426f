"""Several people at once over a real server, on either database (`research/bench/load.py`)."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from db import Store
from db.queries import hold_queries, queue_queries
from db.queries.queue_filter import QueueFilter
from research.bench.load import bench_load
from tests.db.building import add_dataset, decide

#: Four for each curator: with fewer, some would finish before others begin.
VERDICTS = 24


@pytest.mark.nightly
@pytest.mark.parametrize("servers", [1, 2])
def test_no_verdict_is_lost_and_no_pair_is_judged_twice(url: str, servers: int) -> None:
    report = bench_load(6, VERDICTS, url, servers=servers)
    assert report.confirmed >= VERDICTS
    assert (report.lost, report.doubled, report.conflicts) == (0, 0, 0)
    assert {latency.question for latency in report.latencies} == {"next pair", "verdict"}


@pytest.mark.nightly
@pytest.mark.parametrize("processes", [1, 2])
def test_nothing_is_lost_by_what_the_page_sends(url: str, processes: int) -> None:
    report = bench_load(6, VERDICTS, url, processes=processes, on_page=True)
    assert report.confirmed >= VERDICTS
    assert (report.lost, report.doubled) == (0, 0)


def test_concurrent_curators_get_different_pairs(store: Store) -> None:
    dataset_id, ids = add_dataset(store, 40)
    curators = [f"curator {number}" for number in range(12)]
    ready = Barrier(len(curators))

    def take(curator: str) -> int | None:
        filter = QueueFilter(dataset_id, "unreviewed", order="random", reader=curator)
        ready.wait()
        with store.writing() as session:
            return hold_queries.take_first(session, filter, curator)

    with ThreadPoolExecutor(len(curators)) as pool:
        taken = list(pool.map(take, curators))
    assert len(set(taken)) == len(curators)
    assert set(taken) <= set(ids)
    with store.reading() as session:
        head = queue_queries.page(
            session, QueueFilter(dataset_id, "unreviewed", order="random"), None, 12
        )
    assert set(taken) == {row.pair_id for row in head.rows}, "nobody was handed a later pair"


def test_pairs_that_are_judged_while_others_look_for_the_next_one_are_passed_by(
    store: Store,
) -> None:
    dataset_id, ids = add_dataset(store, 40)
    curators = [f"curator {number}" for number in range(8)]
    ready = Barrier(len(curators))

    def judge(curator: str) -> list[int]:
        filter = QueueFilter(
            dataset_id, "unreviewed", order="position", descending=False, reader=curator
        )
        pair: int | None = ids[0]
        judged_pairs = []
        ready.wait()
        for _ in range(4):
            with store.writing() as session:
                pair = hold_queries.take_neighbour(session, filter, pair or ids[0], curator)
            assert pair is not None
            decide(store, pair)
            with store.writing() as session:
                hold_queries.release(session, [pair], curator)
            judged_pairs.append(pair)
        return judged_pairs

    with ThreadPoolExecutor(len(curators)) as pool:
        judged_pairs = [pair for each in pool.map(judge, curators) for pair in each]
    assert len(judged_pairs) == len({*judged_pairs}) == 4 * len(curators)


def test_a_curator_who_asks_again_keeps_the_pair(store: Store) -> None:
    dataset_id, _ = add_dataset(store, 3)
    filter = QueueFilter(dataset_id, "unreviewed", reader="Ada")
    with store.writing() as session:
        first = hold_queries.take_first(session, filter, "Ada")
    with store.writing() as session:
        assert hold_queries.take_first(session, filter, "Ada") == first
        other = QueueFilter(dataset_id, "unreviewed", reader="Ben")
        assert hold_queries.take_first(session, other, "Ben") not in (None, first)
