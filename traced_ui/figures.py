"""Shared style of all charts: colours, markers, axes."""

import json
from typing import TYPE_CHECKING, Any

from gradio.components.plot import PlotData

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

#: Readable on white and near-black, and distinguishable by colour-blind users (also by dash).
S_COLOUR, C_COLOUR, MARK = "#d9730d", "#3b82c4", "#8a8f98"
_TEXT = "#7c828c"


def look(height: int, margin: dict[str, int], legend_at: float) -> dict[str, Any]:
    """Common layout: a transparent background, so that charts fit both themes."""
    return {
        "height": height,
        "margin": margin,
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"color": _TEXT, "size": 12, "family": "Inter, system-ui, sans-serif"},
        "legend": {"orientation": "h", "y": legend_at, "x": 0},
    }


AXIS: dict[str, Any] = {"gridcolor": "rgba(128,128,128,.18)", "zeroline": False}


#: Ticks that are not seen keep the numbers of both axes apart where they meet.
_APART: dict[str, Any] = {"ticks": "outside", "ticklen": 7, "tickcolor": "rgba(0,0,0,0)"}


def new_figure(content: Any = None) -> "Figure":
    """A figure of Plotly, of these data and layout."""
    from plotly.graph_objects import Figure  # which few pages need

    return Figure(content)


def apply_minimal_style(figure: Any, title: str, x: str, y: str) -> Any:
    """Apply the shared style, the title and those of the axes, and a legend if there is more than
    one series; return the figure. It is to be read: nothing in it moves."""
    has_legend = len(figure.data) > 1
    figure.update_layout(
        **look(320, {"l": 62, "r": 26, "t": 74 if has_legend else 48, "b": 52}, 1.14),
        title={
            "text": title, "font": {"size": 15, "weight": 600}, "x": 0, "xanchor": "left",
            "y": 1, "yanchor": "top", "yref": "container", "pad": {"l": 14, "t": 14},
        },
        showlegend=has_legend,
        dragmode=False,
        xaxis={**AXIS, **_APART, "title": x, "fixedrange": True},
        yaxis={**AXIS, **_APART, "title": y, "fixedrange": True},
    )  # fmt: skip
    return figure


def without_tools(figure: Any) -> PlotData:
    """A chart for a component, without Plotly's bar of tools."""
    chart = {**json.loads(figure.to_json()), "config": {"displayModeBar": False}}
    return PlotData(type="plotly", plot=json.dumps(chart))
