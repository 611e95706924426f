"""The Progress page shows what is known and what is not."""

import json
import re
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from backend.engine.statistics.calibration import CalibrationBin
from backend.engine.statistics.stopping import remaining_errors
from backend.jobs.errors_left import ErrorsLeft
from backend.review.charts import expected_errors
from backend.review.views import ProgressView, Retraining
from db.queries.plot_queries import Chances
from traced_ui.figures import without_tools
from traced_ui.progress import (
    FEWEST_DAYS,
    calibration_figure,
    cards_html,
    expected_figure,
    expected_html,
    left_figure,
    pace_figure,
    tables_html,
)

VIEW = ProgressView(
    total=1000, reviewed=120, errors_found=40, by_decision={"correct": 80, "drop": 40},
    pace=(("Ada", "2026-11-20", 70), ("<b>Ben", "2026-11-21", 50)),
    precision_of_flagged=0.8, flagged=50,
    left=ErrorsLeft(880, 30.0, 60, remaining_errors(0.4, 900, 60, 3, 4)),
    calibration=(CalibrationBin(0.1, 0.05, 60), CalibrationBin(0.9, 0.8, 60)),
    left_by_decided=((0, 81.0), (60, 46.0), (120, 41.0)),
    retrainings=(Retraining("<i>first", datetime(2026, 11, 20, tzinfo=UTC), True, 0.8, 0.9),),
)  # fmt: skip


def test_charts_and_tables_escape_names() -> None:
    for figure in (left_figure(VIEW), pace_figure(VIEW), calibration_figure(VIEW)):
        assert figure is not None
        assert figure.data
        assert "<b>" not in figure.to_json().replace("\\u003c", "<")
    shown = tables_html(VIEW)
    assert "&lt;i&gt;first (in use)" in shown
    assert "0.900" in shown


def test_vague_and_unsure_pairs_are_not_said_to_be_among_the_flagged_ones() -> None:
    """The share is of those that are judged right or wrong."""
    for flagged, said in ((1, "of 1 pair at 50 %"), (50, "of 50 pairs at 50 %")):
        card = cards_html(replace(VIEW, flagged=flagged), 1)
        assert f"{said} or more, judged right or wrong" in card


def test_a_small_sample_gives_no_estimate() -> None:
    for left in (VIEW.left, ErrorsLeft(880, 206.0, 1, None, 300, 1200.0)):
        shown = cards_html(replace(VIEW, left=left), 1)
        assert left.figure in shown
        assert left.basis in shown
        assert left.effort.casefold() in shown.casefold()
    assert VIEW.left.figure == "about 41"
    unknown = ErrorsLeft(880, None, 1, None)
    card = cards_html(replace(VIEW, left=unknown), 1).split("Errors left")[1]
    assert re.findall(r'class="value">(.*?)<', card) == [unknown.figure]


def test_calibration_has_intervals_and_a_single_day_is_one_bar_of_many() -> None:
    curve = calibration_figure(VIEW).data[1]
    bars = curve.error_y
    for share, above, below in zip(curve.y, bars.array, bars.arrayminus, strict=True):
        assert 0 <= share - below <= share <= share + above <= 1
        assert above + below > 0
    first, last = pace_figure(VIEW).layout.xaxis.range
    assert last - first >= FEWEST_DAYS


def test_before_the_first_verdict_the_chances_of_error_add_up_by_split() -> None:
    rows = [
        Chances("train", 0, 100, 4.0), Chances("train", 9, 10, 9.5),
        Chances("<i>val", 9, 2, 1.99),
    ]  # fmt: skip
    train, val = expected_errors(rows)
    assert (train.pairs, train.errors, sum(train.tenths)) == (110, 13.5, 110)
    view = replace(VIEW, reviewed=0, expected=(train, val))
    shown = expected_html(view, 1)
    assert "Errors expected, train" in shown
    assert "&lt;i&gt;val" in shown
    figure = expected_figure(view)
    assert [sum(bar.y) for bar in figure.data] == [110, 2]
    assert "<i>" not in figure.to_json().replace("\\u003c", "<")


def test_the_errors_left_fall_to_what_is_expected_among_the_rest() -> None:
    curve = ((0, 60.0), (60, 25.0), (120, 20.0))
    left = ErrorsLeft(880, 20.0, 0, None, 100, 400.0)
    figure = left_figure(replace(VIEW, left=left, left_by_decided=curve))
    assert figure is not None
    past, ahead = figure.data
    assert list(past.y) == [60, 25, 20]
    assert list(ahead.x) == [120, 220]
    assert list(ahead.y) == pytest.approx([20, 2])


def test_a_review_that_is_nearly_done_says_what_it_has_come_to() -> None:
    nearly = replace(VIEW, left=ErrorsLeft(880, 0.9, 0, None, 3, 12.0))
    shown = cards_html(nearly, 1)
    assert "Nearly done" in shown
    assert "40 errors found in 120 pairs: 40 removed" in shown
    assert 'href="./export"' in shown
    more = ErrorsLeft(880, 30.0, 0, None, 90, 360.0)
    assert "finish" not in cards_html(replace(VIEW, left=more), 1)
    everything = replace(nearly, total=120)
    assert "All reviewed" in cards_html(everything, 1)
    assert nearly.left.basis in shown.split("Nearly done")[1].split("</div>")[0]


def test_a_chart_has_a_title_no_tools_and_keeps_its_numbers_apart() -> None:
    for draw in (left_figure, pace_figure, calibration_figure):
        figure = draw(VIEW)
        assert figure is not None
        chart = json.loads(without_tools(figure).plot)
        layout = chart["layout"]
        assert chart["config"] == {"displayModeBar": False}
        assert layout["title"]["text"]
        assert layout["dragmode"] is False
        for axis in ("xaxis", "yaxis"):
            assert layout[axis]["ticklen"] > 0
            assert layout[axis]["fixedrange"]
    assert pace_figure(VIEW).layout.xaxis.ticktext == ("20 Nov", "21 Nov")


def test_verdicts_are_counted_by_the_words_of_their_buttons() -> None:
    shown = tables_html(VIEW)
    assert "right" in shown
    assert "removed" in shown
    assert "drop" not in shown
