"""Shared style of all charts: colours, markers, axes."""

import json
from typing import TYPE_CHECKING, Any

from gradio.components.plot import PlotData

from backend.verdict_texts import UNDECIDED

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

#: Readable on white and near-black, and distinguishable by colour-blind users (also by dash).
S_COLOUR, C_COLOUR, MARK = "#d9730d", "#3b82c4", "#8a8f98"
_TEXT = "#7c828c"
#: Colour and marker of each verdict if pairs are plotted as points.
VERDICT_LOOKS = {
    UNDECIDED: (MARK, "circle-open"),
    "right": ("#5a9b6b", "circle"),
    "wrong": (S_COLOUR, "x"),
    "vague": (C_COLOUR, "diamond"),
    "not sure": ("#9a6fb0", "square-open"),
}


def _look(height: int, margin: dict[str, int], legend_at: float) -> dict[str, Any]:
    """Common layout: a transparent background, so that charts fit both themes."""
    return {
        "height": height,
        "margin": margin,
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"color": _TEXT, "size": 12, "family": "Inter, system-ui, sans-serif"},
        "legend": {"orientation": "h", "y": legend_at, "x": 0},
    }


_AXIS: dict[str, Any] = {"gridcolor": "rgba(128,128,128,.18)", "zeroline": False}


#: Ticks that are not seen keep the numbers of both axes apart where they meet.
_APART: dict[str, Any] = {"ticks": "outside", "ticklen": 7, "tickcolor": "rgba(0,0,0,0)"}


def new_figure(content: Any = None) -> "Figure":
    """A figure of Plotly, of these data and layout."""
    from plotly.graph_objects import Figure  # which few pages need

    return Figure(content)


def quiet(figure: Any, title: str, x: str, y: str) -> Any:
    """Apply the shared style, the title and those of the axes, and a legend if there is more than
    one series; return the figure. It is to be read: nothing in it moves."""
    has_legend = len(figure.data) > 1
    figure.update_layout(
        **_look(320, {"l": 62, "r": 16, "t": 74 if has_legend else 48, "b": 52}, 1.14),
        title={
            "text": title, "font": {"size": 15, "weight": 600}, "x": 0, "xanchor": "left",
            "y": 1, "yanchor": "top", "yref": "container", "pad": {"l": 14, "t": 14},
        },
        showlegend=has_legend,
        dragmode=False,
        xaxis={**_AXIS, **_APART, "title": x, "fixedrange": True},
        yaxis={**_AXIS, **_APART, "title": y, "fixedrange": True},
    )  # fmt: skip
    return figure


def without_tools(figure: Any) -> PlotData:
    """A chart for a component, without Plotly's bar of tools."""
    chart = {**json.loads(figure.to_json()), "config": {"displayModeBar": False}}
    return PlotData(type="plotly", plot=json.dumps(chart))


def map_layout(has_legend: bool, up: str | None = None) -> dict[str, Any]:
    """Layout of a map. `up`: the title of the axis upwards, the chance of error is across; None:
    axes have no meaning, are not shown, and have equal scales."""
    room = 26 if has_legend else 4
    axis = {**_AXIS, "range": [-0.02, 1.02], "fixedrange": False}
    axes: dict[str, Any] = {
        "xaxis": {**axis, "visible": False},
        "yaxis": {**axis, "visible": False, "scaleanchor": "x"},
    }
    margin = {"l": 4, "r": 4, "t": 40, "b": room}
    if up is not None:
        axes = {
            "xaxis": {**axis, "title": "chance of error", "tickformat": ".0%"},
            "yaxis": {**axis, "title": up},
        }
        margin |= {"l": 56, "b": 44 + room}
    return {
        **_look(0, margin, 0),
        "height": None,  # fills the height of the page, see styles.css
        "autosize": True,
        "legend": {
            "orientation": "h",
            "y": 0 if up is None else -0.1,
            "yanchor": "top",
            "x": 0,
            "itemsizing": "constant",
        },
        "template": None,
        "modebar": {
            "bgcolor": "rgba(0,0,0,0)",
            "color": MARK,
            "activecolor": C_COLOUR,
            "remove": ["toImage", "autoScale2d", *(["lasso2d"] if up else [])],
        },
        "showlegend": has_legend,
        "dragmode": "lasso" if up is None else "select",
        "hovermode": False,
        **axes,
    }
