"""What `open_store` does to a database: new, current, old, newer, foreign, interrupted."""

import os
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import create_engine, exc, inspect, text

from backend.errors import StoreError
from backend.store import open_database, tables_of_features
from db import Store, open_store, upgrade
from db.caption_search import TABLES
from db.errors import NewerDatabase, StoreProblem
from db.models import Base
from db.queries import dataset_queries
from db.upgrade import head_revision, parse_url
from tests.db.building import add_dataset, decide, decisions, rows_of
from tests.fixtures import programs
from tests.fixtures.features import has_feature

#: Tables and indexes that migrations made before their feature was a folder, which declares them.
BY_FEATURE = {
    "snapshots": ("snapshots", "snapshot_pairs", "ix_snapshot_pairs_pair_id"),
    "near_duplicates": ("near_duplicates", "ix_near_duplicates_group"),
    "picture_map": ("map_places", "ix_map_places_place"),
    "quality": ("picture_signals", "picture_issues", "ix_picture_issues_issue"),
    "regions": ("word_regions", "ix_word_regions_run"),
    "specificity": ("retrievals", "ix_retrievals_run"),
}
OF_FEATURES = {name for names in BY_FEATURE.values() for name in names}


def test_migrations_lead_exactly_to_the_models(url: str) -> None:
    store = open_store(url)
    with store.engine.connect() as connection:
        # The caption search has additional objects on either database.
        other = {"sqlite": {*TABLES, "ix_pairs_caption_trigrams"}}.get(store.dialect, set())
        other |= OF_FEATURES
        opts = {"compare_type": True, "include_object": lambda _, name, *__: name not in other}
        context = MigrationContext.configure(connection, opts=opts)
        assert compare_metadata(context, Base.metadata) == []
    store.close()


def schema_of(path: Path) -> dict[str, list[str]]:
    """Every table and index in SQLite's schema as clauses, regardless of their order."""
    with sqlite3.connect(path) as connection:
        rows = connection.execute(
            "SELECT name, sql FROM sqlite_master WHERE type IN ('table', 'index') "
            "AND sql IS NOT NULL AND name NOT IN ('alembic_version', 'sqlite_sequence')"
        ).fetchall()
    # SQLite quotes the name of a table that a migration has copied.
    return {name: sorted(clauses(sql.replace('"', ""))) for name, sql in rows if name not in TABLES}


def clauses(sql: str) -> list[str]:
    """The items that commas separate in a statement's outer parentheses, whatever its layout."""
    parts, depth = [""], 0
    for character in sql:
        depth += (character == "(") - (character == ")")
        if character == "," and depth == 1:
            parts.append("")
        elif not (character in "()" and depth == (character == "(")):
            parts[-1] += character
    return [" ".join(clause.split()) for clause in parts]


def test_migrations_give_the_same_statements_as_the_models(tmp_path: Path) -> None:
    # Alembic's comparison does not look at CHECK constraints and partial indexes; this does.
    open_store(f"sqlite:///{tmp_path}/migrated.db").close()
    engine = create_engine(f"sqlite:///{tmp_path}/models.db")
    Base.metadata.create_all(engine)
    engine.dispose()
    migrated = schema_of(tmp_path / "migrated.db")
    assert set(migrated) >= OF_FEATURES
    rest = {name: clauses for name, clauses in migrated.items() if name not in OF_FEATURES}
    assert rest == schema_of(tmp_path / "models.db")


def test_tables_of_features_are_declared_as_migrations_made_them(tmp_path: Path) -> None:
    open_store(f"sqlite:///{tmp_path}/migrated.db").close()
    engine = create_engine(f"sqlite:///{tmp_path}/features.db")
    for tables in tables_of_features():
        tables.create_all(engine)
    engine.dispose()
    declared, migrated = (schema_of(tmp_path / f"{n}.db") for n in ("features", "migrated"))
    names = declared.keys() & migrated.keys()
    assert names == {
        name for feature, of in BY_FEATURE.items() if has_feature(feature) for name in of
    }
    assert {name: declared[name] for name in names} == {name: migrated[name] for name in names}


def test_opening_again_changes_nothing(url: str) -> None:
    first = open_store(url)
    _, ids = add_dataset(first, 3)
    first.close()
    second = open_store(url)
    assert second.upgraded_from is None
    assert [row.external_id for row in rows_of(second, ids)] == ["photo-0", "photo-1", "photo-2"]
    second.close()


