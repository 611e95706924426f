"""An evaluation as Markdown: a summary, then our results next to the paper's own tables."""

from collections.abc import Callable, Iterable, Sequence

from research.evaluation.evaluate import (
    SUMMARY_COLUMNS,
    EvaluationReport,
    Mean,
    by_setting,
    mean_of,
)
from research.evaluation.labelled import RECORDED
from research.evaluation.papers_tables import papers_dataset, published
from research.evaluation.result_figures import ABLATIONS, Figures
from research.evaluation.suspect_hits import CHANCE, INTERVENTION, OURS
from research.evaluation.transfer import Transfer

Rows = list[list[str]]


def markdown(report: EvaluationReport) -> str:
    """All measurements; empty tables are omitted."""
    parts = [_table(["scorer", "explorer", "noise", *SUMMARY_COLUMNS.values()], _summary(report))]
    for title, head, rows in (
        ("AUC in percent, as in TRACED's Table 6", _TABLE_6, _table_6(report)),
        ("Mean over the noises, as in TRACED's Table 1", _TABLE_1, _table_1(report)),
        ("Seconds for 1,000 pairs, as in TRACED's Table 2", _TABLE_2, _table_2(report)),
        ("Change of AUC in percent, as in TRACED's Tables 3, 4 and 5, with the paper's own "
         "features and grids", _ABLATED, _ablated(report)),
        ("AUC by detector, on the same folds", *_detectors(report)),
        ("The cost of rarer errors", _RATES, _rates(report)),
        ("Does the score point at the changed words?", _LOCALISED, _localised(report)),
        ("The same by what was changed", _KINDS, _by_kind(report)),
        ("Trained on one generator's errors, tested on another's", _TRANSFERRED,
         _transferred(report)),
        ("Corrections of wrong captions", _CORRECTED, _corrected(report)),
        ("Learning curve by number of labelled pairs", _LEARNT, _learnt(report)),
        ("Without labels, by the number of pairs", _UNLABELLED, _unlabelled(report)),
    ):  # fmt: skip
        if rows:
            parts.append(f"**{title}**\n\n{_table(head, rows)}")
    return "\n\n".join(parts)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])


def _summary(report: EvaluationReport) -> Rows:
    return [
        [
            row.scorer,
            row.explorer,
            row.noise,
            *(_cell(row.figures.get(name)) for name in SUMMARY_COLUMNS),
        ]
        for row in report.summary
    ]


def _cell(mean: Mean | None, digits: int = 3) -> str:
    if mean is None:
        return "–"
    if mean.standard_error is None:
        return f"{mean.mean:.{digits}f}"
    return f"{mean.mean:.{digits}f} ± {mean.standard_error:.{digits}f}"


def _over(listed: Sequence[Figures], value: Callable[[Figures], float | None]) -> Mean | None:
    values = [number for result in listed if (number := value(result)) is not None]
    return mean_of(values) if values else None


_TABLE_6 = ["scorer", "explorer", "noise", "AUC", "improvement", "single score",
            "paper: AUC", "paper: improvement", "paper: single score"]  # fmt: skip


def _table_6(report: EvaluationReport) -> Rows:
    dataset = papers_dataset(report.dataset)
    return [
        [
            scorer, explorer, noise,
            _cell(_over(listed, lambda result: 100 * result.auc), 1),
            _cell(_over(listed, lambda result: result.improvement_percent), 1),
            _cell(_over(listed, lambda result: 100 * result.auc_single_score), 1),
            *_papers(6, dataset, scorer, explorer, "fine-grained" if noise == RECORDED else noise),
        ]
        for (scorer, explorer, noise), listed in by_setting(report.results).items()
    ]  # fmt: skip


_TABLE_1 = ["scorer", "explorer", "AUC", "improvement", "single score",
            "paper: AUC", "paper: improvement", "paper: single score"]  # fmt: skip


