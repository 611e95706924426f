"""Render untrusted Markdown as inert HTML.

HTML is disabled in markdown-it, so tags are text; it rejects script links by default. Images are
left out, because the page would contact their server. Headings are lowered below the page's own.
"""

from functools import lru_cache
from typing import Any

from markdown_it import MarkdownIt
from markupsafe import Markup

from traced_ui.templates import for_gradio

#: Number of levels by which headings are lowered.
_DEEPER = 2


def _renderer() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    parser.disable(["image", "html_block", "html_inline"])
    parser.add_render_rule("link_open", _link)
    parser.add_render_rule("heading_open", _heading)
    parser.add_render_rule("heading_close", _heading)
    return parser


def _link(renderer: Any, tokens: Any, index: int, options: Any, env: Any) -> str:
    """Open links in a new page, without referrer or opener."""
    tokens[index].attrSet("target", "_blank")
    tokens[index].attrSet("rel", "noopener noreferrer nofollow")
    return str(renderer.renderToken(tokens, index, options, env))


def _heading(renderer: Any, tokens: Any, index: int, options: Any, env: Any) -> str:
    token = tokens[index]
    token.tag = f"h{min(6, int(token.tag[1]) + _DEEPER)}"
    return str(renderer.renderToken(tokens, index, options, env))


@lru_cache(maxsize=16)
def from_markdown(text: str) -> Markup:
    """The text as HTML for a component.

    >>> print(from_markdown("# Say *what* is seen <b>"))
    <h3>Say <em>what</em> is seen &lt;b&gt;</h3>
    <BLANKLINE>
    """
    return for_gradio(_renderer().render(text))
