"""HTML templates: every value inserted into one is escaped, unless a template produced it.

Page code need not escape anything: `render` and `part` return `Markup`, which other templates
insert verbatim; everything else is text.
"""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment
from markupsafe import Markup

from backend.counts import count_of
from backend.datasets.reading.pair_checks import pair_name
from backend.templating import template_environment

FOLDER = Path(__file__).with_name("templates")
#: Gradio's HTML component has its own template language, which would evaluate `${…}` and `{{…}}`.
_FOR_GRADIO = {"$": "&#36;", "{": "&#123;", "}": "&#125;"}


def number(value: float | None, digits: int = 2) -> str:
    """A number for display; a dash for None.

    >>> number(-0.001), number(-0.01), number(None)
    ('0.00', '-0.01', '–')
    """
    return "–" if value is None else f"{value:z.{digits}f}"


def percent(value: float | None) -> str:
    """A probability for display; values close to 0 and 1 are shown as "< 1 %" and "> 99 %"."""
    if value is None:
        return "–"
    if 0.995 <= value < 1:
        return "> 99 %"
    if 0 < value <= 0.005:  # 0.005 itself rounds to 0 %
        return "< 1 %"
    return f"{value:.0%}".replace("%", " %")


def chance(
    p_error: float | None,
    is_unfamiliar: bool,
    in_a_sentence: bool = False,
    unread_language: str = "",
) -> str:
    """How likely a caption is wrong; no figure if the model does not know such pictures or does
    not read the caption's language.

    >>> chance(0.72, False), chance(0.72, False, True)
    ('72 %', '72 % likely wrong')
    >>> chance(0.99, True), chance(0.99, True, True)
    ('not known', 'the model does not know such pictures')
    >>> chance(0.99, False, False, "German"), chance(0.99, False, True, "German")
    ('not known', 'the model does not read German')
    >>> chance(None, False), chance(None, True, True)
    ('–', 'not scored')
    """
    if p_error is None:
        return "not scored" if in_a_sentence else percent(None)
    if is_unfamiliar:
        return "the model does not know such pictures" if in_a_sentence else "not known"
    if unread_language:
        return f"the model does not read {unread_language}" if in_a_sentence else "not known"
    return f"{percent(p_error)} likely wrong" if in_a_sentence else percent(p_error)


def many(count: int) -> str:
    """A count for display; counts are capped at 1000."""
    return f"{count:,}+" if count >= 1000 else str(count)


def ordinal(number: int) -> str:
    """
    >>> [ordinal(n) for n in (1, 2, 3, 4, 11, 21, 112)]
    ['1st', '2nd', '3rd', '4th', '11th', '21st', '112th']
    """
    if number % 100 in (11, 12, 13):
        return f"{number}th"
    return f"{number}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th') }"


def renderer_of(folder: Path) -> Callable[..., Markup]:
    """`render` for the templates of another folder, a feature's, which may use ours as well."""

    def render_in(name: str, /, **values: Any) -> Markup:
        return for_gradio(environment(folder).get_template(name).render(**values))

    return render_in


def render(name: str, /, **values: Any) -> Markup:
    """The template `name`, for a component; jinja2.UndefinedError if one of its values is missing.

    >>> safe = "&lt;b&gt; &#36;&#123;7*6&#125;"
    >>> safe in render("store.html", kind="SQLite", place="<b> ${7*6}")
    True
    """
    return for_gradio(render_page(name, **values))


def for_gradio(html: str) -> Markup:
    """Escape HTML so that Gradio's component does not evaluate it as a template. Idempotent."""
    for sign, escape in _FOR_GRADIO.items():  # ten times as fast as `str.translate`
        html = html.replace(sign, escape)
    return Markup(html)


def part(name: str, /, *values: Any) -> Markup:
    """The result of the macro `name` of `parts.html` for `values`, for a component."""
    markup = getattr(environment().get_template("parts.html").module, name)(*values)
    return for_gradio(str(markup))


def render_page(name: str, /, **values: Any) -> str:
    """A whole page served without Gradio: braces in styles and scripts are kept."""
    return environment().get_template(name).render(**values)


@cache
def environment(*folders: Path) -> Environment:
    """The Jinja environment, with the templates' filters; `folders` before our own."""
    environment_of_pages = template_environment(*folders, FOLDER)
    environment_of_pages.filters.update(
        number=number, percent=percent, chance=chance, many=many, counted=count_of,
        picture=picture_source, signed=_sign, ordinal=ordinal, pair_name=pair_name,
        width="{:.1%}".format,  # of CSS, unlike `percent`
    )  # fmt: skip
    return environment_of_pages


def picture_source(pair_id: int, size: str) -> str:
    """The address of a pair's picture, from the page. `size`: a key of `server.SIZES`."""
    return f"pictures/{pair_id}?size={size}"


def _sign(value: float, digits: int = 3) -> str:
    """
    >>> _sign(-0.0001), _sign(-0.001)
    ('+0.000', '-0.001')
    """
    return f"{value:+z.{digits}f}"
