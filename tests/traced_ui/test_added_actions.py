"""Actions of the review page that features and packages add: none takes the place of another."""

from dataclasses import replace

import pytest

from traced_ui import page_actions
from traced_ui.keyboard import Key
from traced_ui.page_actions import AddedActions, PageAction, PageActions, Parts, add_actions
from traced_ui.review_actions import OpenPage


def greet(page: PageActions, act: PageAction) -> Parts:
    return {"edit": "Hello"}


GREETING = AddedActions({"greet": greet}, ("greet",), ("greet",), (Key(("0",), "greet", "0", ""),))


@pytest.fixture(autouse=True)
def registers(monkeypatch: pytest.MonkeyPatch) -> None:
    assert OpenPage  # all of ours are registered
    for name in ("ACTIONS", "WRITING", "FORMS", "ADDED_KEYS", "ADDED_BUTTONS", "QUEUE_BUTTONS"):
        monkeypatch.setattr(page_actions, name, getattr(page_actions, name).copy())


@pytest.mark.parametrize(
    ("added", "name"),
    [
        (replace(GREETING, handlers={"undo": greet}), "undo"),
        (replace(GREETING, keys=(Key(("0", "z"), "greet", "0", ""),)), "z"),
    ],
)
def test_what_is_there_already_stays(added: AddedActions, name: str) -> None:
    before = dict(page_actions.ACTIONS)
    with pytest.raises(ValueError, match=f"'{name}'"):
        add_actions(added)
    assert before == page_actions.ACTIONS


def test_two_that_are_added_cannot_have_one_key() -> None:
    add_actions(GREETING)
    assert page_actions.WRITING[-1] == page_actions.FORMS[-1] == "greet"
    with pytest.raises(ValueError, match="'0'"):
        add_actions(replace(GREETING, handlers={"wave": greet}))
