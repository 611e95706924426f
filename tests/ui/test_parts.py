"""Parts of pages: what strangers wrote is text, and nothing of it is lost."""

import html
import re
from dataclasses import replace

import numpy as np
import pytest

from backend.captions import Caption
from backend.detection.types import SuspectWord
from backend.trajectories.trajectory import Trajectory
from traced_ui.differences import difference
from traced_ui.figures import trajectory_figure
from traced_ui.highlighting import highlighted_caption
from traced_ui.keyboard import KEYS, key_table
from traced_ui.markup import percent, safe
from traced_ui.steps import steps_list
from traced_ui.theme import STYLES

HOSTILE = [
    "<img src=x onerror=alert(1)> dog",
    "${7*6} {{x}} & \"quotes\" 'single'",
    "</p><script>alert(1)</script>",
    "犬が走る، كلب 🐕‍🦺",
    "  two  spaces\nand a line  ",
    "",
]


def text_of(markup: str) -> str:
    return html.unescape(re.sub(r"<[^>]*>", "", markup))


def trajectory(text: str) -> Trajectory:
    caption = Caption.parse(text)
    count = len(caption)
    return Trajectory(
        caption, np.linspace(0, 1, count + 1).astype(np.float32),
        np.linspace(1, 0, count + 1).astype(np.float32), tuple(range(count)),
        np.linspace(0, 1, count).astype(np.float32),
    )  # fmt: skip


@pytest.mark.parametrize("caption", HOSTILE)
def test_a_caption_is_shown_byte_for_byte(caption: str) -> None:
    spans = Caption.parse(caption).spans
    marked = highlighted_caption(caption, [SuspectWord(a, b, 0.9) for a, b in spans], {0}, 1)
    assert text_of(marked) == caption
    for dangerous in ("<img", "<script", "${", "{{"):
        assert dangerous not in marked


@pytest.mark.parametrize("caption", HOSTILE)
def test_charts_and_steps_take_any_caption(caption: str) -> None:
    made = trajectory(caption)
    listed = steps_list(made, 1)
    assert "<img" not in listed
    assert "<script" not in listed
    figure = trajectory_figure(made, 99)
    assert all("<img" not in told for told in figure.data[0].customdata)


def test_steps_that_replace_words_show_what_went_and_what_came() -> None:
    made = replace(trajectory("A red dog"), captions=("A brown dog", "A brown <b>", "A"))
    listed = steps_list(made, 1)
    assert "<del>red</del> <ins>brown</ins>" in listed
    assert "<b>" not in listed
    assert "A brown dog" in str(trajectory_figure(made, 1).data[0].customdata)


def test_suspicion_shows_as_shade_line_and_number() -> None:
    marked = highlighted_caption("A red dog", [SuspectWord(2, 5, 0.83)], words_read=2)
    assert '--suspicion:0.83" title="suspicion 0.83"' in marked
    assert 'class="word suspect"' in marked
    assert marked.count("unread") == 1


@pytest.mark.parametrize(
    ("before", "after", "gone", "new"),
    [
        ("A red dog.", "A brown dog.", ["red"], ["brown"]),
        ("A red dog", "A dog", ["red "], []),
        ("A dog", "A big dog", [], ["big "]),
        ("Same", "Same", [], []),
        ("<b>x</b>", "<i>y</i>", None, None),
    ],
)
def test_differences(
    before: str, after: str, gone: list[str] | None, new: list[str] | None
) -> None:
    shown = difference(before, after)
    if gone is not None:
        assert [html.unescape(t) for t in re.findall(r"<del>(.*?)</del>", shown)] == gone
        assert re.findall(r"<ins>(.*?)</ins>", shown) == new
    # The space between a deletion and its replacement is for the eye alone.
    without = re.sub(r"<del>.*?</del> ?", "", shown)
    assert text_of(without).replace(" ", "") == after.replace(" ", "")
    assert "<b>" not in shown


def test_no_key_does_two_things() -> None:
    names = [name for key in KEYS for name in key.keys]
    assert len(names) == len(set(names)) == len(key_table())


@pytest.mark.parametrize(
    ("value", "shown"),
    [(None, "–"), (0.0, "0 %"), (0.001, "< 1 %"), (0.5, "50 %"), (0.999, "> 99 %"), (1.0, "100 %")],
)
def test_percent(value: float | None, shown: str) -> None:
    assert percent(value) == shown


def test_safe_leaves_nothing_that_a_template_or_a_browser_would_run() -> None:
    assert not set("<>\"'${}") & set(re.sub(r"&[a-z#0-9]+;", "", safe("<a href='${x}'>{{y}}</a>")))


def test_styles_fetch_nothing() -> None:
    styles = STYLES.read_text(encoding="utf-8")
    assert "url(" not in styles
    assert "@import" not in styles
