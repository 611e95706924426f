"""An evaluation as a self-contained HTML page: Plotly charts, and the tables below."""

from collections.abc import Sequence
from pathlib import Path

import plotly.graph_objects as go
from markupsafe import Markup
from plotly.offline import get_plotlyjs

from backend.templating import template_environment
from research.evaluation.evaluate import EvaluationReport, by_setting
from research.evaluation.result_figures import Figures
from research.evaluation.result_tables import Table, tables
from research.markdown_tables import mean_of

_COLOURS = ("#2563a6", "#d97b29", "#3f8f5b", "#a3476b", "#6b5fb5", "#7a7a7a")
_TEMPLATES = Path(__file__).with_name("templates")


def page(report: EvaluationReport, command: str = "") -> str:
    """The page as HTML; `command` is shown as the command that produced it."""
    charts = [
        ("Error detection: AUC on held-out pairs", _auc(report)),
        ("Share of pairs a curator must read", _effort(report)),
        ("Calibration of the probabilities", _reliability(report)),
        ("Suspect words: is the highest score on a changed word?", _localisation(report)),
    ]
    seeds = len({result.seed for result in report.results})
    about = (
        f"Dataset: {report.dataset}. {report.pairs} pairs per run, half for training and half for "
        f"testing; {seeds} seed{'' if seeds == 1 else 's'}; error bars show one standard error."
    )
    return page_of(
        f"Evaluation on {report.dataset}",
        [about],
        command,
        [(title, figure) for title, figure in charts if figure is not None],
        tables(report),
    )


def page_of(
    title: str,
    about: Sequence[str],
    command: str,
    charts: Sequence[tuple[str, go.Figure]],
    tables_of_page: Sequence[Table],
) -> str:
    """Charts and tables with their titles, below sentences `about` them, as one HTML file that
    needs no other."""
    return (
        template_environment(_TEMPLATES)
        .get_template("report.html")
        .render(
            title=title,
            about=about,
            command=command,
            plotly=Markup(get_plotlyjs()),
            charts=[(name, _html(figure)) for name, figure in charts],
            tables=tables_of_page,
        )
    )


def _html(figure: go.Figure) -> Markup:
    """The chart as Plotly's own HTML, in which Plotly has escaped all text."""
    config = {"displaylogo": False}
    return Markup(figure.to_html(full_html=False, include_plotlyjs=False, config=config))


def _layout(figure: go.Figure, y: str, **more: object) -> go.Figure:
    figure.update_layout(
        template="plotly_white", height=420, margin={"t": 20, "r": 20}, yaxis_title=y,
        legend={"orientation": "h", "y": -0.2}, font={"size": 14}, **more,
    )  # fmt: skip
    return figure


def _name(key: tuple[str, str, str]) -> str:
    return ", ".join(key)


def _bars(
    runs: dict[tuple[str, str, str], list[Figures]],
    series: Sequence[tuple[str, Sequence[Sequence[float]]]],
    y: str,
    **more: object,
) -> go.Figure:
    figure = go.Figure()
    for number, (name, values) in enumerate(series):
        means = [mean_of(group) if group else None for group in values]
        figure.add_bar(
            name=name,
            x=[_name(key) for key in runs],
            y=[mean.mean if mean else None for mean in means],
            error_y={"array": [(mean and mean.standard_error) or 0 for mean in means]},
            marker_color=_COLOURS[number % len(_COLOURS)],
        )
    return _layout(figure, y, barmode="group", **more)


def _auc(report: EvaluationReport) -> go.Figure:
    runs = by_setting(report.results)
    series = [
        (
            name,
            [
                [value for result in group if (value := getattr(result, field)) is not None]
                for group in runs.values()
            ],
        )
        for name, field in (
            ("trajectory", "auc"), ("s_0 alone", "auc_single_score"),
            ("s_0 and length", "auc_score_and_length"),
            ("both scores and length", "auc_both_scores"), ("text only", "auc_text_only"),
        )
    ]  # fmt: skip
    return _bars(runs, series, "AUC", yaxis_range=[0.4, 1.0])


def _effort(report: EvaluationReport) -> go.Figure:
    figure = go.Figure()
    for number, (key, group) in enumerate(by_setting(report.results).items()):
        colour = _COLOURS[number % len(_COLOURS)]
        rates = sorted({at.rate for result in group for at in result.at_rate})
        for name, field, dash in (("", "effort", "solid"), (", s_0", "effort_single_score", "dot")):
            shares = [
                [getattr(at, field) for result in group for at in result.at_rate if at.rate == rate]
                for rate in rates
            ]
            figure.add_scatter(
                name=_name(key) + name, x=rates, y=[mean_of(values).mean for values in shares],
                mode="lines+markers", line={"color": colour, "dash": dash},
            )  # fmt: skip
    figure.add_hline(y=0.8, line={"dash": "dash", "color": "#999"}, annotation_text="random order")
    figure.update_xaxes(title="share of wrong captions", type="log", tickformat=".0%")
    return _layout(figure, "share to read for 80 % of the errors", yaxis_tickformat=".0%")


def _reliability(report: EvaluationReport) -> go.Figure:
    figure = go.Figure()
    line = {"dash": "dash", "color": "#999"}
    figure.add_scatter(x=[0, 1], y=[0, 1], mode="lines", name="true probabilities", line=line)
    for number, (key, group) in enumerate(by_setting(report.results).items()):
        bins = min(len(result.reliability) for result in group)
        figure.add_scatter(
            name=_name(key), mode="lines+markers",
            line={"color": _COLOURS[number % len(_COLOURS)]},
            x=[mean_of([result.reliability[k].probability for result in group]).mean
               for k in range(bins)],
            y=[mean_of([result.reliability[k].share_wrong for result in group]).mean
               for k in range(bins)],
        )  # fmt: skip
    figure.update_xaxes(title="probability of error", range=[0, 1])
    return _layout(figure, "share that is wrong", yaxis_range=[0, 1])


def _localisation(report: EvaluationReport) -> go.Figure | None:
    runs = {
        key: subset
        for key, group in by_setting(report.results).items()
        if (subset := [result for result in group if result.localisation])
    }
    names = dict.fromkeys(
        name
        for group in runs.values()
        for result in group
        if result.localisation
        for name in result.localisation.by_score
    )
    if not names:
        return None
    series = [
        (
            name,
            [
                [result.localisation.by_score[name].top1 for result in group
                 if result.localisation and name in result.localisation.by_score]
                for group in runs.values()
            ],
        )
        for name in names
    ]  # fmt: skip
    return _bars(runs, series, "hit rate", yaxis_range=[0, 1], yaxis_tickformat=".0%")
