"""One word for a verdict, a measure or a state, on every page and command."""

import ast
import html
import re
from pathlib import Path

import pytest

from backend.measures import MEASURES
from backend.verdict_texts import TEXTS, word_of
from db.decisions import DECISIONS, ENRICHED
from tests.traced_ui.samples import DRAWN
from traced_ui.keyboard import KEYS
from traced_ui.review_page import DECISIONS as BUTTONS
from traced_ui.review_page import LISTED

ROOT = Path(__file__).resolve().parents[2]
#: Words that pages do not use, with those of `backend/verdict_texts.py` and `db/measures.py` to use
#: instead. They are names in the code, the API and files, which stay.
INSTEAD = {
    r"drop(s|ped|ping)?": "removed", r"unsure": "not sure",
    r"abstract": "vague", r"p_error": "chance of error", r"s_0": "match",
    r"unreviewed pairs?": "undecided pair", r"unlabel(l)?ed": "undecided",
}  # fmt: skip


def visible(markup: str) -> str:
    """What people see or hear of a page: its text, and the texts of titles and labels."""
    markup = re.sub(r"\bdecision = \w+", " ", markup)  # typed filters have the names of the API
    markup = re.sub(r"<(script|style|template).*?</\1>", " ", markup, flags=re.S)
    attributes = re.findall(r'(?:title|aria-label|alt|placeholder)="([^"]*)"', markup)
    options = re.sub(r"<option.*?>", " ", markup)
    return html.unescape(" ".join([re.sub(r"<[^>]*>", " ", options), *attributes]))


def other_words(text: str) -> list[str]:
    """
    >>> other_words("12 were dropped, 3 unsure"), other_words("Abstraction")
    (["'dropped': say 'removed'", "'unsure': say 'not sure'"], [])
    """
    return [
        f"{match[0]!r}: say {word!r}"
        for other, word in INSTEAD.items()
        for match in re.finditer(rf"\b{other}\b", text, flags=re.IGNORECASE)
    ]


@pytest.mark.parametrize("name", sorted(DRAWN))
def test_no_page_has_another_word(name: str) -> None:
    assert other_words(visible(DRAWN[name]("a text"))) == []


def test_no_text_of_a_page_in_code_has_another_word() -> None:
    """Labels and messages of pages: strings that are sentences or titles, not names."""
    problems = []
    for path in sorted((ROOT / "traced_ui").glob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        texts = [
            node.value
            for node in ast.walk(tree)
            if isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and (" " in node.value.strip() or node.value.istitle())
        ]
        documented = {
            ast.get_docstring(node, clean=False)
            for node in ast.walk(tree)
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        }
        problems += [
            f"{path.name}: {problem}"
            for text in texts
            if text not in documented and "\n" not in text
            for problem in other_words(text)
        ]
    assert problems == []


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
    texts = [key.description for key in KEYS]
    texts += [f"{m.title} {m.order} {m.word} {m.bar} {m.explanation}" for m in MEASURES.values()]
    assert [problem for text in texts for problem in other_words(text)] == []
