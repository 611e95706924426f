"""Markup is created only in templates, and none of them lets a text become markup."""

import html

import pytest
from jinja2 import UndefinedError

from tests.hostile.markup import (
    HOSTILE,
    TAG,
    Structure,
    check_escaping,
    escaping_turned_off,
    harmless,
    strings,
)
from tests.traced_ui.samples import DRAWN
from traced_ui import templates
from traced_ui.templates import environment, part, render

PYTHON = sorted(templates.FOLDER.parent.glob("*.py"))
#: Templates without text of other people; steps show words without their surroundings.
NOT_WHOLE = {"steps.html", "help.html", "header.html", "models_busy.html",
                 "review/reasons.html", "to_go.html",
                 "progress/cards.html", "review/finish.html", "review/toolbar.html", "icons.html",
                 "review/returned.html", "datasets/upload.html",
                 "guidelines_intro.html", "export/total.html"}  # fmt: skip


def test_every_template_is_tested() -> None:
    assert set(DRAWN) == set(environment().list_templates())


def test_hostile_text_is_escaped() -> None:
    for name, draw in DRAWN.items():
        # Gradio does not process these pages, which have styles.
        check_escaping(
            name, draw, is_for_gradio=name not in ("login.html", "api.html"),
            is_whole=name not in NOT_WHOLE,
        )  # fmt: skip


def test_the_check_detects_an_unescaped_template() -> None:
    """The same check on the output of a template without escaping."""
    text = HOSTILE["a handler"]
    raw = environment().overlay(autoescape=False).from_string("<p title='{{ t }}'>{{ t }}</p>")
    assert Structure(raw.render(t=text)).shape != Structure(raw.render(t=harmless(text))).shape


def test_a_missing_value_is_an_error() -> None:
    with pytest.raises(UndefinedError):
        render("store.html")


def test_the_output_of_a_template_is_not_escaped_again() -> None:
    note = part("note", "a & b")
    assert note in render("store.html", kind="SQLite", place=note)
    assert html.unescape(part("plain", "a & {b}")) == "a & {b}"


def test_no_markup_is_created_in_python() -> None:
    for path in PYTHON:
        markup = [f"{path.name}:{line}: {text}" for line, text in strings(path) if TAG.search(text)]
        assert markup == []
        if path.name != "templates.py":
            assert "Markup(" not in path.read_text(encoding="utf-8"), path.name


def test_no_template_turns_escaping_off() -> None:
    for name in environment().list_templates():
        text = (templates.FOLDER / name).read_text(encoding="utf-8")
        assert not escaping_turned_off(text), name
