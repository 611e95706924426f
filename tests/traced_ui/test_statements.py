"""The database cost of a verdict: statements and transactions, on a scored store."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event

from backend.settings import load_settings
from backend.workspace import Workspace
from research.bench.generated_store import generate
from tests.traced_ui.pages import Page
from traced_ui.api import Caller, decide, open_pair


@dataclass
class Statements:
    """Statements sent to the database; the driver's BEGIN and PRAGMA are counted separately."""

    queries: list[str] = field(default_factory=list)
    writing: int = 0

    def take(self, statement: str) -> None:
        if statement.startswith("BEGIN"):
            self.writing += statement == "BEGIN IMMEDIATE"
        elif not statement.startswith("PRAGMA"):
            self.queries.append(" ".join(statement.split()))

    def reading_from(self, table: str) -> list[str]:
        return [q for q in self.queries if q.startswith("SELECT") and f"FROM {table} " in f"{q} "]


@contextmanager
def counted(workspace: Workspace) -> Iterator[Statements]:
    statements = Statements()

    def listen(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        statements.take(statement)

    engine = workspace.store.opened.engine
    event.listen(engine, "before_cursor_execute", listen)
    try:
        yield statements
    finally:
        event.remove(engine, "before_cursor_execute", listen)


@pytest.fixture
def scored(tmp_path: Path) -> Iterator[Workspace]:
    workspace = Workspace(load_settings({"data_directory": str(tmp_path)}, {}))
    generate(workspace.store, 40)
    for name, role in (("Ada", "curator"), ("Ben", "adjudicator")):
        workspace.accounts.add(name, "a long password", role)
    yield workspace
    workspace.store.close()


#: Statements before `decide` was changed to write only the verdict: 41 on a page, 47 for one of
#: several curators, 17 through the API.
@pytest.mark.parametrize(
    ("curator", "at_most", "transactions"), [(None, 24, 1), ("Ada", 33, 2), ("Ben", 33, 2)]
)
def test_a_verdict_on_the_page_needs_half_of_the_earlier_statements(
    scored: Workspace, curator: str | None, at_most: int, transactions: int
) -> None:
    page = Page(scored, curator=curator)
    first = page.pair
    seen = page.seen(first)
    with counted(scored) as statements:
        message = page.send("correct", **seen)
    assert f"Saved: {seen['name']}" in message
    assert page.pair != first
    assert len(statements.queries) <= at_most, "\n".join(statements.queries)
    assert statements.writing == transactions, "the verdict; for a team the claim of the next pair"
    assert statements.reading_from("curators") == []


@pytest.mark.parametrize(
    ("verdict", "corrected", "at_most"), [("drop", "", 6), ("correction", "Another caption.", 7)]
)
def test_a_verdict_through_the_api_needs_one_transaction(
    scored: Workspace, verdict: str, corrected: str, at_most: int
) -> None:
    caller = Caller(scored)
    etag = open_pair(caller, 1).etag
    with counted(scored) as statements:
        answer = decide(caller, 1, etag, verdict, corrected)
    assert (answer.id, answer.etag[:2], answer.verdict) == (1, "1-", verdict)
    assert answer.corrected_caption == (corrected or None)
    assert len(statements.queries) <= at_most, "\n".join(statements.queries)
    assert statements.writing == 1


def test_adjudicators_are_queried_only_if_a_dispute_can_be_settled(scored: Workspace) -> None:
    scored.review.decide(1, 0, "correct", author="Ada")
    scored.review.decide(1, 1, "drop", author="Cid")
    with counted(scored) as statements:
        scored.review.decide(1, 2, "drop", author="Ben")
    assert len(statements.reading_from("curators")) == 1
    assert scored.accounts.of_dataset(1).disputed == 0, "settled"
    assert scored.review.open_pair(1).decision == "drop"
