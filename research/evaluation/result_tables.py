"""An evaluation as Markdown: a summary, then our results next to the paper's own tables."""

import csv
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TypeVar

from research.evaluation.evaluate import SUMMARY_COLUMNS, EvaluationReport, by_setting
from research.evaluation.labelled import RECORDED
from research.evaluation.result_figures import ABLATIONS, Figures
from research.evaluation.suspect_hits import CHANCE, INTERVENTION, OURS, PRIOR
from research.markdown_tables import cell, cells, mean_cell, table

_FILE = Path(__file__).parent / "traced_tables.tsv"
#: The paper's datasets, and substrings of a path that identify them.
_DATASETS = {"ms-coco": ("coco",), "flickr30k": ("flickr30k", "flickr30"), "mm-imdb": ("imdb",)}


@dataclass(frozen=True)
class PublishedResult:
    """One published result."""

    mean: float
    standard_error: float

    def __str__(self) -> str:
        return f"{self.mean:g} ± {self.standard_error:g}"


@cache
def _figures() -> dict[tuple[str, ...], PublishedResult]:
    with _FILE.open(encoding="utf-8", newline="") as file:
        return {
            (row["table"], row["dataset"], row["scorer"], row["explorer"], row["setting"],
             row["figure"]): PublishedResult(float(row["mean"]), float(row["standard_error"]))
            for row in csv.DictReader(file, delimiter="\t")
        }  # fmt: skip


def published_result(
    table: int, dataset: str | None, scorer: str, explorer: str, setting: str, figure: str
) -> PublishedResult | None:
    """The published result; None if there is none for this setting.

    >>> published_result(6, "ms-coco", "clip", "elimination", "fine-grained", "auc_percent")
    Published(mean=69.9, standard_error=0.4)
    """
    if dataset is None:
        return None
    return _figures().get((str(table), dataset, scorer, explorer, setting, figure))


def papers_dataset(path: str) -> str | None:
    """The paper's dataset that a path refers to, by its name: dataset_coco.json, flickr30k/ …

    >>> papers_dataset("data/dataset_flickr30k.json"), papers_dataset("scenes")
    ('flickr30k', None)
    """
    lower = path.lower()
    return next(
        (name for name, words in _DATASETS.items() if any(word in lower for word in words)), None
    )


Rows = list[list[str]]
#: A title, the head of a table and its rows.
Table = tuple[str, Sequence[str], Rows]
Record = TypeVar("Record")
Key = TypeVar("Key", bound=Hashable)
_SETTING = ("scorer", "explorer", "noise")


def tables(report: EvaluationReport) -> list[Table]:
    """All measurements, the summary first; empty tables are omitted."""
    summary = [
        [row.scorer, row.explorer, row.noise,
         *(mean_cell(row.figures.get(name)) for name in SUMMARY_COLUMNS)]
        for row in report.summary
    ]  # fmt: skip
    others = (
        make(report)
        for make in (
            _table_6, _table_1, _table_2, _ablation, _detectors, _rates, _localisation, _by_kind,
            _transfer, _correction, _learnt, _without_labels,
        )
    )  # fmt: skip
    return [("", [*_SETTING, *SUMMARY_COLUMNS.values()], summary), *(t for t in others if t[2])]


def markdown(report: EvaluationReport) -> str:
    return "\n\n".join(
        f"**{title}**\n\n{table(head, rows)}" if title else table(head, rows)
        for title, head, rows in tables(report)
    )


def _group(records: Iterable[Record], key: Callable[[Record], Key]) -> dict[Key, list[Record]]:
    groups: dict[Key, list[Record]] = {}
    for record in records:
        groups.setdefault(key(record), []).append(record)
    return groups


_PAPERS = ("AUC", "improvement", "single score", "paper: AUC", "paper: improvement",
           "paper: single score")  # fmt: skip
#: What the paper's Tables 1 and 6 show, in percent.
_PERCENT: tuple[Callable[[Figures], float], ...] = (
    lambda result: 100 * result.auc,
    lambda result: result.improvement_percent,
    lambda result: 100 * result.auc_single_score,
)


def _table_6(report: EvaluationReport) -> Table:
    dataset = papers_dataset(report.dataset)
    rows = [
        [*key, *(cell([value(result) for result in group], 1) for value in _PERCENT),
         *_papers(6, dataset, *key[:2], "fine-grained" if key[2] == RECORDED else key[2])]
        for key, group in by_setting(report.results).items()
    ]  # fmt: skip
    return "AUC in percent, as in TRACED's Table 6", [*_SETTING, *_PAPERS], rows


