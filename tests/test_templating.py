"""HTML that the program writes into files comes from templates too, which escape all values."""

import re
from pathlib import Path

import pytest
from jinja2 import UndefinedError

from backend.templating import template_environment
from tests.hostile.markup import escaping_turned_off, strings

BACKEND = Path(__file__).resolve().parent.parent / "backend"
TEMPLATES = sorted(BACKEND.rglob("templates/*.html"))
HTML = re.compile(r"<(!doctype|html|head|body|script|div|p|h[1-6]|table|t[rdh]|img)\b", re.I)


def test_values_are_escaped_and_missing_ones_are_errors(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text("<b>{{ text }}</b>")
    template = template_environment(tmp_path).get_template("a.html")
    assert template.render(text="<i>") == "<b>&lt;i&gt;</b>"
    with pytest.raises(UndefinedError):
        template.render()


def test_no_backend_module_contains_html() -> None:
    pieces = [
        f"{path.relative_to(BACKEND)}:{line}"
        for path in sorted(BACKEND.rglob("*.py"))
        for line, text in strings(path)
        if HTML.search(text)
    ]
    assert pieces == []


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_no_template_turns_escaping_off(path: Path) -> None:
    assert not escaping_turned_off(path.read_text(encoding="utf-8"))
