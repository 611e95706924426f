"""Texts that try to become markup, and how a test detects whether they did."""

import ast
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

#: Tags, except for the few that Plotly's own labels support.
TAG = re.compile(r"</?(?!br>|extra>)[a-zA-Z!][^<>]*>?")
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
    """Names of elements and attributes in order, and all text."""

    def __init__(self, markup: str) -> None:
        super().__init__(convert_charrefs=True)
        self.shape: list[tuple[str, ...]] = []
        self.text = ""
        self.attributes: list[str] = []
        self.feed(str(markup))  # Markup would escape strings that are concatenated with it
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
    """The same words, with a full stop in place of every special character."""
    return re.sub(r"[^\w\s]", ".", text)


def strings(path: Path) -> list[tuple[int, str]]:
    """The constant strings of a module, including those in f-strings, except docstrings."""
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


def escaping_turned_off(source: str) -> bool:
    """Whether a template marks values as safe, or has unquoted attributes, whose values would end
    at a space."""
    return bool(
        re.search(r"\|\s*safe\b|autoescape|forceescape|xmlattr", source)
        or re.search(r"\s[\w-]+=\{\{", source)
    )


def check_escaping(
    name: str, draw: Callable[[str], str], is_for_gradio: bool = True, is_whole: bool = True
) -> None:
    """No hostile text that `draw` puts into a page becomes markup, or is evaluated. `is_whole`: all
    of its words are shown."""
    for text in HOSTILE.values():
        about = f"{name}: {text}"
        markup = draw(text)
        result, expected = Structure(markup), Structure(draw(harmless(text)))
        assert result.shape == expected.shape, about
        assert "script" not in {tag for tag, *_ in result.shape}, about
        if is_for_gradio:
            assert not set("${}") & set(markup), about
        if is_whole:
            whole = "\n".join([result.text, *result.attributes])
            assert [word for word in text.split() if word not in whole] == [], about
        assert not re.search("42|49", result.text), f"{about}: an expression was evaluated"
