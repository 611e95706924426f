"""The trajectory as a chart: s_t and c_t over the steps."""

import textwrap
from typing import Any

import plotly.graph_objects as go

from backend.trajectories.trajectory import Trajectory

#: Readable on white and on near-black, and told apart by colour-blind eyes (and by dash).
S_COLOUR, C_COLOUR, MARK = "#d9730d", "#3b82c4", "#8a8f98"
_TEXT = "#7c828c"


def trajectory_figure(trajectory: Trajectory, step: int = 0) -> Any:
    """Both curves on a scale of their own; every point tells the caption at its step."""
    steps = list(range(trajectory.steps + 1))
    told = [_told(trajectory, t) for t in steps]
    figure = go.Figure()
    figure.add_scatter(
        x=steps, y=trajectory.similarities.tolist(), name="c, similarity",
        mode="lines+markers", line={"color": C_COLOUR, "dash": "dot", "width": 2},
        marker={"size": 5}, yaxis="y2", customdata=told,
        hovertemplate="step %{x}: c %{y:.3f}<br>%{customdata}<extra></extra>",
    )  # fmt: skip
    figure.add_scatter(
        x=steps, y=trajectory.scores.tolist(), name="s, match",
        mode="lines+markers", line={"color": S_COLOUR, "width": 3}, marker={"size": 7},
        customdata=told, hovertemplate="step %{x}: s %{y:.3f}<br>%{customdata}<extra></extra>",
    )  # fmt: skip
    at = min(max(step, 0), trajectory.steps)
    figure.add_vline(x=at, line={"color": MARK, "width": 1})
    figure.add_scatter(
        x=[at], y=[float(trajectory.scores[at])], mode="markers", showlegend=False,
        marker={"size": 14, "color": S_COLOUR, "line": {"color": "white", "width": 2}},
        hoverinfo="skip",
    )  # fmt: skip
    lowest = min(0.0, float(trajectory.similarities.min())) - 0.05
    axis: dict[str, Any] = {"gridcolor": "rgba(128,128,128,.18)", "zeroline": False}
    figure.update_layout(
        height=250,
        margin={"l": 44, "r": 44, "t": 8, "b": 36},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        font={"color": _TEXT, "size": 12, "family": "system-ui, sans-serif"},
        legend={"orientation": "h", "y": 1.16, "x": 0},
        xaxis={
            **axis,
            "title": "words removed" if trajectory.captions is None else "steps",
            "dtick": max(1, len(steps) // 10),
            "range": [-0.4, trajectory.steps + 0.4],
        },
        yaxis={**axis, "title": {"text": "s", "font": {"color": S_COLOUR}}},
        yaxis2={
            "overlaying": "y", "side": "right", "range": [lowest, 1.05], "showgrid": False,
            "zeroline": False, "title": {"text": "c", "font": {"color": C_COLOUR}},
        },
        hovermode="closest",
        uirevision="trajectory",
    )  # fmt: skip
    return figure


def quiet(figure: Any, x: str, y: str) -> Any:
    """The look that all charts share: no ground of their own, so that they fit both themes."""
    axis: dict[str, Any] = {"gridcolor": "rgba(128,128,128,.18)", "zeroline": False}
    figure.update_layout(
        height=300,
        margin={"l": 56, "r": 16, "t": 28, "b": 44},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        font={"color": _TEXT, "size": 12, "family": "system-ui, sans-serif"},
        legend={"orientation": "h", "y": 1.14, "x": 0},
        showlegend=True,
    )
    figure.update_xaxes(title=x, **axis)
    figure.update_yaxes(title=y, **axis)
    return figure


def _told(trajectory: Trajectory, step: int) -> str:
    """The caption at a step, in lines of readable length; Plotly reads a little HTML."""
    caption = trajectory.caption_at(step) or "(empty)"
    short = caption if len(caption) <= 300 else caption[:300] + " …"
    lines = textwrap.wrap(short, 60) or ["(empty)"]
    escaped = [
        line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;") for line in lines
    ]
    return "<br>".join(escaped)
