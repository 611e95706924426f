"""Parts of pages: untrusted text is escaped, and none of it is lost."""

import html
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from backend.engine.captions import Caption
from backend.engine.detection.types import SuspectWord
from backend.jobs.notices import Sentence
from backend.learning_texts import FEWEST_FOR_LEVEL
from backend.review.views import ClaimView, VerdictView
from backend.workspace import ReviewCounts
from tests.traced_ui import samples
from tests.traced_ui.samples import (
    NOW,
    classifiers,
    pair,
    row,
    suggestion,
    trajectory,
    with_changes,
)
from traced_ui import overview, queue_panel, retrain, review_page
from traced_ui.differences import difference, readable
from traced_ui.highlighting import highlighted_caption
from traced_ui.keyboard import key_table
from traced_ui.review_actions import ALL_KEYS
from traced_ui.trajectory_chart import (
    BOTTOM,
    LEFT,
    RIGHT,
    TOP,
    highest_step,
    steps_list,
    trajectory_chart,
)

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


@pytest.mark.parametrize("caption", HOSTILE)
def test_a_caption_is_shown_byte_for_byte(caption: str) -> None:
    spans = Caption.parse(caption).spans
    marked = highlighted_caption(caption, [SuspectWord(a, b, 0.9) for a, b in spans], 1)
    assert text_of(marked) == caption
    steps = trajectory(caption)
    chart = trajectory_chart(steps)
    assert chart.count('data-action="step"') == steps.steps + 1
    assert "nan" not in chart
    for markup in (marked, steps_list(steps), chart):
        assert not [text for text in ("<img", "<script", "${", "{{") if text in markup]


def test_steps_that_replace_words_show_the_old_and_the_new() -> None:
    steps = replace(trajectory("A red dog"), captions=("A brown dog", "A brown <b>", "A"))
    html_of_steps = steps_list(steps)
    assert "<del>red</del> <ins>brown</ins>" in html_of_steps
    assert "<b>" not in html_of_steps
    chart = trajectory_chart(steps)
    assert "A brown dog" in chart
    assert "<b>" not in chart


def test_the_curves_of_a_chart_stay_within_its_frame() -> None:
    steps = trajectory("A red dog on a lawn")
    chart = trajectory_chart(steps)
    points = [
        tuple(map(float, point.split(",")))
        for curve in re.findall(r'points="([^"]*)"', chart)
        for point in curve.split()
    ]
    assert len(points) == 2 * (steps.steps + 1)
    assert all(LEFT <= x <= RIGHT and TOP <= y <= BOTTOM for x, y in points)


@pytest.mark.parametrize(
    ("before", "after", "is_marked"),
    [
        ("A red dog on a lawn.", "A brown dog on a lawn.", True),
        ("There is a bench with two bikes.", "A brown box under a tree on a sunny day.", False),
        ("A dog", "A cat", True),
        ("A dog", "Two cats sleep", False),
        ("", "A dog.", False),
    ],
)
def test_a_completely_rewritten_caption_is_shown_in_full(
    before: str, after: str, is_marked: bool
) -> None:
    shown = readable(before, after)
    assert ("<ins>" in shown) == is_marked
    assert html.unescape(re.sub(r"<del>.*?</del> ?|<[^>]*>", "", shown)).split() == after.split()


@pytest.mark.parametrize(
    ("after", "gone"),
    [
        ("A dog with a tail runs on the grass by the lake", "large brown very furry wet green old"),
        ("A cat with a tail runs on the wet grass by the sea", "very furry green"),
        ("A dog", "large brown with a very furry tail runs on the wet green grass by the old lake"),
    ],
)
def test_words_that_a_suggestion_leaves_out_are_struck(after: str, gone: str) -> None:
    before = "A large brown dog with a very furry tail runs on the wet green grass by the old lake"
    shown = readable(before, after)
    assert " ".join(re.findall("<del>(.*?)</del>", shown)).split() == gone.split()
    assert text_of(re.sub("<del>.*?</del>", "", shown)).split() == after.split()


def test_suspicion_is_shown_as_shade_underline_and_number() -> None:
    marked = highlighted_caption("A red dog", [SuspectWord(2, 5, 0.83)], words_read=2)
    assert '--suspicion:0.83" title="suspicion 0.83"' in marked
    assert 'class="word suspect"' in marked
    assert marked.count("unread") == 1


def test_each_claim_has_its_own_most_suspect_word() -> None:
    text = "A red dog. A blue cat."
    claims = [
        ClaimView(start, end, "sentence", False, False, True, numbers={})
        for start, end in ((0, 10), (11, 22))
    ]
    suspects = [SuspectWord(2, 5, 0.9), SuspectWord(13, 17, 0.3)]
    marked = highlighted_caption(text, suspects, claims=claims)
    assert re.findall(r'class="word suspect[^>]*>([^<]*)<', marked) == ["red", "blue"]


