"""An evaluation as Markdown: a summary, then the paper's own tables with ours beside them."""

from collections.abc import Callable, Iterable, Sequence

from backend.evaluation.evaluate import TOLD, EvaluationReport, Mean, by_setting, mean_of
from backend.evaluation.figures import ABLATIONS, Figures
from backend.evaluation.localisation import CHANCE, OURS
from backend.evaluation.papers_tables import papers_dataset, published

Rows = list[list[str]]


def markdown(report: EvaluationReport) -> str:
    """Everything that was measured; tables without a figure are left out."""
    parts = [_table(["scorer", "explorer", "noise", *TOLD.values()], _summary(report))]
    for title, head, rows in (
        ("AUC in percent, as in TRACED's Table 6", _TABLE_6, _table_6(report)),
        ("Mean over the noises, as in TRACED's Table 1", _TABLE_1, _table_1(report)),
        ("Seconds for 1,000 pairs, as in TRACED's Table 2", _TABLE_2, _table_2(report)),
        ("Change of AUC in percent, as in TRACED's Tables 3, 4 and 5, with the paper's own "
         "features and grids", _ABLATED, _ablated(report)),
        ("AUC by detector, on the same folds", *_detectors(report)),
        ("What rarer errors cost", _RATES, _rates(report)),
        ("Does the score point at the changed words?", _LOCALISED, _localised(report)),
        ("The same by what was changed", _KINDS, _by_kind(report)),
        ("Corrections of wrong captions", _CORRECTED, _corrected(report)),
    ):  # fmt: skip
        if rows:
            parts.append(f"**{title}**\n\n{_table(head, rows)}")
    return "\n\n".join(parts)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])


def _summary(report: EvaluationReport) -> Rows:
    return [
        [row.scorer, row.explorer, row.noise, *(_told(row.figures.get(name)) for name in TOLD)]
        for row in report.summary
    ]


def _told(mean: Mean | None, digits: int = 3) -> str:
    if mean is None:
        return "–"
    if mean.standard_error is None:
        return f"{mean.mean:.{digits}f}"
    return f"{mean.mean:.{digits}f} ± {mean.standard_error:.{digits}f}"


def _over(listed: Sequence[Figures], value: Callable[[Figures], float | None]) -> Mean | None:
    found = [number for one in listed if (number := value(one)) is not None]
    return mean_of(found) if found else None


_TABLE_6 = ["scorer", "explorer", "noise", "AUC", "improvement", "single score",
            "paper: AUC", "paper: improvement", "paper: single score"]  # fmt: skip


def _table_6(report: EvaluationReport) -> Rows:
    dataset = papers_dataset(report.dataset)
    return [
        [
            scorer, explorer, noise,
            _told(_over(listed, lambda one: 100 * one.auc), 1),
            _told(_over(listed, lambda one: one.improvement_percent), 1),
            _told(_over(listed, lambda one: 100 * one.auc_single_score), 1),
            *_papers(6, dataset, scorer, explorer, noise),
        ]
        for (scorer, explorer, noise), listed in by_setting(report.results).items()
    ]  # fmt: skip


_TABLE_1 = ["scorer", "explorer", "AUC", "improvement", "single score",
            "paper: AUC", "paper: improvement", "paper: single score"]  # fmt: skip


def _table_1(report: EvaluationReport) -> Rows:
    """Over noises first, then over seeds: the noises of one seed are no independent runs."""
    dataset = papers_dataset(report.dataset)
    runs: dict[tuple[str, str], list[Figures]] = {}
    for one in report.results:
        runs.setdefault((one.scorer, one.explorer), []).append(one)
    if all(len({one.noise for one in listed}) == 1 for listed in runs.values()):
        return []

    def over(listed: list[Figures], value: Callable[[Figures], float]) -> str:
        seeds = sorted({one.seed for one in listed})
        of_seed = [[value(one) for one in listed if one.seed == seed] for seed in seeds]
        return _told(mean_of([sum(found) / len(found) for found in of_seed]), 1)

    return [
        [
            scorer, explorer,
            over(listed, lambda one: 100 * one.auc),
            over(listed, lambda one: one.improvement_percent),
            over(listed, lambda one: 100 * one.auc_single_score),
            *_papers(1, dataset, scorer, explorer, "all"),
        ]
        for (scorer, explorer), listed in runs.items()
    ]  # fmt: skip


def _papers(table: int, dataset: str | None, scorer: str, explorer: str, setting: str) -> list[str]:
    found = (
        published(table, dataset, scorer, explorer, setting, "auc_percent"),
        published(table, dataset, scorer, explorer, setting, "improvement_percent"),
        published(table, dataset, scorer, "none", setting, "auc_percent"),
    )
    return [str(figure) if figure else "–" for figure in found]


_TABLE_2 = ["scorer", "explorer", "here, on", "single score", "with trajectories",
            "paper, one L40: single score", "with trajectories"]  # fmt: skip


def _table_2(report: EvaluationReport) -> Rows:
    def paper(scorer: str, explorer: str) -> str:
        found = published(2, "any", scorer, explorer, "one L40", "seconds_per_1000")
        return str(found) if found else "–"

    return [
        [
            one.scorer, one.explorer, f"{one.device}, {one.pairs} pairs",
            f"{one.single_score:.2f}", f"{one.trajectories:.2f}",
            paper(one.scorer, "none"), paper(one.scorer, one.explorer),
        ]
        for one in report.times
    ]  # fmt: skip


