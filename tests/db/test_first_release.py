"""A database of the first release, with its data, opened by this one.

`first_release.sql` is what the first release itself made: 16 pairs imported (one row left out),
scored, six of them decided, with an undo, a redo and a second thought.
"""

import sqlite3
from pathlib import Path

import pytest
from alembic import command
from sqlalchemy import MetaData, create_engine, text

from backend.settings import load_settings
from backend.workspace import Workspace
from db import open_store, upgrade
from db.queries import pairs, verdicts
from db.upgrade import parse_url

DUMP = Path(__file__).with_name("first_release.sql")
DECISIONS = ["drop", "correction", "drop", "abstract", "unsure", None]
CORRECTED = "A guy – carrying a “flower” 花."


@pytest.fixture
def first_release(url: str, tmp_path: Path) -> str:
    """The address of that database, on SQLite as it was, on PostgreSQL row by row."""
    file = tmp_path / "first.db"
    if url.startswith("sqlite"):
        file = Path(str(parse_url(url).database))
        file.parent.mkdir(parents=True, exist_ok=True)
    with sqlite3.connect(file) as connection:
        connection.executescript(DUMP.read_text(encoding="utf-8"))
    connection.close()
    if not url.startswith("sqlite"):
        copy(f"sqlite:///{file}", url)
    return url


def copy(source: str, target: str) -> None:
    """All rows of the first schema."""
    local, remote = create_engine(source), create_engine(parse_url(target))
    tables = MetaData()
    tables.reflect(local)
    with local.connect() as reading, remote.begin() as writing:
        command.upgrade(upgrade.alembic_config(writing), "0001")
        for table in tables.sorted_tables:
            rows = [dict(row._mapping) for row in reading.execute(table.select())]
            if rows and table.name != "alembic_version":
                writing.execute(table.insert(), rows)
                if "id" in table.columns:
                    writing.execute(
                        text(
                            f"SELECT setval(pg_get_serial_sequence('{table.name}', 'id'), "
                            f"(SELECT max(id) FROM {table.name}))"
                        )
                    )
    local.dispose()
    remote.dispose()


def test_everything_is_there_and_goes_on(first_release: str) -> None:
    opened = open_store(first_release)
    assert opened.upgraded_from == "0001"
    opened.close()
    workspace = Workspace(load_settings({}, {"TRACED_DATABASE": first_release}))
    store = workspace.store
    dataset = workspace.find("set")
    with store.reading() as session:
        listed = list(pairs.iterate_pairs(session, dataset))
        acts = [verdicts.history(session, pair.id) for pair in listed[:6]]
    assert len(listed) == 16
    assert [pair.decision for pair in listed[:6]] == DECISIONS
    assert listed[1].corrected_caption == CORRECTED
    assert [len(of_pair) for of_pair in acts] == [1, 1, 2, 1, 1, 4]
    assert {act.author for of_pair in acts for act in of_pair} == {"Ada"}
    (problem,) = workspace.problems(dataset)
    assert (problem.file, problem.row) == ("metadata.jsonl", 17)

    view = workspace.review.open_pair(listed[0].id)
    assert view.trajectory is not None
    assert view.trajectory.auxiliary is None
    assert view.p_error == pytest.approx(0.748, abs=1e-3)
    assert (len(view.suggestions), len(view.suspects)) == (3, 15)

    again = workspace.review.decide(listed[5].id, 4, "correct", author="Ben")
    assert (again.decision, again.version) == ("correct", 5)
    undone = workspace.review.undo(dataset, "Ada")  # the last of her own
    assert undone is not None
    assert (undone.pair_id, undone.decision) == (listed[2].id, "correct")
    store.close()
