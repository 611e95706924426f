"""Pages as templates: every value that goes into one is escaped, unless a template made it.

Nobody who writes a page has to remember that: `render` and `part` return `Markup`, which other
templates take as it is; all else is text.
"""

from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from traced_ui.markup import many, number, percent

FOLDER = Path(__file__).with_name("templates")
#: Gradio's HTML component has a template language of its own, which would run `${…}` and `{{…}}`.
_FOR_GRADIO = str.maketrans({"$": "&#36;", "{": "&#123;", "}": "&#125;"})


def render(name: str, /, **values: Any) -> Markup:
    """The template `name`, for a component; jinja2.UndefinedError if one of its values is missing.

    >>> render("playground_why.html", abstractness="<b> ${7*6}")
    Markup('<h3>What makes it concrete</h3>&lt;b&gt; &#36;&#123;7*6&#125;')
    """
    return for_gradio(render_page(name, **values))


def for_gradio(html: str) -> Markup:
    """HTML as Gradio's component is to show it, and not to run it. Can be done twice."""
    return Markup(html.translate(_FOR_GRADIO))


def part(name: str, /, *values: Any) -> Markup:
    """What the macro `name` of `parts.html` makes of `values`, for a component."""
    made = getattr(environment().get_template("parts.html").module, name)(*values)
    return for_gradio(str(made))


def render_page(name: str, /, **values: Any) -> str:
    """A whole page that Gradio has no part in: styles and scripts keep their braces."""
    return environment().get_template(name).render(**values)


@cache
def environment() -> Environment:
    """Where the templates are found and what they can do."""
    made = Environment(
        loader=FileSystemLoader(FOLDER), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, auto_reload=False,
    )  # fmt: skip
    made.filters.update(
        number=number, percent=percent, many=many, picture=picture_source, signed=_signed,
        width=_width,
    )  # fmt: skip
    return made


def picture_source(pair_id: int, size: str) -> str:
    """The address of a pair's picture. `size`: "full", or the pixels of its longer side."""
    return f"/pictures/{pair_id}?size={size}"


def _signed(value: float, digits: int = 3) -> str:
    return f"{value:+.{digits}f}"


def _width(share: float) -> str:
    """A share as a length in CSS, which a number for people is not."""
    return f"{share:.1%}"