def _table_1(report: EvaluationReport) -> Rows:
    """Averages over noises first, then over seeds: runs with the same seed are not independent."""
    dataset = papers_dataset(report.dataset)
    runs: dict[tuple[str, str], list[Figures]] = {}
    for result in report.results:
        runs.setdefault((result.scorer, result.explorer), []).append(result)
    if all(len({result.noise for result in listed}) == 1 for listed in runs.values()):
        return []

    def over(listed: list[Figures], value: Callable[[Figures], float]) -> str:
        seeds = sorted({result.seed for result in listed})
        of_seed = [[value(result) for result in listed if result.seed == seed] for seed in seeds]
        return _cell(mean_of([sum(of_one_seed) / len(of_one_seed) for of_one_seed in of_seed]), 1)

    return [
        [
            scorer, explorer,
            over(listed, lambda result: 100 * result.auc),
            over(listed, lambda result: result.improvement_percent),
            over(listed, lambda result: 100 * result.auc_single_score),
            *_papers(1, dataset, scorer, explorer, "all"),
        ]
        for (scorer, explorer), listed in runs.items()
    ]  # fmt: skip


def _papers(table: int, dataset: str | None, scorer: str, explorer: str, setting: str) -> list[str]:
    figures = (
        published(table, dataset, scorer, explorer, setting, "auc_percent"),
        published(table, dataset, scorer, explorer, setting, "improvement_percent"),
        published(table, dataset, scorer, "none", setting, "auc_percent"),
    )
    return [str(figure) if figure else "–" for figure in figures]


_TABLE_2 = ["scorer", "explorer", "here, on", "single score", "with trajectories",
            "paper, one L40: single score", "with trajectories"]  # fmt: skip


def _table_2(report: EvaluationReport) -> Rows:
    def paper(scorer: str, explorer: str) -> str:
        figure = published(2, "any", scorer, explorer, "one L40", "seconds_per_1000")
        return str(figure) if figure else "–"

    return [
        [
            times.scorer, times.explorer, f"{times.device}, {times.pairs} pairs",
            f"{times.single_score:.2f}", f"{times.trajectories:.2f}",
            paper(times.scorer, "none"), paper(times.scorer, times.explorer),
        ]
        for times in report.times
    ]  # fmt: skip


_ABLATED = ["scorer", "explorer", "only", "change of AUC", "paper"]
_TABLE_OF = {"s alone": 3, "c alone": 3, "first step": 4, "last step": 4, "mean": 4, "minimised": 5}


def _ablated(report: EvaluationReport) -> Rows:
    rows: Rows = []
    runs: dict[tuple[str, str], list[Figures]] = {}
    for result in report.results:
        if result.ablations:
            runs.setdefault((result.scorer, result.explorer), []).append(result)
    for (scorer, explorer), listed in runs.items():
        for name in (*ABLATIONS, "minimised"):
            changes = [
                100 * (result.ablations[name] / result.ablations["whole trajectory"] - 1)
                for result in listed
                if name in result.ablations
            ]
            if name == "whole trajectory" or not changes:
                continue
            table = _TABLE_OF.get(name, 0)
            home = "ms-coco" if table == 3 else "flickr30k"
            theirs = published(table, home, scorer, explorer, name, "change_percent")
            rows.append(
                [scorer, explorer, name, _cell(mean_of(changes), 2),
                 f"{theirs} ({home})" if theirs else "–"]
            )  # fmt: skip
    return rows


def _detectors(report: EvaluationReport) -> tuple[list[str], Rows]:
    names = list(
        dict.fromkeys(name for result in report.results for name in result.auc_by_detector)
    )

    def of(listed: Sequence[Figures], name: str) -> str:
        return _cell(_over(listed, lambda result: result.auc_by_detector.get(name)))

    rows = [
        [
            *key,
            _cell(_over(listed, lambda result: result.auc)),
            *(of(listed, name) for name in names),
        ]
        for key, listed in by_setting(report.results).items()
    ]
    return ["scorer", "explorer", "noise", f"{report.detector} (shown)", *names], (
        rows if names else []
    )


