"""Pictures get their own captions back, people's verdicts stay, and notices say so meanwhile."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from backend.features.rows import mending
from backend.features.rows.mending import look, mend, sentences
from backend.features.rows.page import changes_html, report_html
from backend.store import Store
from db.authors import is_rule, person_of
from db.queries.pair_queries import NewPair, add_pairs
from tests.db.building import decide, rows_of, undo
from tests.features.rows.pairs import DrawnPairs, store_pairs
from tests.fixtures.sizes import Sizes
from tests.hostile.markup import check_escaping

ROWS = 120


@pytest.fixture
def store(sqlite_store: Any) -> Store:
    return Store(sqlite_store)


def shifted() -> DrawnPairs:
    drawn = DrawnPairs(ROWS)
    drawn.move(np.roll(range(ROWS), 1).tolist())
    return drawn


def captions_of(store: Store, ids: list[int]) -> list[str]:
    return [row.corrected_caption or row.caption for row in rows_of(store.opened, ids)]


def test_each_picture_gets_its_caption_by_a_rule_in_one_step(
    store: Store, tmp_path: Path, sizes: Sizes
) -> None:
    sizes(AT_ONCE=50)
    engine, dataset_id, ids = store_pairs(store, tmp_path, shifted())
    before = captions_of(store, ids)
    plan = look(store, engine, dataset_id)
    assert (plan.moves, plan.moved, plan.is_dry_run) == (ROWS - 1, 0, True)
    assert captions_of(store, ids) == before
    assert [change.after for change in plan.examples[:2]] == ["caption 0", "caption 1"]
    report = mend(store, engine, dataset_id, "Ada")
    assert (report.moved, report.open_rows, report.is_dry_run) == (ROWS - 1, 1, False)
    assert captions_of(store, ids) == [f"caption {row}" for row in range(ROWS - 1)] + [before[-1]]
    rows = rows_of(store.opened, ids)
    assert [row.caption for row in rows] == before
    author = rows[0].decided_by or ""
    assert (is_rule(author), person_of(author)) == (True, "Ada")
    assert rows[-1].decision is None
    assert not look(store, engine, dataset_id).findings
    assert not sentences(store, dataset_id)
    rest = undo(store.opened, dataset_id)
    while rest is not None and rest.rest_before is not None:
        rest = undo(store.opened, dataset_id, rest_of=rest)
    assert captions_of(store, ids) == before


def test_verdicts_of_people_stay_and_are_listed(store: Store, tmp_path: Path) -> None:
    engine, dataset_id, ids = store_pairs(store, tmp_path, shifted())
    decide(store.opened, ids[5], "correct")
    decide(store.opened, ids[6], "correction", caption="what it shows")
    report = mend(store, engine, dataset_id, "Ada")
    assert (report.left_alone, report.decided, report.moved) == (2, ("5", "6"), ROWS - 3)
    assert captions_of(store, ids)[5:8] == ["caption 4", "what it shows", "caption 7"]


def test_an_equal_caption_is_not_changed(store: Store, tmp_path: Path) -> None:
    drawn = shifted()
    drawn.captions[11] = drawn.captions[10]
    engine, dataset_id, _ = store_pairs(store, tmp_path, drawn)
    assert look(store, engine, dataset_id).moves == ROWS - 2


def test_a_notice_is_given_until_it_is_mended_and_after_an_undo(
    store: Store, tmp_path: Path
) -> None:
    engine, dataset_id, _ = store_pairs(store, tmp_path, shifted())
    assert not sentences(store, dataset_id)
    look(store, engine, dataset_id)
    assert len(sentences(store, dataset_id)) == 1
    mend(store, engine, dataset_id, "Ada")
    assert not sentences(store, dataset_id)
    undo(store.opened, dataset_id)
    assert len(sentences(store, dataset_id)) == 1


def test_rows_of_a_second_import_stand_where_the_source_has_them(
    store: Store, tmp_path: Path
) -> None:
    """They come last in the store, and without a vector until they are scored."""
    engine, dataset_id, ids = store_pairs(store, tmp_path, shifted())
    new = NewPair("new", "new.png", "a new caption", source_file="a.csv", source_row=ROWS + 1)
    store.write(add_pairs, dataset_id, [new])
    report = mend(store, engine, dataset_id, "Ada")
    assert (report.pairs, report.compared, report.moved) == (ROWS + 1, ROWS, ROWS - 1)
    assert captions_of(store, ids)[-1] == "caption 118"  # open


def test_findings_without_a_place_are_not_said_to_be_moved(store: Store, tmp_path: Path) -> None:
    engine, dataset_id, _ = store_pairs(store, tmp_path, shifted())
    report = look(store, engine, dataset_id)

    def sentence(**changed: Any) -> str:
        page = str(report_html(mending.replace(report, **changed)))
        return page.split('class="decision">')[1].split("</p>")[0]

    moved, without = sentence(is_dry_run=False, moved=3), sentence(moves=0)
    assert "3" in moved
    assert sentence(is_dry_run=False, moves=0) == without
    assert not any(letter.isdigit() for letter in without)


def test_hostile_text_is_escaped(store: Store, tmp_path: Path) -> None:
    engine, dataset_id, _ = store_pairs(store, tmp_path, shifted())
    report = look(store, engine, dataset_id)

    def draw(text: str) -> str:
        change = mending.Change(text, text, text)
        finding = mending.replace(report.findings[0], file=text)
        changed = mending.replace(report, examples=(change,), findings=(finding,), decided=(text,))
        return str(report_html(changed)) + str(changes_html(changed))

    check_escaping("rows", draw, is_whole=False)
    assert report_html(None)
    assert not str(changes_html(None)).strip()
    assert report_html(mending.replace(report, findings=(), examples=()))
