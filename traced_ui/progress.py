"""Progress page: state of the review, quality of the ranking, and when to stop."""

import math
from datetime import date
from html import escape
from typing import TYPE_CHECKING, Any

import gradio as gr

from backend.counts import count_of
from backend.review.charts import MOST_ERRORS
from backend.review.views import ProgressView
from backend.verdict_texts import word_of
from backend.workspace import Workspace
from traced_ui.figures import (
    C_COLOUR,
    MARK,
    S_COLOUR,
    apply_minimal_style,
    new_figure,
    without_tools,
)
from traced_ui.login import seen_by
from traced_ui.page_dataset import PageDataset
from traced_ui.review_page import finish
from traced_ui.templates import number, part, render

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

#: Minimum number of days on the axis of the pace chart.
FEWEST_DAYS = 14
_CURATORS = (S_COLOUR, C_COLOUR, "#5a9b6b", "#9a6fb0", "#b0893a", MARK)


def build(workspace: Workspace, dataset: PageDataset) -> tuple[Any, ...]:
    """Build the page; return what draws it: (function, inputs, outputs)."""
    cards = gr.HTML(part("empty", "Reading the verdicts …"), elem_id="progress-cards")
    with gr.Row(elem_classes="charts"):
        left_plot = _plot("Errors left", "progress-left")
        pace = _plot("Pace", "progress-pace")
    with gr.Row(elem_classes="charts"):
        calibration = _plot("Calibration", "progress-calibration")
        tables = gr.HTML(elem_id="progress-tables")

    hidden_plots = (gr.Plot(visible=False),) * 3

    def draw(dataset_id: int | None, request: gr.Request) -> tuple[Any, ...]:
        if dataset_id is None:
            return ("", *hidden_plots, "")
        view = seen_by(workspace, request).review.progress(dataset_id)
        if not view.reviewed and not view.expected:
            return (_first_step(view), *hidden_plots, "")
        if not view.reviewed:
            chart = gr.Plot(without_tools(expected_figure(view)), visible=True)
            return (expected_html(view, dataset_id), chart, *hidden_plots[1:], "")
        figures = (left_figure(view), pace_figure(view), calibration_figure(view))
        plots = (
            hidden_plots[0] if figure is None else gr.Plot(without_tools(figure), visible=True)
            for figure in figures
        )
        return (cards_html(view, dataset_id), *plots, tables_html(view))

    return draw, [dataset], [cards, left_plot, pace, calibration, tables]


def _first_step(view: ProgressView) -> str:
    """Where there is neither a verdict nor a score."""
    review = part("page_link", "", "Review")
    return part("empty", "No verdict yet", view.left.in_words(), review)


def _plot(label: str, name: str) -> gr.Plot:
    """A plot that is hidden until there is something to draw."""
    return gr.Plot(label=label, elem_id=name, show_label=False, visible=False)


def cards_html(view: ProgressView, dataset_id: int) -> str:
    """The four key figures for deciding whether to continue; above them what a review that is
    nearly done has come to."""
    share = view.reviewed / view.total if view.total else 0.0
    is_done = view.reviewed == view.total or view.left.is_few(view.errors_found)
    cards = render("progress/cards.html", view=view, share=share, dataset_id=dataset_id)
    return (finish(view, view.left, is_on_progress=True) if is_done else "") + cards


def expected_html(view: ProgressView, dataset_id: int) -> str:
    """Before the first verdict: how many errors the chances of error add up to, by split."""
    return render("progress/expected.html", view=view, dataset_id=dataset_id)


def expected_figure(view: ProgressView) -> "Figure":
    """Pairs by chance of error, one bar a tenth, stacked by split."""
    figure = new_figure()
    for index, split in enumerate(view.expected):
        figure.add_bar(
            x=[(tenth + 0.5) / 10 for tenth in range(10)], y=list(split.tenths), width=0.09,
            name=escape(split.name[:60], quote=False) or "pairs",
            marker={"color": _CURATORS[index % len(_CURATORS)]},
            customdata=[count_of(pairs) for pairs in split.tenths],
            hovertemplate="%{customdata}<extra></extra>",
        )  # fmt: skip
    apply_minimal_style(figure, "Pairs by chance of error", "chance of error", "pairs")
    figure.update_layout(barmode="stack")
    figure.update_xaxes(range=[0, 1], dtick=0.2, tickformat=".0%")
    return figure


