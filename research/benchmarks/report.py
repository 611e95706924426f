"""The report of a benchmark: one run of all judges on the same captions, as Markdown and HTML."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
import plotly.graph_objects as go

from backend.errors import SettingsError
from backend.version import VERSION
from research.benchmarks.benchmark import Content, PublishedFigure
from research.benchmarks.benchmark_figures import (
    FEW_GROUPS,
    REPETITIONS,
    Estimate,
    Judgement,
    Measure,
    Numbers,
    Sampling,
    estimate_of,
    measures_by_kind,
    measures_of,
    pairs_to_tell_apart,
    short,
)
from research.evaluation.page import page_of
from research.evaluation.result_tables import Table
from research.markdown_tables import table

#: Kinds with fewer captions have no row of their own, and so many have one.
_FEWEST_OF_KIND, _MOST_KINDS = 10, 80


@dataclass(frozen=True)
class JudgeFigures:
    """`figures`, `by_kind`: estimates by name."""

    name: str
    settings: str
    figures: dict[str, Estimate]
    by_kind: dict[str, Estimate]


@dataclass(frozen=True)
class Difference:
    """The figure of `first` less that of `second`, drawn together. `more`: captions beyond these
    that would tell the two apart; 0: these do; None: no number would."""

    first: str
    second: str
    figure: str
    estimate: Estimate
    more: int | None


@dataclass(frozen=True)
class BenchmarkReport:
    """* `captions`, `wrong`, `groups`: in the run; `groups`: what the bootstrap draws;
    * `kinds`: (captions, wrong ones) of each kind that has a row."""

    title: str
    files: str
    captions: int
    wrong: int
    groups: int
    repetitions: int
    seed: int
    cited_for: Sequence[str]
    kind_figure: str
    kinds: dict[str, tuple[int, int]]
    judges: list[JudgeFigures]
    differences: list[Difference]
    published: Sequence[PublishedFigure] = ()
    notes: list[str] = field(default_factory=list)
    version: str = VERSION

    def __post_init__(self) -> None:
        if not self.judges:
            raise SettingsError("Name at least one judge.")


def report_of(
    title: str,
    files: str,
    content: Content,
    judgements: Sequence[Judgement],
    cited_for: Sequence[str] = ("AUC",),
    published_figures: Sequence[PublishedFigure] = (),
    seed: int = 0,
    repetitions: int = REPETITIONS,
    notes: Sequence[str] = (),
) -> BenchmarkReport:
    """Raises SettingsError without a judgement."""
    sampling = Sampling([item.group for item in content.items], seed, repetitions)
    by_judge = [measures_of(content, judgement) for judgement in judgements]
    by_kind = [measures_by_kind(content, judgement.scores) for judgement in judgements]
    kinds = {
        kind: (captions, wrong)
        for kind, (captions, wrong, _) in (by_kind[0] if by_kind else {}).items()
        if captions >= _FEWEST_OF_KIND
    }
    frequent_kinds = dict(sorted(kinds.items(), key=lambda each: -each[1][0])[:_MOST_KINDS])
    judges = []
    for judgement, figures, of_kinds in zip(judgements, by_judge, by_kind, strict=True):
        columns = {name: figures[name] for name in (*cited_for, *figures) if name in figures}
        estimates = sampling.estimates(
            [*columns.values(), *(of_kinds[kind][2] for kind in frequent_kinds)]
        )
        judges.append(
            JudgeFigures(
                judgement.name, judgement.settings,
                dict(zip(columns, estimates, strict=False)),
                dict(zip(frequent_kinds, estimates[len(columns) :], strict=True)),
            )
        )  # fmt: skip
    figure = next((name for name in cited_for if all(name in m for m in by_judge)), "AUC")
    differences = [
        _difference(sampling, figure, judgements[a].name, judgements[b].name, by_judge[a][figure],
                    by_judge[b][figure], len(content.items))
        for a, b in combinations(range(len(judgements)), 2)
    ]  # fmt: skip
    wrong = sum(item.is_wrong for item in content.items)
    about = [*content.notes, *notes]
    if sampling.groups < FEW_GROUPS:
        about.append(
            f"{len(content.items):,} captions ({wrong:,} wrong) of {sampling.groups:,} pictures or "
            f"examples: too few for a figure to rest on. Of fewer than {FEW_GROUPS} an interval of "
            "a bootstrap is itself uncertain, and usually too narrow."
        )
    if left_out := len(by_kind[0]) - len(frequent_kinds) if by_kind else 0:
        about.append(
            f"{left_out:,} kinds of fewer than {_FEWEST_OF_KIND} captions, or beyond the "
            f"{_MOST_KINDS} most frequent, have no row; their captions count in all other figures."
        )
    by_comparison = content.comparisons[0].figure if content.comparisons else "AUC"
    return BenchmarkReport(
        title, files, len(content.items), wrong, sampling.groups, repetitions, seed, cited_for,
        by_comparison, frequent_kinds, judges, differences, published_figures, about,
    )  # fmt: skip


def _difference(
    sampling: Sampling, figure: str, first: str, second: str, a: Measure, b: Measure, captions: int
) -> Difference:
    def measure(weights: Numbers) -> float:
        return a(weights) - b(weights)

    repetitions = sampling.repetitions_of([measure])[:, 0]
    estimate = estimate_of(measure(np.ones(captions)), repetitions)
    values = repetitions[repetitions == repetitions]
    deviation = float(values.std(ddof=1)) if len(values) > 1 else float("nan")
    more = pairs_to_tell_apart(estimate.value, deviation, captions)
    if estimate.low is not None and estimate.high is not None and estimate.low * estimate.high > 0:
        more = 0
    return Difference(first, second, figure, estimate, more)


def tables(report: BenchmarkReport) -> list[Table]:
    """The judges, others' figures, differences, kinds, settings; empty ones are left out."""
    names = list(dict.fromkeys(name for judge in report.judges for name in judge.figures))
    figures: Table = (
        f"{report.title}: {report.captions:,} captions, {report.wrong:,} of them wrong, of "
        f"{report.groups:,} pictures or examples; 95 % intervals",
        ["judge", *names],
        [[judge.name, *(str(judge.figures.get(name, "–")) for name in names)]
         for judge in report.judges],
    )  # fmt: skip
    citations: Table = (
        "Published by others, on their own runs",
        ["who", "figure", "value", "source"],
        [[p.who, p.figure, short(p.value), p.source] for p in report.published],
    )
    differences: Table = (
        f"Differences in {report.differences[0].figure}" if report.differences else "",
        ["judges", "difference", "told apart?"],
        [[f"{d.first} − {d.second}", str(d.estimate), _separation(d)] for d in report.differences],
    )
    kinds: Table = (
        f"{report.kind_figure.capitalize()} by kind"
        if report.kind_figure != "AUC" else "AUC by kind",
        ["kind", "captions", "wrong", *(judge.name for judge in report.judges)],
        [[kind, str(captions), str(wrong), *(str(judge.by_kind[kind]) for judge in report.judges)]
         for kind, (captions, wrong) in report.kinds.items()],
    )  # fmt: skip
    settings: Table = (
        "Settings",
        ["what", "how"],
        [
            ["files", report.files],
            ["program", f"TRACED Curator {report.version}"],
            ["intervals", f"bootstrap over {report.groups:,} pictures or examples, "
             f"{report.repetitions:,} repetitions, seed {report.seed}, percentiles"],
            ["F1", "threshold chosen on the other half of the pictures or examples"],
            *([judge.name, judge.settings] for judge in report.judges),
        ],
    )  # fmt: skip
    return [t for t in (figures, citations, differences, kinds, settings) if t[2]]


