"""An evaluation as a self-contained HTML page: Plotly charts, and the tables below."""

import html
from collections.abc import Sequence

import plotly.graph_objects as go
from plotly.offline import get_plotlyjs

from backend.lab.evaluation.evaluate import EvaluationReport, by_setting, mean_of
from backend.lab.evaluation.result_figures import Figures
from backend.lab.evaluation.result_tables import markdown

_COLOURS = ("#2563a6", "#d97b29", "#3f8f5b", "#a3476b", "#6b5fb5", "#7a7a7a")
_STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 76rem; padding: 0 1rem;
       color: #1d2530; background: #fff; }
table { border-collapse: collapse; display: block; overflow-x: auto; font-size: .85rem;
        font-variant-numeric: tabular-nums; margin: .5rem 0 2rem; }
th, td { padding: .3rem .6rem; border-bottom: 1px solid #dde3ea; text-align: left;
         white-space: nowrap; }
th { position: sticky; top: 0; background: #f3f6f9; }
h2 { margin-top: 2.5rem; font-size: 1.2rem; }
"""


def page(report: EvaluationReport, command: str = "") -> str:
    """The page as HTML; `command` is shown as the command that produced it."""
    seeds = len({result.seed for result in report.results})
    introduction = (
        f"{report.pairs} pairs a run, half of them to learn from and half to judge on; "
        f"{seeds} seed{'s' if seeds != 1 else ''}; bars show one standard error."
    )
    charts = [
        ("Finding errors: AUC on pairs not learnt from", _auc(report)),
        ("What a curator must read", _effort(report)),
        ("Are the probabilities true?", _reliability(report)),
        ("Suspect words: the highest score is a changed word", _localisation(report)),
    ]
    shown = "".join(
        f"<h2>{html.escape(title)}</h2>"
        + figure.to_html(full_html=False, include_plotlyjs=False, config={"displaylogo": False})
        for title, figure in charts
        if figure is not None
    )
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f"<title>Evaluation on {html.escape(report.dataset)}</title><style>{_STYLE}</style>"
        f"<script>{get_plotlyjs()}</script></head><body>"
        f"<h1>Does it find errors?</h1><p>Dataset: {html.escape(report.dataset)}. "
        f"{introduction}</p>"
        + (f"<p><code>{html.escape(command)}</code></p>" if command else "")
        + f"{shown}<h2>Tables</h2>{_as_html(markdown(report))}</body></html>"
    )


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
                [value for result in listed if (value := getattr(result, field)) is not None]
                for listed in runs.values()
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
    for number, (key, listed) in enumerate(by_setting(report.results).items()):
        colour = _COLOURS[number % len(_COLOURS)]
        rates = sorted({at.rate for result in listed for at in result.at_rate})
        for name, field, dash in (("", "effort", "solid"), (", s_0", "effort_single_score", "dot")):
            shares = [
                [
                    getattr(at, field)
                    for result in listed
                    for at in result.at_rate
                    if at.rate == rate
                ]
                for rate in rates
            ]
            figure.add_scatter(
                name=_name(key) + name, x=rates, y=[mean_of(group).mean for group in shares],
                mode="lines+markers", line={"color": colour, "dash": dash},
            )  # fmt: skip
    figure.add_hline(y=0.8, line={"dash": "dash", "color": "#999"}, annotation_text="random order")
    figure.update_xaxes(title="share of wrong captions", type="log", tickformat=".0%")
    return _layout(figure, "share to read for 80 % of the errors", yaxis_tickformat=".0%")


def _reliability(report: EvaluationReport) -> go.Figure:
    figure = go.Figure()
    line = {"dash": "dash", "color": "#999"}
    figure.add_scatter(x=[0, 1], y=[0, 1], mode="lines", name="true probabilities", line=line)
    for number, (key, listed) in enumerate(by_setting(report.results).items()):
        bins = min(len(result.reliability) for result in listed)
        figure.add_scatter(
            name=_name(key), mode="lines+markers",
            line={"color": _COLOURS[number % len(_COLOURS)]},
            x=[mean_of([result.reliability[k].probability for result in listed]).mean
               for k in range(bins)],
            y=[mean_of([result.reliability[k].share_wrong for result in listed]).mean
               for k in range(bins)],
        )  # fmt: skip
    figure.update_xaxes(title="probability of error", range=[0, 1])
    return _layout(figure, "share that is wrong", yaxis_range=[0, 1])


def _localisation(report: EvaluationReport) -> go.Figure | None:
    runs = {
        key: localised
        for key, listed in by_setting(report.results).items()
        if (localised := [result for result in listed if result.localisation])
    }
    names = dict.fromkeys(
        name
        for listed in runs.values()
        for result in listed
        if result.localisation
        for name in result.localisation.by_score
    )
    if not names:
        return None
    series = [
        (
            name,
            [
                [result.localisation.by_score[name].top1 for result in listed
                 if result.localisation and name in result.localisation.by_score]
                for listed in runs.values()
            ],
        )
        for name in names
    ]  # fmt: skip
    return _bars(runs, series, "hit rate", yaxis_range=[0, 1], yaxis_tickformat=".0%")


def _as_html(text: str) -> str:
    """Convert the Markdown of `result_tables`: bold paragraphs and tables."""
    parts = []
    for block in text.split("\n\n"):
        lines = block.splitlines()
        if not lines[0].startswith("|"):
            parts.append(f"<p><b>{html.escape(block.strip('*'))}</b></p>")
            continue
        cells = [[html.escape(cell.strip()) for cell in line.strip("|").split("|")]
                 for line in lines]  # fmt: skip
        head = "".join(f"<th>{cell}</th>" for cell in cells[0])
        rows = "".join(
            "<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in cells[2:]
        )
        parts.append(f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>")
    return "".join(parts)