def left_figure(view: ProgressView) -> "Figure | None":
    """The errors left over the pairs decided, and what is expected among the rest, down to the end
    of the likely ones; None if nobody knows."""
    if not view.left_by_decided:
        return None
    figure = new_figure()
    decisions, lefts = zip(*view.left_by_decided, strict=True)
    rest = lefts[-1]
    figure.add_scatter(
        x=decisions, y=lefts, mode="lines", name="errors left",
        line={"color": S_COLOUR, "width": 3},
        hovertemplate="%{x} decided, about %{y:.0f} left<extra></extra>",
    )  # fmt: skip
    if view.left.pairs:
        figure.add_scatter(
            x=[decisions[-1], decisions[-1] + view.left.pairs], y=[rest, rest * (1 - MOST_ERRORS)],
            mode="lines", name="expected", line={"color": MARK, "dash": "dot", "width": 2},
            hovertemplate="%{x} decided, about %{y:.0f} left<extra></extra>",
        )  # fmt: skip
    figure.update_yaxes(rangemode="tozero")
    return apply_minimal_style(figure, "Errors left", "pairs decided", "errors left, about")


def pace_figure(view: ProgressView) -> "Figure":
    figure = new_figure()
    for index, author in enumerate(dict.fromkeys(author for author, _, _ in view.pace)):
        days = [(day, count) for name, day, count in view.pace if name == author]
        figure.add_bar(
            x=[day for day, _ in days], y=[count for _, count in days],
            name=escape(author[:60], quote=False),
            marker={"color": _CURATORS[index % len(_CURATORS)]}, width=0.5,
        )  # fmt: skip
    apply_minimal_style(figure, "Verdicts a day", "day", "verdicts")
    days = sorted({day for _, day, _ in view.pace})
    ticks = days[:: math.ceil(len(days) / FEWEST_DAYS) or 1]
    # At least a fortnight wide: otherwise the bar of a single day would fill half the page.
    figure.update_layout(barmode="stack")
    figure.update_xaxes(
        type="category", range=[-0.7, max(len(days), FEWEST_DAYS) - 0.5],
        tickvals=ticks, ticktext=[f"{date.fromisoformat(day):%d %b}" for day in ticks],
    )  # fmt: skip
    return figure


def calibration_figure(view: ProgressView) -> "Figure":
    """Reliability diagram: displayed probabilities against human verdicts."""
    figure = new_figure()
    figure.add_scatter(
        x=[0, 1], y=[0, 1], mode="lines", name="true probabilities",
        line={"color": MARK, "dash": "dot", "width": 1}, hoverinfo="skip",
    )  # fmt: skip
    figure.add_scatter(
        x=[bin.probability for bin in view.calibration],
        y=[bin.share_wrong for bin in view.calibration],
        text=[count_of(bin.pairs) for bin in view.calibration],
        mode="lines+markers", name="verdicts, with 95 % interval",
        line={"color": S_COLOUR, "width": 3},
        error_y={
            "type": "data", "symmetric": False, "color": S_COLOUR, "thickness": 1.2,
            "array": [bin.interval[1] - bin.share_wrong for bin in view.calibration],
            "arrayminus": [bin.share_wrong - bin.interval[0] for bin in view.calibration],
        },
        hovertemplate="p %{x:.2f}: %{y:.0%} wrong, %{text}<extra></extra>",
    )  # fmt: skip
    figure.update_xaxes(range=[0, 1], tickformat=".0%")
    figure.update_yaxes(range=[0, 1], tickformat=".0%")
    return apply_minimal_style(
        figure, "Calibration", "chance of error, as shown", "share that people judged wrong"
    )


def tables_html(view: ProgressView) -> str:
    """Verdicts by kind, and the AUC before and after each retraining."""
    kinds = [[word_of(name), str(count)] for name, count in sorted(view.by_decision.items())]
    trainings = [
        [
            retraining.name + (" (in use)" if retraining.active else ""),
            f"{retraining.created_at:%Y-%m-%d %H:%M}",
            number(retraining.auc_before, 3),
            number(retraining.auc_after, 3),
        ]
        for retraining in view.retrainings
    ]
    return render("progress/tables.html", kinds=kinds, trained=trainings, hit=view.suspects_hit)