def test_a_word_of_which_a_part_belongs_to_the_next_claim_is_shown_once() -> None:
    caption = "<b>A dog</b> & a cat"
    claims = [
        ClaimView(start, end, "sentence", False, False, True, numbers={})
        for start, end in ((3, 12), (12, len(caption)))
    ]
    assert text_of(highlighted_caption(caption, (), claims=claims)) == caption


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
def test_differences_are_marked_as_deletions_and_insertions(
    before: str, after: str, gone: list[str] | None, new: list[str] | None
) -> None:
    shown = difference(before, after)
    if gone is not None:
        assert [html.unescape(t) for t in re.findall(r"<del>(.*?)</del>", shown)] == gone
        assert re.findall(r"<ins>(.*?)</ins>", shown) == new
    # The space between a deletion and its replacement is only visual.
    without = re.sub(r"<del>.*?</del> ?", "", shown)
    assert text_of(without).replace(" ", "") == after.replace(" ", "")
    assert "<b>" not in shown


def test_no_key_has_two_actions() -> None:
    names = [name for key in ALL_KEYS for name in key.keys]
    assert len(names) == len(set(names)) == len(key_table(ALL_KEYS))


def test_the_tinted_words_are_those_that_the_sentence_names() -> None:
    text = "Two red dogs on a lawn"
    scores = (0.95, 0.9, 0.8, 0.7, 0.6, 0.3)
    many = tuple(
        SuspectWord(start, end, score)
        for score, (start, end) in zip(scores, Caption.parse(text).spans, strict=True)
    )
    view = pair(text, suspects=many, corrected_caption=None)
    trajectory = view.opinion.trajectory
    assert trajectory is not None
    steps = np.array([0.1, 0.2, 0.4, 0.3], np.float32)
    removing = replace(trajectory, caption=Caption.parse(text), removed=(2, 1, 0), scores=steps)
    shown = review_page.stage(with_changes(view, trajectory=removing))
    # Not the count or the function word beside words that say more, nor what is likely right.
    tinted = r'class="word suspect[^>]*>([^<]*)<'
    assert re.findall(tinted, shown) == ["red", "dogs"]
    assert "Without red and dogs, the match rises from 0.10 to 0.40." in text_of(shown)
    assert re.findall(tinted, highlighted_caption(text, many)) == ["red", "dogs"], "everywhere"


def test_the_highest_match_is_called_so_and_only_if_every_step_is_known() -> None:
    trajectory = pair("A dog at the lake").opinion.trajectory
    assert trajectory is not None
    scores = np.array([0.2, 0.201, 0.5, 0.4], np.float32)
    whole = replace(
        trajectory, caption=Caption.parse("A dog at the lake"), removed=(0, 1, 4), scores=scores
    )
    assert highest_step(whole) == 2
    assert highest_step(replace(whole, scores=scores[::-1].copy())) == 1
    assert highest_step(replace(whole, scores=-scores)) == 0
    assert highest_step(replace(whole, whole=False)) == 0


@pytest.mark.parametrize(
    "scores", [[0.0, 0.92, 0.5], [-4.2, 11.0, 3.0], [0.3, 0.3, 0.3], [2.0**50, 2.0**50, 2.0**50]]
)
@pytest.mark.parametrize("lowest", [0.3, -0.07])
def test_both_axes_have_their_ticks_at_the_same_heights_around_all_values(
    scores: list[float], lowest: float
) -> None:
    sample = pair("A dog at the lake").opinion.trajectory
    assert sample is not None
    trajectory = replace(
        sample, caption=Caption.parse("A dog at the lake"), removed=(1, 4),
        scores=np.array(scores, np.float32),
        similarities=np.array([1.0, 0.6, lowest], np.float32), auxiliary=None,
    )  # fmt: skip
    chart = trajectory_chart(trajectory)
    ticks = {
        name: [(float(y), float(text)) for y, text in re.findall(
            rf'<text class="{name}"[^>]* y="([\d.]+)"[^>]*>([-\d.]+)<', chart)]
        for name in "sc"
    }  # fmt: skip
    assert [y for y, _ in ticks["s"]] == [y for y, _ in ticks["c"]]
    for name, values in (("s", scores), ("c", [1.0, lowest])):
        (bottom, low), (top, high) = ticks[name][0], ticks[name][-1]
        assert low - 1e-6 <= min(values) <= max(values) <= high + 1e-6
        (points,) = re.findall(rf'<polyline class="{name}"[^>]* points="([^"]+)"', chart)
        curve = scores if name == "s" else [1, 0.6, lowest]
        for point, value in zip(points.split(), curve, strict=True):
            height = float(point.split(",")[1]) + 4  # a label stands below its line
            share = (value - low) / (high - low)
            assert height == pytest.approx(bottom + share * (top - bottom), abs=0.2)
    rows = re.findall(r'<span class="c"[^>]*>([-\d.]+)<', steps_list(trajectory))
    assert rows == ["1.00", "0.60", f"{lowest:.2f}"]


