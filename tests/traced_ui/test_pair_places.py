"""What features and packages add beside a pair: one that fails says so in its place, and nothing
else of the pair is affected."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel
from sqlalchemy import text
from sqlalchemy.orm import Session

from backend import plugins
from backend.plugins import Plugin
from backend.review.pair_parts import PLACES, TAKEN, PairPart, load_pair_parts
from backend.workspace import Workspace
from tests.db.building import watching
from tests.hostile.markup import check_escaping
from tests.traced_ui.samples import pair
from traced_ui import api_records
from traced_ui.api_records import Pair
from traced_ui.page_actions import drawn_pair

#: Where each place is, on the page.
SIDES = {"picture": "stage", "over": "stage", "labels": "stage", "alike": "steps", "tab": "steps"}


class WordCount(BaseModel):
    words: int


@pytest.fixture
def added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., PairPart]:
    """Adds a part, whose template shows its record."""
    load_pair_parts()  # ours stay beside it
    monkeypatch.setattr(plugins, "_LOADED", dict(plugins._LOADED))
    (tmp_path / "added.html").write_text('<p class="added">{{ record.words }}</p>')

    def add(read: Callable[..., Any], place: str = "picture", name: str = "added") -> PairPart:
        part = PairPart(name, place, read, tmp_path / "added.html", title="Counted", api=WordCount)
        loaded = (*plugins._LOADED["pair_parts"], Plugin("pair_parts", name, "", part))
        monkeypatch.setitem(plugins._LOADED, "pair_parts", loaded)
        monkeypatch.setattr(api_records, "_PARTS", load_pair_parts())
        return part

    return add


def count_words(session: Session, row: Any) -> dict[str, int]:
    return {"words": len(row.caption.split())}


def fail(session: Session, row: Any) -> Any:
    session.execute(text("SELECT no_column FROM no_table"))


@pytest.mark.parametrize("place", PLACES)
def test_a_part_stands_in_its_place(
    workspace: Workspace, added: Callable[..., PairPart], place: str
) -> None:
    before = drawn_pair(workspace.review.open_pair(1))
    added(count_words, place)
    view = workspace.review.open_pair(1)
    after = drawn_pair(view)
    shown = f'<p class="added">{len(view.caption.split())}</p>'
    assert {name for name in after if after[name] != before[name]} == {SIDES[place]}
    assert shown in after[SIDES[place]]
    assert ('data-tab="added"' in after["steps"]) == (place == "tab")


def test_nothing_is_drawn_and_nothing_asked_where_there_is_nothing(
    workspace: Workspace, added: Callable[..., PairPart]
) -> None:
    workspace.review.open_pair(1)
    with watching(workspace.store.opened) as before:
        expected = drawn_pair(workspace.review.open_pair(1))
    added(lambda session, row: None)
    with watching(workspace.store.opened) as after:
        assert drawn_pair(workspace.review.open_pair(1)) == expected
    assert len(after) == len(before)


def ask_more(session: Session, row: Any) -> list[Any]:
    return [0]  # without words


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("broken", [fail, ask_more])
def test_one_that_fails_is_named_in_its_place_and_the_rest_is_as_before(
    workspace: Workspace,
    added: Callable[..., PairPart],
    caplog: pytest.LogCaptureFixture,
    place: str,
    broken: Callable[..., Any],
) -> None:
    expected = drawn_pair(workspace.review.open_pair(1))
    answer = Pair.of(workspace.review.open_pair(1))
    added(broken, place, "torn")
    added(count_words, place, "counted")  # the next one is read all the same
    view = workspace.review.open_pair(1)
    after = drawn_pair(view)
    assert "torn" in after[SIDES[place]]
    assert 'class="added"' in after[SIDES[place]]
    assert {name for name in after if after[name] != expected[name]} == {SIDES[place]}
    assert "torn" in caplog.text
    assert Pair.of(view) == answer


def test_a_part_whose_template_is_gone_is_named(
    workspace: Workspace, added: Callable[..., PairPart]
) -> None:
    added(count_words).template.unlink()
    assert "added" in drawn_pair(workspace.review.open_pair(1))["stage"]


def test_hostile_text_is_escaped(added: Callable[..., PairPart]) -> None:
    for place in PLACES:
        added(count_words, place, f"at_{place}")

    def draw(hostile: str) -> str:
        parts: dict[str, object] = {f"at_{place}": {"words": hostile} for place in PLACES}
        parts["at_picture"] = ValueError(hostile)  # an error says what it was given
        sides = drawn_pair(pair(hostile, guidelines="", parts=parts))
        return "".join(sides.values())

    check_escaping("parts of a pair", draw)


@pytest.mark.parametrize("name", ["", "Two words", "caption", "etag", "verdict", "sampling"])
def test_a_name_is_that_of_a_new_field_of_a_pair(name: str) -> None:
    with pytest.raises(ValueError, match="name"):
        PairPart(name, "tab", count_words, Path("added.html"))


def test_every_field_of_a_pair_in_the_api_is_taken() -> None:
    added = {part.name for part in load_pair_parts()}
    measured = set(api_records.Numbers.model_fields)
    assert set(Pair.model_fields) - added - measured <= TAKEN


def test_a_place_that_is_not_there_and_a_name_that_is_twice(
    added: Callable[..., PairPart], monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ValueError, match="nowhere"):
        PairPart("words", "nowhere", count_words, Path("added.html"))
    part = added(count_words)
    monkeypatch.setattr(plugins, "_LOADED", {})
    entries = [
        plugins.EntryPoint(name, "", "traced_curator.pair_parts") for name in ("first", "second")
    ]
    monkeypatch.setattr(plugins, "_of_features", lambda: tuple(entries))
    monkeypatch.setattr(plugins.EntryPoint, "load", lambda self: part)
    assert load_pair_parts() == (part,)
    (problem,) = [each.problem for each in plugins._LOADED["pair_parts"] if each.problem]
    assert "'added'" in problem
