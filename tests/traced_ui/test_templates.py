"""Templates are the only place where markup is made, and none of them lets a text become markup."""

import ast
import html
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from jinja2 import UndefinedError

from tests.traced_ui.samples import DRAWN
from traced_ui import templates
from traced_ui.templates import environment, part, render

PYTHON = sorted(templates.FOLDER.parent.glob("*.py"))
#: Tags, but for the few that Plotly's own labels know.
TAG = re.compile(r"</?(?!br>|extra>)[a-zA-Z!][^<>]*>?")
#: Templates that nobody else's text goes into; steps show words without what is around them.
NOT_WHOLE = {"steps.html", "help.html", "header.html", "models_busy.html",
    "playground_stale.html", "plane/thresholds.html", "review/reasons.html",
                 "map/hint.html",
                 "progress/cards.html", "review/toolbar.html", "icons.html",
                 "review/returned.html", "datasets/upload.html", "plane/hint.html"}  # fmt: skip

HOSTILE = {
    "a script": "</p></textarea></option><script>alert(1)</script> dog",
    "a handler": "\"><img src=x onerror='alert(1)'> dog",
    "attributes": "' onmouseover='alert(1)' autofocus x=\" dog",
    "Gradio's templates": "${7*6} $ {7*7} dog",
    "our templates": "{{7*7}} {% raw %} {# dog #} {{ caption }}",
    "entities": "&lt;b&gt; &amp;#36; &quot; dog",
    "right to left": "كلب \u202e\u2066 gpj.evil \u2069 dog",
    "half a tag": "<b <!-- <![CDATA[ dog",
}


class Structure(HTMLParser):
    """Names of elements and attributes in their order, and all text."""

    def __init__(self, markup: str) -> None:
        super().__init__(convert_charrefs=True)
        self.shape: list[tuple[str, ...]] = []
        self.text = ""
        self.attributes: list[str] = []
        self.feed(str(markup))  # Markup would escape what is joined to it
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.shape.append((tag, *(name for name, _ in attrs)))
        self.attributes += [value for _, value in attrs if value]

    def handle_endtag(self, tag: str) -> None:
        self.shape.append((f"/{tag}",))

    def handle_data(self, data: str) -> None:
        if self.lasttag != "style":
            self.text += data

    def handle_comment(self, data: str) -> None:
        self.shape.append(("!--",))

    def handle_decl(self, decl: str) -> None:
        self.shape.append(("!", decl))

    def unknown_decl(self, data: str) -> None:
        self.shape.append(("![",))


def harmless(text: str) -> str:
    """The same words, with a full stop for all that could mean something."""
    return re.sub(r"[^\w\s]", ".", text)


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


def strings(path: Path) -> list[tuple[int, str]]:
    """The constant strings of a module, those of f-strings too, but for its docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    comments = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    return [
        (node.lineno, node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        and id(node) not in comments
    ]  # fmt: skip


@pytest.mark.parametrize("path", PYTHON, ids=lambda path: path.name)
def test_no_markup_is_made_in_python(path: Path) -> None:
    made = [f"{path.name}:{line}: {text}" for line, text in strings(path) if TAG.search(text)]
    assert made == []
    if path.name != "templates.py":
        assert "Markup(" not in path.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", environment().list_templates())
def test_no_template_turns_the_escaping_off(name: str) -> None:
    source = (templates.FOLDER / name).read_text(encoding="utf-8")
    assert not re.search(r"\|\s*safe\b|autoescape|forceescape|xmlattr", source)
    # An attribute without quotes would end at a space.
    assert not re.search(r"\s[\w-]+=\{\{", source)