@contextmanager
def later_program(folder: Path, body: str) -> Iterator[None]:
    """This program with one more migration after the newest."""
    copy = folder / "migrations"
    shutil.copytree(upgrade.MIGRATIONS, copy, ignore=shutil.ignore_patterns("__pycache__"))
    (copy / "versions" / "v9999_later.py").write_text(
        f"from alembic import op\nimport sqlalchemy as sa\n"
        f"revision = '9999'\ndown_revision = '{head_revision()}'\n"
        f"def upgrade():\n    {body}\n",
        encoding="utf-8",
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(upgrade, "MIGRATIONS", copy)
        yield


ADD_A_COLUMN = "op.add_column('pairs', sa.Column('mood', sa.Text()))"
REBUILD_A_TABLE = (
    'op.execute("CREATE TABLE moods (mood TEXT)")\n'
    "    with op.batch_alter_table('datasets') as table:\n"
    "        table.add_column(sa.Column('mood', sa.Text(), server_default='fine'))\n"
)


def fill(url: str) -> tuple[int, list[int]]:
    """A database of this program's schema with ten pairs, the fifth dropped; dataset and pairs."""
    store = open_store(url)
    dataset_id, ids = add_dataset(store, 10)
    decide(store, ids[4])
    store.close()
    return dataset_id, ids


def has_mood(store: Store, table: str) -> bool:
    return "mood" in {column["name"] for column in inspect(store.engine).get_columns(table)}


@pytest.mark.parametrize(
    ("body", "table"), [(ADD_A_COLUMN, "pairs"), (REBUILD_A_TABLE, "datasets")]
)
def test_an_older_database_is_upgraded_and_keeps_its_rows(
    url: str, body: str, table: str, tmp_path: Path
) -> None:
    _, ids = fill(url)
    before = head_revision()
    with later_program(tmp_path, body):
        store = open_store(url)
    assert store.upgraded_from == before
    assert decisions(store, ids) == [None] * 4 + ["drop"] + [None] * 5
    assert has_mood(store, table)
    store.close()


def test_a_migration_that_fails_leaves_the_database_as_it_was(url: str, tmp_path: Path) -> None:
    _, ids = fill(url)
    failing = f"{ADD_A_COLUMN}\n    raise RuntimeError('the power went')"
    with later_program(tmp_path, failing), pytest.raises(RuntimeError, match="the power went"):
        open_store(url)
    store = open_store(url)
    assert store.upgraded_from is None
    assert not has_mood(store, "pairs")
    assert decisions(store, ids) == [None] * 4 + ["drop"] + [None] * 5
    store.close()


def test_a_newer_database_is_refused_and_not_changed(url: str, tmp_path: Path) -> None:
    fill(url)
    with later_program(tmp_path, ADD_A_COLUMN):
        open_store(url).close()
    with pytest.raises(NewerDatabase, match=r"newer version of TRACED Curator.*'9999'"):
        open_store(url)
    engine = create_engine(parse_url(url))
    with engine.connect() as connection:
        version = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
        count = connection.execute(text("SELECT count(*) FROM pairs")).scalar()
    engine.dispose()
    assert (version, count) == ("9999", 10)


def test_an_older_library_is_refused_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 34, 1))
    with pytest.raises(StoreProblem, match=r"3\.35") as refused:
        open_store(f"sqlite:///{tmp_path}/new/photos.db")
    assert refused.value.terminal
    assert not list(tmp_path.iterdir())


def test_a_database_of_another_program_is_refused(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "other.db") as connection:
        connection.execute("CREATE TABLE runs (distance REAL)")
    with pytest.raises(StoreProblem, match=r"belongs to another program.*'runs'"):
        open_store(f"sqlite:///{tmp_path}/other.db")
    with sqlite3.connect(tmp_path / "other.db") as connection:
        assert connection.execute("SELECT name FROM sqlite_master").fetchall() == [("runs",)]


def test_concurrent_starts_create_one_database(url: str) -> None:
    program = "import sys; from db import open_store; open_store(sys.argv[1]).close()"
    starting = [
        programs.start(["-c", program, url], os.environ, stderr=subprocess.PIPE) for _ in range(3)
    ]
    problems = [process.communicate(timeout=250)[1] for process in starting]
    assert [process.returncode for process in starting] == [0, 0, 0], problems
    store = open_store(url)
    assert store.upgraded_from is None
    store.close()


def test_the_alembic_command_works_by_hand(sqlite_url: str) -> None:
    open_store(sqlite_url).close()
    by_hand = ("alembic", "-c", "db/migrations/alembic.ini", "-x", f"url={sqlite_url}", "current")
    status, printed, problem = programs.run(["-m", *by_hand], os.environ)
    assert (status, printed.strip()) == (0, f"{head_revision()} (head)"), problem


ANOTHER_VERDICT = (
    "from db.decision_check import replace_decision_check\n"
    "    from db.decisions import DECISIONS\n"
    "    replace_decision_check(DECISIONS, (*DECISIONS, 'vague'))"
)


def test_another_verdict_is_allowed_without_losing_any(url: str, tmp_path: Path) -> None:
    """Such a migration copies tables of SQLite: rows, ids, triggers and foreign keys survive."""
    dataset_id, ids = fill(url)
    with later_program(tmp_path, ANOTHER_VERDICT):
        store = open_store(url)
    vague = text(f"UPDATE pairs SET decision = 'vague' WHERE id = {ids[5]}")
    with store.engine.begin() as connection:
        connection.execute(vague)
    assert decisions(store, ids[4:6]) == ["drop", "vague"]
    for statement, refusal in (
        ("UPDATE verdicts SET note = 'changed'", "append-only"),
        (f"DELETE FROM pairs WHERE id = {ids[4]}", "(?i)foreign key"),
    ):
        with pytest.raises(exc.DBAPIError, match=refusal), store.engine.begin() as connection:
            connection.execute(text(statement))
    with store.writing() as session:
        dataset_queries.delete_dataset(session, dataset_id)
    _, later = add_dataset(store, 1, "another")
    assert later[0] > ids[-1], "the id of a deleted pair is never used again"
    store.close()


def test_a_database_before_the_oldest_revision_is_told_how_to_open(url: str) -> None:
    fill(url)
    engine = create_engine(parse_url(url))
    with engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '0029'"))
    with pytest.raises(StoreProblem, match=upgrade.OLDER_PROGRAM) as refused:
        open_store(url)
    assert f"git checkout {upgrade.OLDER_PROGRAM}" in refused.value.terminal
    with pytest.raises(StoreError) as translated:
        open_database(url)
    assert translated.value.remedies["terminal"] == refused.value.terminal
    with engine.connect() as connection:
        version = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
    engine.dispose()
    assert version == "0029"
