"""Guidelines are Markdown from untrusted authors: they are rendered without active content."""

import re

import pytest

from tests.traced_ui.test_templates import HOSTILE, Structure
from traced_ui.markdown import from_markdown

TAGS = {
    "p", "h3", "h4", "h5", "h6", "em", "strong", "s", "ul", "ol", "li", "a", "code", "pre", "br",
    "blockquote", "hr", "table", "thead", "tbody", "tr", "th", "td",
}  # fmt: skip


def test_ordinary_markdown_is_rendered() -> None:
    text = "# Colours\n\n- *Name* them\n\n| say | not |\n|---|---|\n| red | vivid |\n\n~~old~~"
    html = from_markdown(text)
    for part in ("<h3>Colours</h3>", "<em>Name</em>", "<td>red</td>", "<s>old</s>"):
        assert part in html
    assert from_markdown("###### deep").startswith("<h6>")
    assert from_markdown("") == ""


def test_a_link_sends_no_referrer_and_no_opener() -> None:
    (attributes,) = re.findall("<a ([^>]*)>", from_markdown("[the guide](https://example.org/a)"))
    assert 'href="https://example.org/a"' in attributes
    assert 'target="_blank"' in attributes
    assert "noopener noreferrer" in attributes


@pytest.mark.parametrize(
    "text",
    [
        *HOSTILE.values(),
        "[a](javascript:alert(1))",
        "[a](  JaVaScRiPt:alert(1))",
        "[a](java&#10;script:alert(1))",
        "[a](data:text/html;base64,PHNjcmlwdD4=)",
        "[a](vbscript:x)",
        '[a](https://e.org "title" onmouseover=alert(1) x="")',
        '<https://e.org/"onclick=alert(1)>',
        "[a]: javascript:alert(1)\n\n[a]",
        "![a](https://elsewhere.org/pixel.png)",
        "<img src=x onerror=alert(1)>",
        "<div>\n<script>alert(1)</script>\n</div>",
        "```html\n<script>alert(1)</script>\n```",
        '``` " onload=alert(1)\nx\n```',
        "| <b onclick=x> | ${7*6} |\n|---|---|\n| {{7*7}} | b |",
    ],
)
def test_hostile_markdown_does_nothing(text: str) -> None:
    html = from_markdown(text)
    structure = Structure(html)
    tags = {tag.removeprefix("/") for tag, *_ in structure.shape}
    assert tags <= TAGS
    names = {name for tag, *rest in structure.shape for name in rest}
    assert names <= {"href", "title", "target", "rel", "class", "style"}
    assert not [
        value for value in structure.attributes if re.match(r"\s*(java|vb)script|data:", value)
    ]
    assert not set("${}") & set(html)
