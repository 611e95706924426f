"""Concurrent verdicts, and verdicts from programs that are killed."""

import os
import subprocess
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

from db import Store
from db.errors import VersionConflict
from db.queries import pair_queries, undo_queries, verdict_acts, verdict_queries
from tests.db.building import add_dataset, decide, decided_pairs, undo
from tests.fixtures import programs
from tests.fixtures.programs import Program


def check_consistent(store: Store, dataset_id: int, ids: list[int]) -> int:
    """Check that the acts of every pair are numbered without gaps and that the pair reflects its
    last act. Returns the number of acts."""
    total = 0
    with store.reading() as session:
        for pair_id in ids:
            acts = verdict_acts.history(session, pair_id)
            pair = pair_queries.get_pair(session, pair_id)
            assert [act.version for act in acts] == list(range(1, len(acts) + 1))
            assert pair.verdict_version == len(acts)
            if acts:
                assert pair.decision == acts[-1].decision
            total += len(acts)
        decided = len(decided_pairs(session, dataset_id))
        assert pair_queries.counts(session, dataset_id).reviewed == decided
    return total


def test_one_of_several_concurrent_verdicts_on_a_pair_wins(store: Store) -> None:
    dataset_id, ids = add_dataset(store, 25)
    curators = [f"curator {i}" for i in range(8)]
    ready = threading.Barrier(len(curators))

    def decide_all(author: str) -> Counter[str]:
        outcome: Counter[str] = Counter()
        ready.wait()
        for pair_id in ids:
            try:
                decide(store, pair_id, "drop", author, version=0)
                outcome["won"] += 1
            except VersionConflict as conflict:
                reported = (conflict.current.version, conflict.current.decided_by != author)
                outcome["lost" if reported == (1, True) else "reported wrongly"] += 1
        return outcome

    with ThreadPoolExecutor(len(curators)) as pool:
        outcomes = sum(pool.map(decide_all, curators), Counter())
    assert outcomes == {"won": 25, "lost": 7 * 25}
    assert check_consistent(store, dataset_id, ids) == 25


def test_the_same_verdict_sent_concurrently_is_stored_once(store: Store) -> None:
    dataset_id, ids = add_dataset(store, 10)

    with ThreadPoolExecutor(8) as pool:
        acts = list(pool.map(lambda i: decide(store, i, "unsure", version=0), ids * 8))
    assert len({act.id for act in acts}) == 10
    assert check_consistent(store, dataset_id, ids) == 10


def test_the_same_undo_sent_concurrently_is_done_once(store: Store) -> None:
    dataset_id, ids = add_dataset(store, 8)
    for pair_id in ids:
        decide(store, pair_id)
    with ThreadPoolExecutor(8) as pool:
        acts = list(pool.map(lambda n: undo(store, dataset_id, request_id=str(n % 2)), range(8)))
    assert len({act.id for act in acts if act is not None}) == 2
    assert check_consistent(store, dataset_id, ids) == 8 + 2


def test_concurrent_undo_and_verdicts_stay_consistent(store: Store) -> None:
    dataset_id, ids = add_dataset(store, 6)

    def work(author: str) -> int:
        done = 0
        for step in range(24):
            with store.writing() as session:
                pair = pair_queries.get_pair(session, ids[step % len(ids)])
                try:
                    if step % 4 == 2:
                        done += undo_queries.undo_last(session, dataset_id, author) is not None
                    elif step % 4 == 3:
                        done += undo_queries.redo_last(session, dataset_id, author) is not None
                    else:
                        verdict_queries.add_verdict(
                            session, pair.id, pair.verdict_version, "correct", author=author
                        )
                        done += 1
                except VersionConflict:
                    pass
        return done

    with ThreadPoolExecutor(4) as pool:
        done = sum(pool.map(work, [f"curator {i}" for i in range(4)]))
    # A verdict repeated by its own author counts once, so acts may be fewer, never more.
    assert 0 < check_consistent(store, dataset_id, ids) <= done


CURATOR = """
import sys
from db import open_store
from db.queries import undo_queries, verdict_acts, verdict_queries as verdicts
from db.errors import VersionConflict
url, author, *ids = sys.argv[1:]
store = open_store(url)
for number, pair_id in enumerate(ids):
    with store.writing() as session:
        try:
            given = verdicts.add_verdict(session, int(pair_id), 0, "drop", author=author)
        except VersionConflict:
            continue
    # So long that the pipe is full, and the writer waits, before all verdicts are confirmed.
    print(given.pair_id, given.version, "." * 200, flush=True)
"""


def curator(store: Store, author: str, ids: list[int]) -> Program:
    """A second program on the same database."""
    url = store.engine.url.render_as_string(hide_password=False)
    arguments = ["-c", CURATOR, url, author, *map(str, ids)]
    return programs.start(arguments, os.environ, stdout=subprocess.PIPE)


def test_two_processes_neither_lose_nor_duplicate_verdicts(store: Store) -> None:
    dataset_id, ids = add_dataset(store, 100)
    # Both process the same pairs from opposite ends and compete for those in the middle.
    first, second = curator(store, "Ada", ids), curator(store, "Ben", ids[::-1])
    confirmed = {
        author: [int(line.split()[0]) for line in process.communicate(timeout=250)[0].splitlines()]
        for author, process in (("Ada", first), ("Ben", second))
    }
    assert (first.returncode, second.returncode) == (0, 0)
    assert sorted(confirmed["Ada"] + confirmed["Ben"]) == ids
    assert check_consistent(store, dataset_id, ids) == 100
    with store.reading() as session:
        for pair in decided_pairs(session, dataset_id):
            assert pair.decided_by is not None
            assert pair.id in confirmed[pair.decided_by]


def test_every_committed_verdict_survives_a_kill(store: Store) -> None:
    dataset_id, ids = add_dataset(store, 600)
    process = curator(store, "Ada", ids)
    assert process.stdout is not None
    confirmed = [int(process.stdout.readline().split()[0]) for _ in range(40)]
    process.kill()
    confirmed += [int(line.split()[0]) for line in process.stdout.read().splitlines()]
    process.wait()
    process.stdout.close()
    with store.reading() as session:
        kept = [pair.id for pair in decided_pairs(session, dataset_id)]
    # One more may be stored: committed, but killed before it was confirmed.
    assert kept[: len(confirmed)] == confirmed
    assert len(confirmed) <= len(kept) <= len(confirmed) + 1
    assert len(kept) < len(ids), "the writer was done before it was killed"
    assert check_consistent(store, dataset_id, ids[: len(kept) + 2]) == len(kept)
    again = curator(store, "Ada", ids[: len(kept) + 10])  # the next start continues
    assert len(again.communicate(timeout=250)[0].splitlines()) == len(kept) + 10
    assert check_consistent(store, dataset_id, ids[: len(kept) + 20]) == len(kept) + 10
