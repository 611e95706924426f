"""Answers are parsed strictly: what deviates from the format is rejected, not guessed at."""

import json

import pytest

from backend.errors import Unreadable
from backend.features.corrections.answers import ReasonedAnswer, read

CAPTION = "A red dog on the sand"


@pytest.mark.parametrize(
    "text",
    [
        '{"caption": "A brown dog on the sand"}',
        '  {"caption": " A brown dog on the sand "}\n',
        '```json\n{"caption": "A brown dog on the sand"}\n```',
        '<think>The dog is brown.</think>\n{"caption": "A brown dog on the sand"}',
        'Sure! Here {it} is: {"caption": "A brown dog on the sand"}',
        '{"caption": "A brown dog on the sand"} Anything else?',
        'Here:\n```json\n{"caption": "A brown dog on the sand"}\n```\nI hope that helps.',
        '{"caption": "A brown dog on the sand"}\n{"caption": "A brown dog on the sand"}',
    ],
)
def test_valid_answers_are_read(text: str) -> None:
    assert read(text, "words", CAPTION).caption == "A brown dog on the sand"


def test_steps_are_read_only_in_reasoning_mode() -> None:
    step = {"word": "red", "seen": "brown fur", "wrong": True}
    text = json.dumps({"steps": [step], "caption": "A brown dog"})
    answer = read(text, "reasoning", CAPTION)
    assert isinstance(answer, ReasonedAnswer)
    assert (answer.steps[0].word, answer.steps[0].wrong) == ("red", True)
    with pytest.raises(Unreadable):
        read(text, "words", CAPTION)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "empty"),
        ("A brown dog", "not a single JSON"),
        ('{"caption": "A brown dog"} or {"caption": "A dog"}', "several"),
        ('The form {"caption": "…"} means {"caption": "A dog"}', "several"),
        ('{"a":' * 100_000, "not a single JSON"),
        ("{" * 1_000_000, "not a single JSON"),
        ('{"caption": "A brown', "not a single JSON"),
        ("[" * 100_000, "not a single JSON"),
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
def test_invalid_answers_are_rejected_with_a_reason(text: str, message: str) -> None:
    with pytest.raises(Unreadable, match=message):
        read(text, "words", CAPTION)
