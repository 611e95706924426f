"""Progress: how far the review has come, how good the ranking is, and whether one may stop."""

from typing import Any

import gradio as gr
import plotly.graph_objects as go

from backend.progress.stopping import ENOUGH
from backend.views import ProgressView
from backend.workspace import Workspace
from traced_ui.figures import C_COLOUR, MARK, S_COLOUR, quiet
from traced_ui.jobs import table
from traced_ui.markup import number, percent

_CURATORS = (S_COLOUR, C_COLOUR, "#5a9b6b", "#9a6fb0", "#b0893a", MARK)


def build(workspace: Workspace, dataset: gr.Dropdown) -> tuple[Any, ...]:
    """The page; returns what draws it: (function, inputs, outputs)."""
    cards = gr.HTML(elem_id="progress-cards")
    with gr.Row():
        found = _plot("Errors found", "progress-found")
        pace = _plot("Pace", "progress-pace")
    with gr.Row():
        calibration = _plot("Calibration", "progress-calibration")
        tables = gr.HTML(elem_id="progress-tables")

    hidden = (gr.Plot(visible=False),) * 3

    def draw(dataset_id: int | None) -> tuple[Any, ...]:
        if dataset_id is None:
            return ('<div class="empty"><h2>No dataset yet</h2></div>', *hidden, "")
        view = workspace.progress(dataset_id)
        if not view.reviewed:
            told = (
                '<div class="empty"><h2>No verdict yet</h2>Decide some pairs on the Review page; '
                "what they say about the dataset is shown here.</div>"
            )
            return (told, *hidden, "")
        figures = (found_figure(view), pace_figure(view), calibration_figure(view))
        shown = (gr.Plot(figure, visible=True) for figure in figures)
        return (cards_html(view), *shown, tables_html(view))

    return draw, [dataset], [cards, found, pace, calibration, tables]


def _plot(label: str, name: str) -> gr.Plot:
    """Not there until there is something to draw: an empty frame says nothing to anybody."""
    return gr.Plot(label=label, elem_id=name, show_label=False, visible=False)


def cards_html(view: ProgressView) -> str:
    """The four figures that decide whether to go on."""
    share = view.reviewed / view.total if view.total else 0.0
    precision = (
        f"of {view.flagged} decided pairs at 50 % or more"
        if view.flagged
        else "no pair at 50 % or more is decided yet"
    )
    return (
        '<div class="cards">'
        + _card("reviewed", f"{view.reviewed} of {view.total}", percent(share))
        + _card("errors found", str(view.errors_found), "corrected or dropped")
        + _card("the flagged were wrong", percent(view.precision_of_flagged), precision)
        + _remaining(view)
        + "</div>"
    )


def _remaining(view: ProgressView) -> str:
    found = view.remaining
    if found is None:
        told = (
            "needs pairs drawn by lot: choose the order <b>random audit</b> on the Review page and "
            f"decide some {ENOUGH} of them"
        )
        return _card("errors that remain", "unknown", told)
    reached = (
        "all pairs are decided down to the lowest"
        if found.point is None
        else f"below p = {found.point:.2f}, where the queue stands"
    )
    more = "" if found.is_enough else f"; {ENOUGH} drawn by lot would say more"
    told = (
        f"{found.low:.0f} to {found.high:.0f} with 95 % confidence, {reached}; from "
        f"{found.sample} pairs drawn by lot, {found.wrong_in_sample} of them wrong{more}"
    )
    return _card("errors that remain, about", f"{found.errors:.0f}", told)


def _card(name: str, value: str, told: str) -> str:
    return f'<div class="card"><h3>{name}</h3><p class="value">{value}</p><p>{told}</p></div>'


def found_figure(view: ProgressView) -> go.Figure:
    """Errors found over pairs decided; a flat end says that little is left on top of the queue."""
    figure = go.Figure()
    decided = [pairs for pairs, _ in view.found]
    errors = [count for _, count in view.found]
    figure.add_scatter(
        x=decided, y=decided, mode="lines", name="every pair wrong",
        line={"color": MARK, "dash": "dot", "width": 1}, hoverinfo="skip",
    )  # fmt: skip
    figure.add_scatter(
        x=decided, y=errors, mode="lines", name="errors found",
        line={"color": S_COLOUR, "width": 3},
        hovertemplate="%{x} decided, %{y} wrong<extra></extra>",
    )  # fmt: skip
    return quiet(figure, "pairs decided right or wrong", "errors found")


def pace_figure(view: ProgressView) -> go.Figure:
    figure = go.Figure()
    for place, author in enumerate(dict.fromkeys(author for author, _, _ in view.pace)):
        own = [(day, count) for name, day, count in view.pace if name == author]
        figure.add_bar(
            x=[day for day, _ in own], y=[count for _, count in own],
            name=author.replace("<", "&lt;")[:60],
            marker={"color": _CURATORS[place % len(_CURATORS)]}, width=0.5,
        )  # fmt: skip
    figure.update_layout(barmode="stack", xaxis={"type": "category"})
    return quiet(figure, "day", "verdicts")


def calibration_figure(view: ProgressView) -> go.Figure:
    """Shown probabilities against what people then said."""
    figure = go.Figure()
    figure.add_scatter(
        x=[0, 1], y=[0, 1], mode="lines", name="true probabilities",
        line={"color": MARK, "dash": "dot", "width": 1}, hoverinfo="skip",
    )  # fmt: skip
    figure.add_scatter(
        x=[one.probability for one in view.calibration],
        y=[one.share_wrong for one in view.calibration],
        text=[f"{one.pairs} pairs" for one in view.calibration],
        mode="lines+markers", name="verdicts", line={"color": S_COLOUR, "width": 3},
        hovertemplate="p %{x:.2f}: %{y:.0%} wrong, %{text}<extra></extra>",
    )  # fmt: skip
    figure.update_xaxes(range=[0, 1])
    figure.update_yaxes(range=[0, 1], tickformat=".0%")
    return quiet(figure, "probability of error, as shown", "share that people called wrong")


def tables_html(view: ProgressView) -> str:
    """Verdicts by kind, and each training's effect."""
    kinds = [[name, str(count)] for name, count in sorted(view.by_decision.items())]
    trained = [
        [
            one.name + (" (in use)" if one.active else ""),
            f"{one.created_at:%Y-%m-%d %H:%M}",
            number(one.auc_before, 3),
            number(one.auc_after, 3),
        ]
        for one in view.retrainings
    ]
    hit = view.suspects_hit
    words = (
        f"<p>The most suspect word is one that was called wrong in {percent(hit.top1)} of "
        f"{hit.pairs} pairs with such words; by chance it would be {percent(hit.chance)}.</p>"
        if hit
        else "<p>Click the wrong words of a caption (or press W) to see here how often the most "
        "suspect word is one of them.</p>"
    )
    head = ["detector", "made", "AUC on verdicts, before", "after"]
    return (
        "<h3>Verdicts</h3>" + table(["verdict", "pairs"], kinds, {1})
        + "<h3>Suspect words</h3>" + words
        + "<h3>Retraining</h3>" + table(head, trained, {2, 3})
    )  # fmt: skip
