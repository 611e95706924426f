"""Datasets for tests."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from sqlalchemy import event
from sqlalchemy.orm import Session

from db import Store
from db.queries import dataset_queries, detections, pairs, runs
from db.queries.detections import DetectionRow
from db.queries.pairs import NewPair, PairRow


def add_dataset(store: Store, size: int, name: str = "photos") -> tuple[int, list[int]]:
    """A dataset of `size` pairs 'photo-0', 'photo-1', …; its id and the ids of its pairs."""
    with store.writing() as session:
        dataset = dataset_queries.create_dataset(session, name, f"/data/{name}", f"/data/{name}")
        pairs.add_pairs(
            session,
            dataset.id,
            [
                NewPair(f"photo-{i}", f"images/{i}.jpg", f"photo number {i}", source_row=i)
                for i in range(size)
            ],
        )
        ids = [pair.id for pair in pairs.iterate_pairs(session, dataset.id)]
    return dataset.id, ids


def decided_pairs(session: Session, dataset_id: int) -> list[PairRow]:
    """The pairs with a verdict, in import order."""
    return [row for row in pairs.iterate_pairs(session, dataset_id) if row.decision is not None]


def set_probabilities(store: Store, ids: Sequence[int], values: Sequence[float | None]) -> None:
    """Give each pair its p_error, None for unknown."""
    with store.writing() as session:
        detections.save_detections(
            session,
            [DetectionRow(pair_id, p, ()) for pair_id, p in zip(ids, values, strict=True)],
        )


def start_run(store: Store, dataset_id: int, revision: str = "1") -> int:
    with store.writing() as session:
        return runs.start_run(
            session,
            kind="score",
            dataset_id=dataset_id,
            scorer_kind="clip",
            model="some/model",
            revision=revision,
            explorer="elimination",
            parameters={"batch": 8},
            code_version="0.1",
        ).id


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
