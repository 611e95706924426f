"""A database of the oldest revision that opens (0030), with its data, opened by this program.

`revision_0030.sql` holds rows that the first release wrote, upgraded to that revision: pairs
imported (one row left out; seven pairs are kept here) and scored, six of them decided, with an
undo, a redo and a changed verdict.
"""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, MetaData, create_engine, select, text

from backend.settings import load_settings
from backend.workspace import Workspace
from db import open_store, upgrade
from db.caption_search import TABLES
from db.models import Pair
from db.queries import pair_queries, trajectory_queries, verdict_acts
from db.upgrade import parse_url
from tests.db.building import decide, migrate, rows_of, undo, write_oldest

DECISIONS = ["drop", "correction", "drop", "abstract", "unsure", None]
CORRECTED = "A guy – carrying a “flower” 花."


@pytest.fixture
def oldest(url: str, tmp_path: Path) -> str:
    """The address of that database, on SQLite as it was, on PostgreSQL row by row."""
    if url.startswith("sqlite"):
        return write_oldest(Path(str(parse_url(url).database)))
    migrate(url, "0030")
    local, remote = (
        create_engine(write_oldest(tmp_path / "oldest.db")),
        create_engine(parse_url(url)),
    )
    tables = MetaData()
    tables.reflect(local)
    with local.connect() as reading, remote.begin() as writing:
        for table in tables.sorted_tables:
            rows = [dict(row._mapping) for row in reading.execute(table.select())]
            if rows and table.name not in {*TABLES, "alembic_version"}:
                writing.execute(table.insert(), rows)  # pyrefly: ignore[no-matching-overload]
                if "id" in table.columns:
                    last = f"(SELECT max(id) FROM {table.name})"
                    sequence = f"pg_get_serial_sequence('{table.name}', 'id')"
                    writing.execute(text(f"SELECT setval({sequence}, {last})"))
    local.dispose()
    remote.dispose()
    return url


def test_all_data_is_kept_and_work_continues(oldest: str) -> None:
    opened = open_store(oldest)
    assert opened.upgraded_from == "0030"
    opened.close()
    workspace = Workspace(load_settings({}, {"TRACED_DATABASE": oldest}))
    store = workspace.store
    dataset = workspace.find("set")
    with store.reading() as session:
        listed = list(pair_queries.iterate_pairs(session, dataset))
        acts = [verdict_acts.history(session, pair.id) for pair in listed[:6]]
        shown = [row for p in listed for row in trajectory_queries.get_trajectories(session, p.id)]
        keys = set(session.scalars(select(Pair.random_key)))
    assert all(trajectory.whole for trajectory in shown)
    assert len(keys) == len(listed) == 7
    assert [pair.decision for pair in listed[:6]] == DECISIONS
    assert listed[1].corrected_caption == CORRECTED
    assert [len(of_pair) for of_pair in acts] == [1, 1, 2, 1, 1, 4]
    assert {act.author for of_pair in acts for act in of_pair} == {"Ada"}
    (problem,) = workspace.problems(dataset)
    assert (problem.file, problem.row) == ("metadata.jsonl", 17)

    view = workspace.review.open_pair(listed[0].id)
    assert view.opinion.trajectory is not None
    assert view.opinion.trajectory.auxiliary is None
    assert view.p_error == pytest.approx(0.748, abs=1e-3)
    assert (len(view.suggestions.corrections), len(view.opinion.suspects)) == (3, 15)

    again = workspace.review.decide(listed[5].id, 4, "correct", author="Ben")
    assert (again.decision, again.version) == ("correct", 5)
    undone = workspace.review.undo(dataset, "Ada")  # her last verdict
    assert undone is not None
    assert (undone.pair_id, undone.decision) == (listed[2].id, "correct")
    store.close()


def revisions() -> list[str]:
    """All revisions before the newest, oldest first."""
    scripts = ScriptDirectory.from_config(upgrade.alembic_config())
    return [script.revision for script in scripts.walk_revisions()][:0:-1]


def enrich_at_this_revision(connection: Connection, pair_id: int) -> None:
    """Accept a richer caption as the program of this schema did."""
    tables = MetaData()
    tables.reflect(connection, only=["pairs", "verdicts"])
    verdicts, of_pair = tables.tables["verdicts"], tables.tables["pairs"]
    when = datetime(2026, 11, 23, tzinfo=UTC)
    both = {"decision": "correction", "corrected_caption": "A later text.", "enriches": True}
    act = {"pair_id": pair_id, "version": 1, "author": "Ben", "created_at": when, "replaces": 0}
    connection.execute(verdicts.insert().values(**act, **both, standing_version=1))
    state = {"verdict_version": 1, "standing_version": 1, "decided_at": when, "decided_by": "Ben"}
    connection.execute(of_pair.update().where(of_pair.c.id == pair_id).values(**state, **both))


@pytest.mark.parametrize("revision", revisions())
def test_a_store_of_any_revision_keeps_its_verdicts(revision: str, tmp_path: Path) -> None:
    """The oldest data, upgraded to that revision, with another verdict given there."""
    url = write_oldest(tmp_path / "old.db")
    migrate(url, revision)
    engine = create_engine(url)
    with engine.begin() as connection:
        enrich_at_this_revision(connection, 7)
        connection.execute(
            text("UPDATE pairs SET second_opinion = -0.1 WHERE id = 3")
            if revision < "0045"
            else text("INSERT INTO pair_numbers VALUES (3, 'second_opinion', -0.1)")
        )
    engine.dispose()
    store = open_store(url)
    assert store.upgraded_from == revision
    with store.reading() as session:
        listed = list(pair_queries.iterate_pairs(session, 1))
        acts = [verdict_acts.history(session, pair.id) for pair in listed]
    assert [pair.decision for pair in listed] == [*DECISIONS, "correction"]
    assert (listed[1].corrected_caption, listed[6].corrected_caption) == (
        CORRECTED, "A later text."
    )  # fmt: skip
    assert [pair.enriches for pair in listed] == [False] * 6 + [True]
    opinions = [pair.numbers["second_opinion"] for pair in listed]
    assert opinions == [None, None, -0.1, None, None, None, None]
    assert [len(of_pair) for of_pair in acts] == [1, 1, 2, 1, 1, 4, 1]
    assert [(act.author, act.enriches) for act in acts[6]] == [("Ben", True)]
    decide(store, 7)  # and work continues from there
    assert undo(store, 1) is not None
    (back,) = rows_of(store, [7])
    assert (back.decision, back.enriches) == ("correction", True)
    store.close()