_ABLATED = ["scorer", "explorer", "only", "change of AUC", "paper"]
_TABLE_OF = {"s alone": 3, "c alone": 3, "first step": 4, "last step": 4, "mean": 4, "minimised": 5}


def _ablated(report: EvaluationReport) -> Rows:
    rows: Rows = []
    runs: dict[tuple[str, str], list[Figures]] = {}
    for one in report.results:
        if one.ablations:
            runs.setdefault((one.scorer, one.explorer), []).append(one)
    for (scorer, explorer), listed in runs.items():
        for name in (*ABLATIONS, "minimised"):
            changes = [
                100 * (one.ablations[name] / one.ablations["whole trajectory"] - 1)
                for one in listed
                if name in one.ablations
            ]
            if name == "whole trajectory" or not changes:
                continue
            table = _TABLE_OF[name]
            home = "ms-coco" if table == 3 else "flickr30k"
            theirs = published(table, home, scorer, explorer, name, "change_percent")
            rows.append(
                [scorer, explorer, name, _told(mean_of(changes), 2),
                 f"{theirs} ({home})" if theirs else "–"]
            )  # fmt: skip
    return rows


def _detectors(report: EvaluationReport) -> tuple[list[str], Rows]:
    names = list(dict.fromkeys(name for one in report.results for name in one.auc_by_detector))

    def of(listed: Sequence[Figures], name: str) -> str:
        return _told(_over(listed, lambda one: one.auc_by_detector.get(name)))

    rows = [
        [*key, _told(_over(listed, lambda one: one.auc)), *(of(listed, name) for name in names)]
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
        for rate in sorted({at.rate for one in listed for at in one.at_rate}):
            at = [found for one in listed for found in one.at_rate if found.rate == rate]
            rows.append(
                [
                    *key, f"{rate:.0%}",
                    _told(mean_of([one.average_precision for one in at])),
                    _told(mean_of([one.average_precision_single_score for one in at])),
                    _told(mean_of([one.effort for one in at])),
                    _told(mean_of([one.effort_single_score for one in at])),
                ]
            )  # fmt: skip
    return rows


_LOCALISED = ["scorer", "explorer", "score", "top-1", "top-3", "AUC a word"]


def _localised(report: EvaluationReport) -> Rows:
    rows: Rows = []
    for (scorer, explorer, _), listed in by_setting(report.results).items():
        found = [one.localisation for one in listed if one.localisation]
        for name in found[0].by_score if found else ():
            rates = [one.by_score[name] for one in found if name in one.by_score]
            rows.append(
                [scorer, explorer, name, _told(mean_of([one.top1 for one in rates])),
                 _told(mean_of([one.top3 for one in rates])),
                 _told(mean_of([one.auc for one in rates]))]
            )  # fmt: skip
    return rows


_KINDS = ["scorer", "explorer", "changed", "captions a run", "top-1", "top-3", "word prior top-1",
          "chance"]  # fmt: skip


def _by_kind(report: EvaluationReport) -> Rows:
    rows: Rows = []
    for (scorer, explorer, _), listed in by_setting(report.results).items():
        found = [one.localisation.by_kind for one in listed if one.localisation]
        for kind in sorted({kind for by_kind in found for kind in by_kind}):
            ours = [by_kind[kind][OURS] for by_kind in found if kind in by_kind]
            prior = [by_kind[kind]["word prior"] for by_kind in found if kind in by_kind]
            chance = [by_kind[kind][CHANCE] for by_kind in found if kind in by_kind]
            rows.append(
                [scorer, explorer, kind, f"{sum(one.pairs for one in ours) / len(ours):.0f}",
                 _told(mean_of([one.top1 for one in ours]), 2),
                 _told(mean_of([one.top3 for one in ours]), 2),
                 _told(mean_of([one.top1 for one in prior]), 2),
                 _told(mean_of([one.top1 for one in chance]), 2)]
            )  # fmt: skip
    return rows


_CORRECTED = ["scorer", "explorer", "suggestion", "offered", "restores (of all)",
              "restores (of those offered)", "is true",
              "right words lost", "rise of s", "change of p"]  # fmt: skip


def _corrected(report: EvaluationReport) -> Rows:
    rows: Rows = []
    for (scorer, explorer, _), listed in by_setting(report.results).items():
        for name in dict.fromkeys(name for one in listed for name in one.corrections):
            found = [one.corrections[name] for one in listed if name in one.corrections]
            true = [one.true for one in found if one.true is not None]
            change = [one.change_of_p for one in found if one.change_of_p is not None]
            rows.append(
                [scorer, explorer, name,
                 _told(mean_of([one.offered for one in found]), 2),
                 _told(mean_of([one.restored_of_all for one in found]), 2),
                 _told(mean_of([one.restored for one in found]), 2),
                 _told(mean_of(true) if true else None, 2),
                 _told(mean_of([one.harm for one in found]), 2),
                 _told(mean_of([one.rise_of_s for one in found]), 2),
                 _told(mean_of(change) if change else None, 2)]
            )  # fmt: skip
    return rows
