"""A database of the first release, with its data, opened by this one.

`first_release.sql` was written by the first release itself: 16 pairs imported (one row left out)
and scored, six of them decided, with an undo, a redo and a changed verdict.
"""

import sqlite3
from datetime import UTC, datetime
from pathlib import Path

import pytest
from alembic import command
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, MetaData, create_engine, text

from backend.settings import load_settings
from backend.workspace import Workspace
from db import open_store, upgrade
from db.queries import pairs, trajectories, verdict_queries
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
                writing.execute(table.insert(), rows)  # pyrefly: ignore[no-matching-overload]
                if "id" in table.columns:
                    writing.execute(
                        text(
                            f"SELECT setval(pg_get_serial_sequence('{table.name}', 'id'), "
                            f"(SELECT max(id) FROM {table.name}))"
                        )
                    )
    local.dispose()
    remote.dispose()


def test_all_data_is_kept_and_work_continues(first_release: str) -> None:
    opened = open_store(first_release)
    assert opened.upgraded_from == "0001"
    opened.close()
    workspace = Workspace(load_settings({}, {"TRACED_DATABASE": first_release}))
    store = workspace.store
    dataset = workspace.find("set")
    with store.reading() as session:
        listed = list(pairs.iterate_pairs(session, dataset))
        acts = [verdict_queries.history(session, pair.id) for pair in listed[:6]]
        shown = [trajectories.get_trajectory(session, pair.id) for pair in listed]
    assert all(made.whole for made in shown if made is not None)
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
    undone = workspace.review.undo(dataset, "Ada")  # her last verdict
    assert undone is not None
    assert (undone.pair_id, undone.decision) == (listed[2].id, "correct")
    store.close()


def revisions() -> list[str]:
    """All revisions before the newest, oldest first."""
    engine = create_engine("sqlite://")
    with engine.connect() as connection:
        scripts = ScriptDirectory.from_config(upgrade.alembic_config(connection))
        known = [script.revision for script in scripts.walk_revisions()]
    engine.dispose()
    return known[:0:-1]


def decide_at_this_revision(connection: Connection, pair_id: int) -> bool:
    """Accept a caption as the program of this schema did; returns whether it is an enrichment."""
    tables = MetaData()
    tables.reflect(connection, only=["pairs", "verdicts"])
    when = datetime(2026, 11, 23, tzinfo=UTC)
    both = {"decision": "correction", "corrected_caption": "A later text."}
    rich = {"enriches": True} if "enriches" in tables.tables["verdicts"].columns else {}
    act = {"pair_id": pair_id, "version": 1, "author": "Ben", "created_at": when, "replaces": 0}
    verdicts_table = tables.tables["verdicts"]
    in_force = {"stands" if "stands" in verdicts_table.columns else "standing_version": 1}
    connection.execute(verdicts_table.insert().values(**act, **both, **rich, **in_force))
    pairs_table = tables.tables["pairs"]
    now = {"verdict_version": 1, "standing_version": 1, "decided_at": when, "decided_by": "Ben"}
    connection.execute(
        pairs_table.update().where(pairs_table.c.id == pair_id).values(**now, **both, **rich)
    )
    return bool(rich)


#: Revisions whose databases `make test` upgrades; `make nightly` upgrades those of all.
SAMPLE = revisions()[::6]


@pytest.mark.parametrize(
    "revision",
    [
        pytest.param(name, marks=() if name in SAMPLE else pytest.mark.nightly)
        for name in revisions()
    ],
)
def test_a_store_of_any_revision_keeps_its_verdicts(revision: str, tmp_path: Path) -> None:
    """The first release's data, upgraded to that revision, with another verdict given there."""
    with sqlite3.connect(tmp_path / "old.db") as raw:
        raw.executescript(DUMP.read_text(encoding="utf-8"))
    raw.close()
    url = f"sqlite:///{tmp_path}/old.db"
    engine = create_engine(url)
    with engine.begin() as connection:
        command.upgrade(upgrade.alembic_config(connection), revision)
    with engine.begin() as connection:
        is_richer = decide_at_this_revision(connection, 7)
    engine.dispose()
    store = open_store(url)
    assert store.upgraded_from == revision
    with store.reading() as session:
        listed = list(pairs.iterate_pairs(session, 1))
        acts = {pair.id: verdict_queries.history(session, pair.id) for pair in listed[:7]}
    assert [pair.decision for pair in listed[:7]] == [*DECISIONS, "correction"]
    assert (listed[1].corrected_caption, listed[6].corrected_caption) == (
        CORRECTED, "A later text."
    )  # fmt: skip
    assert [pair.enriches for pair in listed[:7]] == [False] * 6 + [is_richer]
    assert [len(of_pair) for of_pair in acts.values()] == [1, 1, 2, 1, 1, 4, 1]
    assert [(act.author, act.enriches) for act in acts[7]] == [("Ben", is_richer)]
    with store.writing() as session:  # and work continues from there
        verdict_queries.add_verdict(session, 7, 1, "drop", author="Ada")
        undone = verdict_queries.undo_last(session, 1, "Ada")
    assert undone is not None
    with store.reading() as session:
        back = pairs.get_pair(session, 7)
    assert (back.decision, back.enriches) == ("correction", is_richer)
    store.close()
