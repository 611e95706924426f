"""The trajectory as a chart: s_t and c_t over the steps."""

import textwrap
from typing import Any

import numpy as np
import plotly.graph_objects as go

from backend.trajectories.trajectory import Trajectory

#: Readable on white and on near-black, and told apart by colour-blind eyes (and by dash).
S_COLOUR, C_COLOUR, MARK = "#d9730d", "#3b82c4", "#8a8f98"
_TEXT = "#7c828c"


def _look(height: int, margin: dict[str, int], legend_at: float) -> dict[str, Any]:
    """What all charts share: no ground of their own, so that they fit both themes."""
    return {
        "height": height,
        "margin": margin,
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"color": _TEXT, "size": 12, "family": "system-ui, sans-serif"},
        "legend": {"orientation": "h", "y": legend_at, "x": 0},
    }


_AXIS: dict[str, Any] = {"gridcolor": "rgba(128,128,128,.18)", "zeroline": False}


def trajectory_figure(trajectory: Trajectory, step: int = 0) -> Any:
    """s and the cosines on a scale of their own each; every point tells the caption at its step.

    Made from plain dictionaries in one go: it is drawn anew with every key, and Plotly checks each
    change that is made to a figure afterwards.
    """
    steps = list(range(trajectory.steps + 1))
    told = [_told(trajectory, t) for t in steps]
    at = min(max(step, 0), trajectory.steps)
    cosines = trajectory.similarities
    if trajectory.second is not None:
        cosines = np.concatenate([cosines, trajectory.second.scores])
    lowest = min(0.0, float(cosines.min())) - 0.05
    curves: list[dict[str, Any]] = [
        {
            "x": steps, "y": trajectory.similarities.tolist(), "name": "c, similarity",
            "legendrank": 2,
            "type": "scatter", "mode": "lines+markers", "yaxis": "y2", "customdata": told,
            "line": {"color": C_COLOUR, "dash": "dot", "width": 2}, "marker": {"size": 5},
            "hovertemplate": "step %{x}: c %{y:.3f}<br>%{customdata}<extra></extra>",
        },
        {
            "x": steps, "y": trajectory.scores.tolist(), "name": "s, match", "legendrank": 1,
            "type": "scatter", "mode": "lines+markers", "customdata": told,
            "line": {"color": S_COLOUR, "width": 3}, "marker": {"size": 7},
            "hovertemplate": "step %{x}: s %{y:.3f}<br>%{customdata}<extra></extra>",
        },
        {
            "x": [at], "y": [float(trajectory.scores[at])], "type": "scatter", "mode": "markers",
            "marker": {"size": 14, "color": S_COLOUR, "line": {"color": "white", "width": 2}},
            "showlegend": False, "hoverinfo": "skip",
        },
    ]  # fmt: skip
    if trajectory.second is not None:
        # The other score of the same model, a cosine as c is.
        curves.insert(0, {
            "x": steps, "y": trajectory.second.scores.tolist(), "name": "second",
            "legendrank": 3,
            "type": "scatter", "mode": "lines", "yaxis": "y2",
            "line": {"color": MARK, "dash": "dash", "width": 2},
            "hovertemplate": "second opinion at step %{x}: %{y:.3f}<extra></extra>",
        })  # fmt: skip
    layout: dict[str, Any] = {
        **_look(250, {"l": 44, "r": 44, "t": 38, "b": 36}, 1.02),
        "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
        "template": None,
        "xaxis": {
            **_AXIS,
            "title": {"text": "words removed" if trajectory.captions is None else "steps"},
            "dtick": max(1, len(steps) // 10),
            "range": [-0.4, trajectory.steps + 0.4],
        },
        "yaxis": {**_AXIS, "title": {"text": "s", "font": {"color": S_COLOUR}}},
        "yaxis2": {
            "overlaying": "y", "side": "right", "range": [lowest, 1.05], "showgrid": False,
            "zeroline": False, "title": {"text": "c", "font": {"color": C_COLOUR}},
        },
        "shapes": [
            {
                "type": "line", "x0": at, "x1": at, "y0": 0, "y1": 1, "yref": "y domain",
                "line": {"color": MARK, "width": 1},
            }
        ],
        "hovermode": "closest",
        "uirevision": "trajectory",
    }  # fmt: skip
    return go.Figure({"data": curves, "layout": layout})


def quiet(figure: Any, x: str, y: str) -> Any:
    """The look and the axes of the other charts."""
    figure.update_layout(
        **_look(300, {"l": 56, "r": 16, "t": 28, "b": 44}, 1.14),
        showlegend=True,
        xaxis={**_AXIS, "title": x},
        yaxis={**_AXIS, "title": y},
    )
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
