"""Actions of the review page that features and packages add: none takes the place of another."""

from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import ValidationError

from traced_ui import page_actions
from traced_ui.board import Post
from traced_ui.keyboard import Key
from traced_ui.page_actions import AddedActions, PageAction, PageActions, Parts, add_actions
from traced_ui.review_actions import OpenPage


def greet(page: PageActions, act: PageAction) -> Parts:
    return {"edit": "Hello"}


GREETING = AddedActions(
    {"greet": greet},
    ("greet",),
    ("greet",),
    (Key(("0",), "greet", "0", ""),),
    asking=("greet",),
)


@pytest.fixture(autouse=True)
def registers(monkeypatch: pytest.MonkeyPatch) -> None:
    assert OpenPage  # all of ours are registered
    lists = ("WRITING", "FORMS", "ASKING", "ADDED_KEYS", "ADDED_BUTTONS", "QUEUE_BUTTONS")
    for name in ("ACTIONS", *lists):
        monkeypatch.setattr(page_actions, name, getattr(page_actions, name).copy())


@pytest.mark.parametrize(
    ("added", "name"),
    [
        (replace(GREETING, handlers={"undo": greet}), "undo"),
        (replace(GREETING, keys=(Key(("0", "z"), "greet", "0", ""),)), "z"),
        (replace(GREETING, scripts=(Path("keys.js"),)), "keys.js"),
        (replace(GREETING, scripts=(Path("my script.js"),)), "my script.js"),
    ],
)
def test_what_is_there_already_stays(added: AddedActions, name: str) -> None:
    before = dict(page_actions.ACTIONS)
    with pytest.raises(ValueError, match=f"'{name}'"):
        add_actions(added)
    assert before == page_actions.ACTIONS


def test_two_that_are_added_cannot_have_one_key() -> None:
    add_actions(GREETING)
    last = {names[-1] for names in (page_actions.WRITING, page_actions.FORMS, page_actions.ASKING)}
    assert last == {"greet"}
    with pytest.raises(ValueError, match="'0'"):
        add_actions(replace(GREETING, handlers={"wave": greet}))


class Greeting(PageAction):
    times: int = 1


def greet_often(page: PageActions, act: Greeting) -> Parts:
    return {"edit": "Hello" * act.times}


def test_what_is_sent_is_checked_as_what_the_handler_takes() -> None:
    add_actions(replace(GREETING, handlers={"greet": greet_often}))
    act = {"action": "greet", "times": 3, "filter": "is none of its fields"}
    post = Post.model_validate({"state": {}, "acts": [act]})
    assert post.acts == [Greeting(action="greet", times=3)]
    with pytest.raises(ValidationError) as refusal:
        Post.model_validate({"state": {}, "acts": [act, {**act, "times": "often"}]})
    assert [error["loc"] for error in refusal.value.errors()] == [("acts", 1, "times")]


@pytest.mark.parametrize(
    ("action", "field", "value"),
    [
        ("next", "by", 0),
        ("open", "target", "x"),
        ("visit", "address", []),
        ("correct", "text", "x" * 100_001),
        ("suggestion-1", "claim", [1]),
        ("narrow", "how", "x" * 9),
        ("many", "pairs", [[1]]),
        ("tag-add", "edit", {"name": 1.5}),
        ("mark-word", "word", None),
        ("no-action", "request", "x" * 33),
    ],
)
def test_an_act_with_a_malformed_field_is_refused(action: str, field: str, value: object) -> None:
    with pytest.raises(ValidationError) as refusal:
        Post.model_validate({"state": {}, "acts": [{"action": action, field: value}]})
    assert {error["loc"][:3] for error in refusal.value.errors()} == {("acts", 0, field)}