_RATES = ["scorer", "explorer", "noise", "share wrong", "average precision", "s_0's",
          "to read for 80 % of the errors", "s_0's"]  # fmt: skip


def _rates(report: EvaluationReport) -> Rows:
    rows: Rows = []
    for key, listed in by_setting(report.results).items():
        for rate in sorted({at.rate for result in listed for at in result.at_rate}):
            at = [
                figures for result in listed for figures in result.at_rate if figures.rate == rate
            ]
            rows.append(
                [
                    *key, f"{rate:.0%}",
                    _cell(mean_of([figures.average_precision for figures in at])),
                    _cell(mean_of([figures.average_precision_single_score for figures in at])),
                    _cell(mean_of([figures.effort for figures in at])),
                    _cell(mean_of([figures.effort_single_score for figures in at])),
                ]
            )  # fmt: skip
    return rows


_LOCALISED = ["scorer", "explorer", "score", "top-1", "top-3", "AUC a word", "phrase top-1",
              "phrase top-3"]  # fmt: skip


def _localised(report: EvaluationReport) -> Rows:
    rows: Rows = []
    for (scorer, explorer, _), listed in by_setting(report.results).items():
        localised = [result.localisation for result in listed if result.localisation]
        for name in localised[0].by_score if localised else ():
            rates = [
                localisation.by_score[name]
                for localisation in localised
                if name in localisation.by_score
            ]
            rows.append(
                [scorer, explorer, name, _cell(mean_of([rate.top1 for rate in rates])),
                 _cell(mean_of([rate.top3 for rate in rates])),
                 _cell(mean_of([rate.auc for rate in rates])),
                 _cell(mean_of([rate.phrase_top1 for rate in rates])),
                 _cell(mean_of([rate.phrase_top3 for rate in rates]))]
            )  # fmt: skip
    return rows


_LEARNT = ["scorer", "noise", "seed", "labelled pairs", "detector", "AUC", "s_0 alone",
           "worst difference", "calibration error", "splits"]  # fmt: skip


def _learnt(report: EvaluationReport) -> Rows:
    return [
        [
            point.scorer, point.noise, str(point.seed), str(point.labelled), point.detector,
            f"{point.auc:.3f}", f"{point.auc_single_score:.3f}", f"{point.worst_difference:+.3f}",
            f"{point.calibration_error:.3f}", str(point.splits),
        ]
        for point in report.learnt
    ]  # fmt: skip


_UNLABELLED = ["scorer", "noise", "seed", "pairs", "injected errors", "detector", "AUC",
               "s_0 alone", "calibration error", "share wrong", "estimated"]  # fmt: skip


def _unlabelled(report: EvaluationReport) -> Rows:
    return [
        [
            at.scorer, at.noise, str(at.seed), str(at.pairs), str(at.noisy_copies), at.detector,
            f"{at.auc:.3f}", f"{at.auc_single_score:.3f}", f"{at.calibration_error:.3f}",
            f"{at.share_wrong:.2f}",
            "–" if at.estimated_share_wrong is None else f"{at.estimated_share_wrong:.2f}",
        ]
        for at in report.unlabelled
    ]  # fmt: skip


_TRANSFERRED = ["scorer", "explorer", "trained on", "tested on", "AUC", "s_0 alone", "over s_0, %",
                "words alone", "calibration error"]  # fmt: skip


def _transferred(report: EvaluationReport) -> Rows:
    runs: dict[tuple[str, str, str, str], list[Transfer]] = {}
    for result in report.transfers:
        key = (result.scorer, result.explorer, result.trained_on, result.noise)
        runs.setdefault(key, []).append(result)
    return [
        [
            *key,
            _cell(mean_of([result.auc for result in listed])),
            _cell(mean_of([result.auc_single_score for result in listed])),
            _cell(mean_of([result.improvement_percent for result in listed]), 1),
            _cell(mean_of([result.auc_text_only for result in listed])),
            _cell(mean_of([result.calibration_error for result in listed])),
        ]
        for key, listed in runs.items()
    ]


