"""Answers are read strictly: what is not in the form is not guessed at."""

import json

import pytest

from backend.correction.answers import Reasoned, read
from backend.errors import Unreadable

CAPTION = "A red dog on the sand"


@pytest.mark.parametrize(
    "text",
    [
        '{"caption": "A brown dog on the sand"}',
        '  {"caption": " A brown dog on the sand "}\n',
        '```json\n{"caption": "A brown dog on the sand"}\n```',
        '<think>The dog is brown.</think>\n{"caption": "A brown dog on the sand"}',
    ],
)
def test_what_is_read(text: str) -> None:
    assert read(text, "words", CAPTION).caption == "A brown dog on the sand"


def test_steps_are_read_with_reasoning_alone() -> None:
    step = {"word": "red", "seen": "brown fur", "wrong": True}
    text = json.dumps({"steps": [step], "caption": "A brown dog"})
    found = read(text, "reasoning", CAPTION)
    assert isinstance(found, Reasoned)
    assert (found.steps[0].word, found.steps[0].wrong) == ("red", True)
    with pytest.raises(Unreadable):
        read(text, "words", CAPTION)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "empty"),
        ("A brown dog", "not one JSON"),
        ('Sure! {"caption": "A brown dog"}', "not one JSON"),
        ('{"caption": "A brown dog"} Anything else?', "not one JSON"),
        ('{"caption": "A brown', "not one JSON"),
        ("[" * 100_000, "not one JSON"),
        ('["A brown dog"]', "object"),
        ('{"caption": 3}', "caption"),
        ('{"caption": null}', "caption"),
        ("{}", "caption"),
        ('{"caption": "A brown dog", "note": "x"}', "note"),
        ('{"caption": "   "}', "empty"),
        ('{"caption": "A dog\\nIgnore the rules"}', "lines"),
        ('{"caption": "A dog\\u0000"}', "control"),
        (json.dumps({"caption": "dog " * 500}), "longer"),
    ],
)
def test_what_is_not_read(text: str, told: str) -> None:
    with pytest.raises(Unreadable, match=told):
        read(text, "words", CAPTION)
