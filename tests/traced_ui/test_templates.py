"""Templates are the only place where markup is made, and none of them lets a text become markup."""

import html
import re
from pathlib import Path

import pytest
from jinja2 import UndefinedError

from tests.hostile.markup import HOSTILE, TAG, Structure, escaping_turned_off, harmless, strings
from tests.traced_ui.samples import DRAWN
from traced_ui import templates
from traced_ui.templates import environment, part, render

PYTHON = sorted(templates.FOLDER.parent.glob("*.py"))
#: Templates that nobody else's text goes into; steps show words without what is around them.
NOT_WHOLE = {"steps.html", "help.html", "header.html", "models_busy.html",
    "playground_stale.html", "plane/thresholds.html", "review/reasons.html",
                 "map/hint.html",
                 "progress/cards.html", "review/toolbar.html", "icons.html",
                 "review/returned.html", "datasets/upload.html", "plane/hint.html"}  # fmt: skip


def test_every_template_is_tried() -> None:
    assert set(DRAWN) == set(environment().list_templates())


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.parametrize("name", DRAWN)
def test_a_hostile_text_stays_text(name: str, text: str) -> None:
    drawn = DRAWN[name](text)
    result, expected = Structure(drawn), Structure(DRAWN[name](harmless(text)))
    assert result.shape == expected.shape
    assert "script" not in {tag for tag, *_ in result.shape}
    if name != "login.html":  # a page of its own: Gradio does not read it, and it has styles
        assert not set("${}") & set(drawn)
    if name not in NOT_WHOLE:
        whole = "\n".join([result.text, *result.attributes])
        assert [word for word in text.split() if word not in whole] == []
    assert not re.search("42|49", result.text)  # nobody has multiplied


def test_the_attack_would_be_seen() -> None:
    """The same check, on what a template that escapes nothing would make."""
    text = HOSTILE["a handler"]
    raw = environment().overlay(autoescape=False).from_string("<p title='{{ t }}'>{{ t }}</p>")
    assert Structure(raw.render(t=text)).shape != Structure(raw.render(t=harmless(text))).shape


def test_a_value_that_is_missing_is_an_error() -> None:
    with pytest.raises(UndefinedError):
        render("logged_in.html")


def test_what_a_template_made_is_not_escaped_again() -> None:
    made = part("note", "a & b")
    assert render("playground_why.html", abstractness=made).endswith(made)
    assert html.unescape(part("plain", "a & {b}")) == "a & {b}"


@pytest.mark.parametrize("path", PYTHON, ids=lambda path: path.name)
def test_no_markup_is_made_in_python(path: Path) -> None:
    made = [f"{path.name}:{line}: {text}" for line, text in strings(path) if TAG.search(text)]
    assert made == []
    if path.name != "templates.py":
        assert "Markup(" not in path.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", environment().list_templates())
def test_no_template_turns_the_escaping_off(name: str) -> None:
    assert not escaping_turned_off((templates.FOLDER / name).read_text(encoding="utf-8"))