def _table_1(report: EvaluationReport) -> Table:
    """Averages over noises first, then over seeds: runs with the same seed are not independent."""
    dataset = papers_dataset(report.dataset)
    runs = _group(report.results, lambda result: (result.scorer, result.explorer))
    rows = []
    for key, group in runs.items():
        of_seeds = [of for _, of in sorted(_group(group, lambda result: result.seed).items())]
        means = [
            cell([sum(map(value, of_seed)) / len(of_seed) for of_seed in of_seeds], 1)
            for value in _PERCENT
        ]
        rows.append([*key, *means, *_papers(1, dataset, *key, "all")])
    has_several = any(len({result.noise for result in group}) > 1 for group in runs.values())
    title = "Mean over the noises, as in TRACED's Table 1"
    return title, ["scorer", "explorer", *_PAPERS], rows if has_several else []


def _papers(table: int, dataset: str | None, scorer: str, explorer: str, setting: str) -> list[str]:
    figures = (
        published_result(table, dataset, scorer, explorer, setting, "auc_percent"),
        published_result(table, dataset, scorer, explorer, setting, "improvement_percent"),
        published_result(table, dataset, scorer, "none", setting, "auc_percent"),
    )
    return [str(figure) if figure else "–" for figure in figures]


def _table_2(report: EvaluationReport) -> Table:
    def paper(scorer: str, explorer: str) -> str:
        figure = published_result(2, "any", scorer, explorer, "one L40", "seconds_per_1000")
        return str(figure) if figure else "–"

    rows = [
        [
            times.scorer, times.explorer, f"{times.device}, {times.pairs} pairs",
            f"{times.single_score:.2f}", f"{times.trajectories:.2f}",
            paper(times.scorer, "none"), paper(times.scorer, times.explorer),
        ]
        for times in report.times
    ]  # fmt: skip
    head = ["scorer", "explorer", "here, on", "single score", "with trajectories",
            "paper, one L40: single score", "with trajectories"]  # fmt: skip
    return "Seconds for 1,000 pairs, as in TRACED's Table 2", head, rows


_TABLE_OF = {"s alone": 3, "c alone": 3, "first step": 4, "last step": 4, "mean": 4, "minimised": 5}


def _ablation(report: EvaluationReport) -> Table:
    rows: Rows = []
    results = [result for result in report.results if result.ablations]
    runs = _group(results, lambda result: (result.scorer, result.explorer))
    for (scorer, explorer), group in runs.items():
        for name in (*ABLATIONS, "minimised"):
            changes = [
                100 * (result.ablations[name] / result.ablations["whole trajectory"] - 1)
                for result in group
                if name in result.ablations
            ]
            if name == "whole trajectory" or not changes:
                continue
            number = _TABLE_OF.get(name, 0)
            home = "ms-coco" if number == 3 else "flickr30k"
            theirs = published_result(number, home, scorer, explorer, name, "change_percent")
            paper = f"{theirs} ({home})" if theirs else "–"
            rows.append([scorer, explorer, name, cell(changes, 2), paper])
    title = ("Change of AUC in percent, as in TRACED's Tables 3, 4 and 5, with the paper's own "
             "features and grids")  # fmt: skip
    return title, ["scorer", "explorer", "only", "change of AUC", "paper"], rows


def _detectors(report: EvaluationReport) -> Table:
    names = list(dict.fromkeys(name for r in report.results for name in r.auc_by_detector))
    rows = [
        [*key, *cells(group, "auc"),
         *(cell([result.auc_by_detector.get(name) for result in group]) for name in names)]
        for key, group in by_setting(report.results).items()
    ]  # fmt: skip
    head = [*_SETTING, f"{report.detector} (shown)", *names]
    return "AUC by detector, on the same folds", head, rows if names else []


def _rates(report: EvaluationReport) -> Table:
    rows = [
        [*key, f"{rate:.0%}",
         *cells(at, "average_precision", "average_precision_single_score", "effort",
                "effort_single_score")]
        for key, group in by_setting(report.results).items()
        for rate, at in sorted(
            _group((at for result in group for at in result.at_rate), lambda at: at.rate).items()
        )
    ]  # fmt: skip
    head = [*_SETTING, "share wrong", "average precision", "s_0's",
            "to read for 80 % of the errors", "s_0's"]  # fmt: skip
    return "The cost of rarer errors", head, rows


def _localisation(report: EvaluationReport) -> Table:
    rows: Rows = []
    for (scorer, explorer, _), group in by_setting(report.results).items():
        of_runs = [result.localisation.by_score for result in group if result.localisation]
        for name in of_runs[0] if of_runs else ():
            rates = [by_score[name] for by_score in of_runs if name in by_score]
            figures = cells(rates, "top1", "top3", "auc", "phrase_top1", "phrase_top3")
            rows.append([scorer, explorer, name, *figures])
    head = ["scorer", "explorer", "score", "top-1", "top-3", "AUC a word", "phrase top-1",
            "phrase top-3"]  # fmt: skip
    return "Does the score point at the changed words?", head, rows


