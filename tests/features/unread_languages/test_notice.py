"""Captions that the model cannot read are tagged, counted, and not accused on their pages."""

from types import SimpleNamespace
from typing import Any

import pytest

from backend.engine.presets import BY_NAME
from backend.features.unread_languages.notice import PREFIX, look
from backend.jobs import notices
from backend.progress import no_progress
from backend.review.pair import view_of
from backend.store import Store
from backend.workspace import QueueFilter, Workspace
from db.queries import tag_queries
from db.queries.pair_queries import NewPair
from tests.db.building import add_pairs, set_probabilities, start_run
from tests.traced_ui.pages import Page

ENGLISH = ("A red ball on a table", "Los Angeles skyline", "Rothenburg ob der Tauber", "Dog", "")
GERMAN = ("Ein roter Ball liegt auf dem Tisch", "Eine Frau geht über die Straße")


@pytest.fixture
def store(sqlite_store: Any) -> Store:
    return Store(sqlite_store)


def scored(store: Store, preset: str, dataset_id: int) -> None:
    """As scoring with the preset's model leaves the dataset."""
    model = BY_NAME[preset].scorer.name
    start_run(store.opened, dataset_id, preset, model=model)
    info = SimpleNamespace(model=model)
    engine: Any = SimpleNamespace(
        scorer=SimpleNamespace(info=info), settings=SimpleNamespace(author="Ada")
    )
    look(store, engine, dataset_id, no_progress)


def test_captions_in_another_language_are_found_until_a_model_reads_it(store: Store) -> None:
    rows = [NewPair(f"{i}", f"{i}.png", text) for i, text in enumerate((*ENGLISH, *GERMAN))]
    dataset_id, ids = add_pairs(store.opened, "mixed", rows)
    tag = f"{PREFIX}German"
    scored(store, "embedded", dataset_id)
    assert store.read(tag_queries.counts, dataset_id) == {tag: len(GERMAN)}
    assert store.read(tag_queries.ids_of, dataset_id, tag) == ids[-len(GERMAN) :]
    (notice,) = notices.notices_of(store, dataset_id)
    assert f"{len(GERMAN)} of {len(rows) - 1} captions" in notice.text, "without the empty one"
    views = [view_of(store, pair_id) for pair_id in ids]
    assert [view.unread_language for view in views] == [""] * len(ENGLISH) + ["German"] * 2
    scored(store, "multilingual", dataset_id)
    assert store.read(tag_queries.counts, dataset_id) == {}
    assert notices.notices_of(store, dataset_id) == ()
    assert view_of(store, ids[-1]).unread_language == ""


def test_a_single_caption_is_spoken_of_in_the_singular(store: Store) -> None:
    rows = [NewPair(f"{i}", f"{i}.png", text) for i, text in enumerate((*ENGLISH[:2], GERMAN[0]))]
    dataset_id, _ = add_pairs(store.opened, "mixed", rows)
    scored(store, "embedded", dataset_id)
    (notice,) = notices.notices_of(store, dataset_id)
    assert notice.text.startswith("1 of 3 captions seems to be in German")


def test_no_list_shows_a_chance_of_a_caption_that_is_not_read(workspace: Workspace) -> None:
    """Both are captions of one picture; the grid, the table and beside the pair."""
    store = workspace.store
    rows = [NewPair(f"{i}", "1.png", text) for i, text in enumerate((ENGLISH[0], GERMAN[0]))]
    dataset_id, ids = add_pairs(store.opened, "mixed", rows)
    set_probabilities(store.opened, ids, (0.4, 0.9))
    scored(store, "embedded", dataset_id)
    page = Page(workspace, dataset_id, order="p_error")
    assert page.pair == ids[1]
    lists = [page.shown["queue"], page.shown["steps"]]
    for view in ("grid", "table"):
        page.send(view)
        lists.append(page.shown["stage"])
    for markup in lists:
        assert "40 %" in markup
        assert "90 %" not in markup
    listed = workspace.review.queue_page(QueueFilter(dataset_id)).rows
    assert workspace.review.languages_not_read(dataset_id, listed) == {ids[1]: "German"}


def test_where_nothing_is_known_of_the_model_nothing_is_said(store: Store) -> None:
    dataset_id, _ = add_pairs(store.opened, "german", [NewPair("0", "0.png", GERMAN[0])])
    scored(store, "large", dataset_id)
    assert notices.notices_of(store, dataset_id) == ()