_KINDS = ["scorer", "explorer", "changed", "captions a run", "top-1", "top-3", "phrase top-1",
          "phrase top-3", "phrase intervention top-1", "word prior top-1", "chance"]  # fmt: skip


def _by_kind(report: EvaluationReport) -> Rows:
    rows: Rows = []
    for (scorer, explorer, _), listed in by_setting(report.results).items():
        kinds_of_runs = [result.localisation.by_kind for result in listed if result.localisation]
        for kind in sorted({kind for by_kind in kinds_of_runs for kind in by_kind}):
            ours = [by_kind[kind][OURS] for by_kind in kinds_of_runs if kind in by_kind]
            prior = [by_kind[kind]["word prior"] for by_kind in kinds_of_runs if kind in by_kind]
            emptied = [
                by_kind[kind][INTERVENTION]
                for by_kind in kinds_of_runs
                if INTERVENTION in by_kind.get(kind, {})
            ]
            chance = [by_kind[kind][CHANCE] for by_kind in kinds_of_runs if kind in by_kind]
            rows.append(
                [scorer, explorer, kind, f"{sum(rate.pairs for rate in ours) / len(ours):.0f}",
                 _cell(mean_of([rate.top1 for rate in ours]), 2),
                 _cell(mean_of([rate.top3 for rate in ours]), 2),
                 _cell(mean_of([rate.phrase_top1 for rate in ours]), 2),
                 _cell(mean_of([rate.phrase_top3 for rate in ours]), 2),
                 _cell(mean_of([rate.top1 for rate in emptied]), 2) if emptied else "–",
                 _cell(mean_of([rate.top1 for rate in prior]), 2),
                 _cell(mean_of([rate.top1 for rate in chance]), 2)]
            )  # fmt: skip
    return rows


_CORRECTED = ["scorer", "explorer", "suggestion", "offered", "restores (of all)",
              "restores (of those offered)", "is true",
              "right words lost", "rise of s", "change of p", "s over unguided, %",
              "paper: up to"]  # fmt: skip
#: How much guidance by suspect words raises s of InternVL3's corrections over unguided ones, at
#: most (TRACED, ICLR 2026).
_PAPERS_GAIN = "+14.5"


def _corrected(report: EvaluationReport) -> Rows:
    rows: Rows = []
    for (scorer, explorer, _), listed in by_setting(report.results).items():
        for name in dict.fromkeys(name for result in listed for name in result.corrections):
            of_proposer = [
                result.corrections[name] for result in listed if name in result.corrections
            ]
            true = [figures.true for figures in of_proposer if figures.true is not None]
            change = [
                figures.change_of_p for figures in of_proposer if figures.change_of_p is not None
            ]
            rows.append(
                [scorer, explorer, name,
                 _cell(mean_of([figures.offered for figures in of_proposer]), 2),
                 _cell(mean_of([figures.restored_of_all for figures in of_proposer]), 2),
                 _cell(mean_of([figures.restored for figures in of_proposer]), 2),
                 _cell(mean_of(true) if true else None, 2),
                 _cell(mean_of([figures.harm for figures in of_proposer]), 2),
                 _cell(mean_of([figures.rise_of_s for figures in of_proposer]), 2),
                 _cell(mean_of(change) if change else None, 2),
                 *_over_unguided(name, listed)]
            )  # fmt: skip
    return rows


def _over_unguided(name: str, listed: Sequence[Figures]) -> list[str]:
    """How much higher s is after this proposer's corrections than after the unguided ones of the
    same model, in percent; and the paper's figure."""
    model, _, mode = name.rpartition(" · ")
    unguided = f"{model} · unguided"
    gains = [
        100 * (result.corrections[name].s_after / other.s_after - 1)
        for result in listed if name in result.corrections
        for proposer, other in result.corrections.items()
        if proposer.startswith(unguided) and proposer != name and other.s_after
    ]  # fmt: skip
    if not gains:
        return ["–", "–"]
    return [_cell(mean_of(gains), 1), _PAPERS_GAIN if mode.startswith("words") else "–"]
