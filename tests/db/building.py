"""Datasets for tests."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from alembic import command
from sqlalchemy import event
from sqlalchemy.orm import Session

from db import Store, upgrade
from db.queries import (
    dataset_queries,
    detection_queries,
    pair_queries,
    queue_queries,
    run_queries,
    trajectory_queries,
    undo_queries,
    verdict_acts,
    verdict_queries,
)
from db.queries.detection_queries import DetectionRow
from db.queries.pair_queries import NewPair, PairRow
from db.queries.queue_filter import QueueFilter
from db.queries.trajectory_queries import TrajectoryRow
from db.queries.verdict_acts import VerdictRow
from db.session import make_engine

#: Rows of a database of the first release.
OLDEST = Path(__file__).with_name("revision_0030.sql")


def add_dataset(store: Store, size: int, name: str = "photos") -> tuple[int, list[int]]:
    """A dataset of `size` pairs 'photo-0', 'photo-1', …; its id and the ids of its pairs."""
    return add_pairs(
        store, name,
        [NewPair(f"photo-{i}", f"images/{i}.jpg", f"photo number {i}", source_row=i)
         for i in range(size)],
    )  # fmt: skip


def add_pairs(store: Store, name: str, rows: Sequence[NewPair]) -> tuple[int, list[int]]:
    """A dataset of these pairs; its id and the ids of its pairs."""
    with store.writing() as session:
        dataset = dataset_queries.create_dataset(session, name, f"/data/{name}", f"/data/{name}")
        pair_queries.add_pairs(session, dataset.id, rows)
        return dataset.id, [pair.id for pair in pair_queries.iterate_pairs(session, dataset.id)]


def decide(
    store: Store,
    pair_id: int,
    decision: str = "drop",
    author: str = "Ada",
    caption: str | None = None,
    version: int | None = None,
    **more: Any,
) -> VerdictRow:
    """A verdict in a transaction of its own, on the pair's current version or on the given one."""
    with store.writing() as session:
        if version is None:
            version = verdict_acts.pair_state(session, pair_id).version
        return verdict_queries.add_verdict(
            session, pair_id, version, decision, caption, author=author, **more
        )


def undo(store: Store, dataset_id: int, author: str = "Ada", **more: Any) -> VerdictRow | None:
    with store.writing() as session:
        return undo_queries.undo_last(session, dataset_id, author, **more)


def redo(store: Store, dataset_id: int, author: str = "Ada", **more: Any) -> VerdictRow | None:
    with store.writing() as session:
        return undo_queries.redo_last(session, dataset_id, author, **more)


def rows_of(store: Store, ids: Sequence[int]) -> list[PairRow]:
    with store.reading() as session:
        return [pair_queries.get_pair(session, pair_id) for pair_id in ids]


def decisions(store: Store, ids: Sequence[int]) -> list[str | None]:
    return [row.decision for row in rows_of(store, ids)]


def in_queue(store: Store, dataset_id: int, **criteria: Any) -> list[int]:
    """The pairs that match a filter, in import order; their number is counted too."""
    fields: dict[str, Any] = {"order": "position", "descending": False} | criteria
    filter = QueueFilter(dataset_id, **fields)
    with store.reading() as session:
        ids = [row.pair_id for row in queue_queries.page(session, filter, limit=1000).rows]
        assert queue_queries.count(session, filter) == len(ids)
    return ids


def decided_pairs(session: Session, dataset_id: int) -> list[PairRow]:
    """The pairs with a verdict, in import order."""
    return [
        row for row in pair_queries.iterate_pairs(session, dataset_id) if row.decision is not None
    ]


def set_probabilities(store: Store, ids: Sequence[int], values: Sequence[float | None]) -> None:
    """Give each pair its p_error, None for unknown."""
    with store.writing() as session:
        detection_queries.save_detections(
            session, [DetectionRow(pair_id, p, ()) for pair_id, p in zip(ids, values, strict=True)]
        )


def start_run(
    store: Store,
    dataset_id: int,
    revision: str = "1",
    kind: str = "score",
    model: str = "some/model",
) -> int:
    with store.writing() as session:
        return run_queries.start_run(
            session,
            kind=kind,
            dataset_id=dataset_id,
            scorer_kind="clip",
            model=model,
            revision=revision,
            explorer="elimination",
            parameters={"batch": 8},
            code_version="0.1",
        ).id


def save(store: Store, run_id: int, *rows: TrajectoryRow) -> None:
    """Store trajectories of a run."""
    with store.writing() as session:
        trajectory_queries.save_trajectories(session, run_id, rows)


def migrate(url: str, revision: str) -> None:
    """Bring the database up to this revision."""
    engine = make_engine(upgrade.parse_url(url), migrates=True)
    with engine.begin() as connection:
        command.upgrade(upgrade.alembic_config(connection), revision)
    engine.dispose()


def write_oldest(file: Path) -> str:
    """A database of the oldest revision that opens, on SQLite, with seven pairs; its address."""
    file.parent.mkdir(parents=True, exist_ok=True)
    migrate(f"sqlite:///{file}", "0030")
    with sqlite3.connect(file) as connection:
        connection.executescript(OLDEST.read_text(encoding="utf-8"))
        connection.execute("PRAGMA journal_mode = DELETE")  # a single file
    connection.close()
    return f"sqlite:///{file}"


Statements = list[tuple[str, Any]]


@contextmanager
def watching(store: Store) -> Iterator[Statements]:
    """The statements that run meanwhile, and their parameters."""
    statements: Statements = []

    def add(_connection: object, _cursor: object, statement: str, given: Any, *_: object) -> None:
        statements.append((statement, given))

    event.listen(store.engine, "before_cursor_execute", add)
    try:
        yield statements
    finally:
        event.remove(store.engine, "before_cursor_execute", add)


def plans(store: Store, statements: Statements, having: str = "FROM pairs") -> list[str]:
    """How SQLite carries out each of the statements with this text."""
    with store.engine.connect() as connection:
        return [
            " / ".join(
                str(step[3])
                for step in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", given)
            )
            for statement, given in statements
            if having in statement
        ]