def _by_kind(report: EvaluationReport) -> Table:
    rows: Rows = []
    for (scorer, explorer, _), group in by_setting(report.results).items():
        of_runs = [result.localisation.by_kind for result in group if result.localisation]
        for kind in sorted({kind for by_kind in of_runs for kind in by_kind}):
            of_kind = [by_kind[kind] for by_kind in of_runs if kind in by_kind]
            ours = [rates[OURS] for rates in of_kind]
            figures = cells(ours, "top1", "top3", "phrase_top1", "phrase_top3", digits=2)
            for other in (INTERVENTION, PRIOR, CHANCE):
                figures += cells([r[other] for r in of_kind if other in r], "top1", digits=2)
            captions = f"{sum(rate.pairs for rate in ours) / len(ours):.0f}"
            rows.append([scorer, explorer, kind, captions, *figures])
    head = ["scorer", "explorer", "changed", "captions a run", "top-1", "top-3", "phrase top-1",
            "phrase top-3", "phrase intervention top-1", "word prior top-1", "chance"]  # fmt: skip
    return "The same by what was changed", head, rows


def _transfer(report: EvaluationReport) -> Table:
    runs = _group(report.transfers, lambda r: (r.scorer, r.explorer, r.trained_on, r.noise))
    rows = [
        [*key, *cells(group, "auc", "auc_single_score"),
         *cells(group, "improvement_percent", digits=1),
         *cells(group, "auc_text_only", "calibration_error")]
        for key, group in runs.items()
    ]  # fmt: skip
    head = ["scorer", "explorer", "trained on", "tested on", "AUC", "s_0 alone", "over s_0, %",
            "words alone", "calibration error"]  # fmt: skip
    return "Trained on one generator's errors, tested on another's", head, rows


#: How much guidance by suspect words raises s of InternVL3's corrections over unguided ones, at
#: most (TRACED, ICLR 2026).
_PAPERS_GAIN = "+14.5"


def _correction(report: EvaluationReport) -> Table:
    rows: Rows = []
    for (scorer, explorer, _), group in by_setting(report.results).items():
        for name in dict.fromkeys(name for result in group for name in result.corrections):
            of_proposer = [r.corrections[name] for r in group if name in r.corrections]
            figures = cells(of_proposer, "offered", "restored_of_all", "restored", "true", "harm",
                            "rise_of_s", "change_of_p", digits=2)  # fmt: skip
            rows.append([scorer, explorer, name, *figures, *_over_unguided(name, group)])
    head = ["scorer", "explorer", "suggestion", "offered", "restores (of all)",
            "restores (of those offered)", "is true", "right words lost", "rise of s",
            "change of p", "s over unguided, %", "paper: up to"]  # fmt: skip
    return "Corrections of wrong captions", head, rows


def _over_unguided(name: str, results: Sequence[Figures]) -> list[str]:
    """How much higher s is after this proposer's corrections than after the unguided ones of the
    same model, in percent; and the paper's figure."""
    model, _, mode = name.rpartition(" · ")
    prefix = f"{model} · unguided"
    gains = [
        100 * (result.corrections[name].s_after / other.s_after - 1)
        for result in results if name in result.corrections
        for proposer, other in result.corrections.items()
        if proposer.startswith(prefix) and proposer != name and other.s_after
    ]  # fmt: skip
    return [cell(gains, 1), _PAPERS_GAIN if gains and mode.startswith("words") else "–"]


def _learnt(report: EvaluationReport) -> Table:
    rows = [
        [
            point.scorer, point.noise, str(point.seed), str(point.labelled), point.detector,
            f"{point.auc:.3f}", f"{point.auc_single_score:.3f}", f"{point.worst_difference:+.3f}",
            f"{point.calibration_error:.3f}", str(point.splits),
        ]
        for point in report.learnt
    ]  # fmt: skip
    head = ["scorer", "noise", "seed", "labelled pairs", "detector", "AUC", "s_0 alone",
            "worst difference", "calibration error", "splits"]  # fmt: skip
    return "Learning curve by number of labelled pairs", head, rows


def _without_labels(report: EvaluationReport) -> Table:
    rows = [
        [
            at.scorer, at.noise, str(at.seed), str(at.pairs), str(at.noisy_copies), at.detector,
            f"{at.auc:.3f}", f"{at.auc_single_score:.3f}", f"{at.calibration_error:.3f}",
            f"{at.share_wrong:.2f}", cell([at.estimated_share_wrong], 2),
        ]
        for at in report.unlabelled
    ]  # fmt: skip
    head = ["scorer", "noise", "seed", "pairs", "injected errors", "detector", "AUC", "s_0 alone",
            "calibration error", "share wrong", "estimated"]  # fmt: skip
    return "Without labels, by the number of pairs", head, rows