def _separation(difference: Difference) -> str:
    if difference.more == 0:
        return "yes"
    if difference.more is None:
        return "no: they are equal"
    return f"no; about {difference.more:,} more captions would"


def markdown(report: BenchmarkReport) -> str:
    """The title, all tables, and the notes on the files."""
    parts = [f"# {report.title}"]
    parts += [
        f"**{title}**\n\n{table(head, [[_cell(cell) for cell in row] for row in rows])}"
        for title, head, rows in tables(report)
    ]
    return "\n\n".join([*parts, *(f"Note: {note}" for note in report.notes)])


def _cell(text: object) -> str:
    """Nothing in a file's own names may end a cell or a row."""
    return " ".join(str(text).replace("|", "\\|").split())


def page(report: BenchmarkReport, command: str) -> str:
    """A page of its own in HTML, with a figure of all judges."""
    return page_of(
        report.title,
        [*report.notes],
        command,
        [(f"{name}, 95 % intervals", _bars(report, name)) for name in report.judges[0].figures
         if name in report.cited_for],
        tables(report),
    )  # fmt: skip


def _bars(report: BenchmarkReport, name: str) -> go.Figure:
    judges = [judge for judge in report.judges if name in judge.figures]
    estimates = [judge.figures[name] for judge in judges]
    figure = go.Figure()
    figure.add_bar(
        x=[judge.name for judge in judges],
        y=[e.value for e in estimates],
        error_y={
            "array": [(e.high - e.value) if e.high is not None else 0 for e in estimates],
            "arrayminus": [(e.value - e.low) if e.low is not None else 0 for e in estimates],
        },
    )
    figure.update_layout(template="plotly_white", height=420, yaxis_range=[0, 1])
    return figure
