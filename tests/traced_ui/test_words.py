"""One word for a verdict, a measure or a state, on every page (elsewhere: `tests/docs`)."""

import html
import re

import pytest

from backend.measures import MEASURES
from backend.verdict_texts import TEXTS, word_of
from db.decisions import DECISIONS, ENRICHED
from tests.traced_ui.samples import DRAWN
from tests.words import other_words
from traced_ui.keyboard import by_task
from traced_ui.review_actions import ALL_KEYS
from traced_ui.review_labels import DECISIONS as BUTTONS
from traced_ui.review_labels import LISTED


def visible(markup: str) -> str:
    """What people see or hear of a page: its text, and the texts of titles and labels."""
    markup = re.sub(r"\bdecision = \w+", " ", markup)  # typed filters have the names of the API
    markup = re.sub(r"<(script|style|template).*?</\1>", " ", markup, flags=re.S)
    attributes = re.findall(r'(?:title|aria-label|alt|placeholder)="([^"]*)"', markup)
    options = re.sub(r"<option.*?>", " ", markup)
    return html.unescape(" ".join([re.sub(r"<[^>]*>", " ", options), *attributes]))


@pytest.mark.parametrize("name", sorted(DRAWN))
def test_no_page_has_another_word(name: str) -> None:
    assert other_words(visible(DRAWN[name]("a text"))) == []


def test_a_verdict_has_one_word() -> None:
    """Its button is that word, or the verb of it."""
    verbs = {"Fix": "corrected", "Remove": "removed"}
    for verdict, text in TEXTS.items():
        assert word_of(verdict) == verbs.get(text.button, text.button.lower())
        assert LISTED[verdict].endswith(word_of(verdict))
        assert text.saved.lower() == f"{word_of(verdict)}."
    assert set(BUTTONS) == set(DECISIONS) - {"correction"}
    assert LISTED[ENRICHED].endswith(word_of(ENRICHED))


def test_keys_and_measures_use_the_words() -> None:
    texts = [key.description for key in ALL_KEYS]
    texts += [f"{m.title} {m.order} {m.word} {m.bar} {m.explanation}" for m in MEASURES.values()]
    assert [problem for text in texts for problem in other_words(text)] == []


def test_the_list_of_keys_has_each_key_once_under_a_task() -> None:
    listed = [key for group in by_task(ALL_KEYS).values() for key in group]
    assert sorted(key.action for key in listed) == sorted(key.action for key in ALL_KEYS)