@pytest.mark.parametrize("broken", [float("nan"), float("inf")])
def test_a_chart_of_numbers_that_are_none_is_drawn(broken: float) -> None:
    steps = trajectory("A red dog")
    scores = np.full_like(steps.scores, broken)
    for each in (replace(steps, scores=scores), replace(steps, similarities=scores)):
        assert trajectory_chart(each).count('data-action="step"') == steps.steps + 1


def queue_of(rows: list[Any], **more: Any) -> str:
    """The left column with these pairs."""
    filter, counts = {"review": "all", "order": "p_error"}, ReviewCounts(1, 1, 0, 0)
    return queue_panel.QueuePanel(rows, 1, counts, filter, "1", False, True, {}, **more).draw()


def test_a_chance_by_a_model_that_does_not_know_the_pictures_is_no_figure() -> None:
    assert "likely wrong" in review_page.stage(pair("A dog"))
    shown = review_page.stage(pair("A dog", is_unfamiliar=True))
    assert "likely wrong" not in shown
    assert "does not know such pictures" in shown
    listed = [row("A dog", 1, None)]  # 70 %
    cases: list[dict[str, Any]] = [{}, {"is_unfamiliar": True}, {"unread": {1: "German"}}]
    for beyond in cases:
        lists = (queue_of(listed, **beyond), overview.grid(listed, **beyond),
                 overview.table(listed, {}, {}, **beyond))  # fmt: skip
        for markup in lists:
            assert bool(re.search("not (know|read)", markup)) == bool(beyond)
            is_figure = bool(re.search(r"70 %|0\.700|% likely|--p:", markup))
            assert is_figure != bool(beyond)


def test_what_a_row_of_the_queue_does_not_show_is_not_kept() -> None:
    queue_panel.forget_drawn()
    for end in "ab":
        queue_of([row("A dog. " * 100 + end, 1, None)])
    assert queue_panel._draw_row.cache_info().currsize == 1


def test_what_does_not_help_is_not_offered() -> None:
    strong = replace(suggestion("A brown dog."), p_before=0.9, p_after=0.2)
    second = replace(strong, id=2, p_after=0.3, doubts=("brown",))
    little = replace(strong, id=3, is_offer=False)
    shown = review_page.stage(pair("A red dog.", corrections=(little, strong, second)))
    assert 'class="weak"' not in shown
    shown_places = re.findall(r'data-action="(suggestion-\d)" data-suggestion="(\d)"', shown)
    assert shown_places == [("suggestion-1", str(strong.id)), ("suggestion-2", "2")]
    assert "brown" in shown.partition('class="doubts"')[2]
    nothing = review_page.stage(pair("A red dog.", corrections=(little,)))
    assert "data-suggestion" not in nothing


@pytest.mark.parametrize(
    ("learnt", "drawn", "is_better"),
    [("order", 10, True), ("level", 30, True), ("level", 29, False), ("level", 0, False)],
)
def test_a_candidate_is_recommended_if_pairs_drawn_at_random_support_it(
    learnt: str, drawn: int, is_better: bool
) -> None:
    report = {"learnt": learnt, "verdicts_wrong": 30, "verdicts_right": 44,
              "verdicts_at_random": drawn, "level_is_known": drawn >= FEWEST_FOR_LEVEL,
              "compared_pairs": drawn, "first_places": drawn // 2, "errors_first_before": 9,
              "errors_first_after": 5, "errors_first_low": -7, "errors_first_high": 1}  # fmt: skip
    newest, active = classifiers("boosted")
    candidate = retrain.candidate_of([replace(newest, report=report), active])
    assert candidate is not None
    assert candidate.is_better == is_better
    is_known = learnt == "order" or drawn >= FEWEST_FOR_LEVEL
    assert ("74 verdicts" in candidate.sentence) == is_known
    assert ("4 errors fewer" in candidate.sentence) == is_known
    assert (f"{drawn} of {FEWEST_FOR_LEVEL}" in candidate.sentence) == (not is_known)


def test_what_each_curator_says_is_shown_if_they_disagree() -> None:
    acts = [VerdictView("correct", None, "Ada", NOW), VerdictView("drop", None, "Ben", NOW)]
    shown = review_page.stage(pair("a dog", history=tuple(acts)))
    assert "Ada: " in shown
    assert "Ben: " in shown
    assert "Ada: " not in review_page.stage(pair("a dog", history=(acts[0],)))


def test_an_empty_search_names_its_words_and_says_where_others_are() -> None:
    found = queue_panel.nothing_fits({"text": "<b> zebra", "review": "unreviewed"})
    assert "“&lt;b&gt; zebra”" in found
    assert len(found) > len(queue_panel.nothing_fits({"text": "<b> zebra", "review": "all"}))


def test_of_several_notices_one_is_open() -> None:
    notices = [Sentence(f"notice {i}") for i in range(3)]
    shown, folded = samples.queue("a dog", notices).split('<details class="notices">')
    assert "notice 0" in shown
    assert all(f"notice {i}" in folded.split("</details>")[0] for i in (1, 2))
    assert 'class="notices"' not in samples.queue("a dog", notices[:1])
