"""`select`: choose pairs for training, in two stages."""

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from backend.cli.options import AS_JSON, DATABASE
from backend.cli.output import console, emit, open_workspace, progress, reported
from backend.jobs.reports import SelectionReport, TwoStage
from backend.settings import load_settings

ALIGN = typer.Option("--align", help="Stage one: share of the pairs to keep, by highest match.")
KEEP = typer.Option("--keep", help="Stage two: share of all pairs to keep. Default: 0.5.")
BY = typer.Option(
    "--by", help="Stage two: support (the paper's mean), worst (the weakest phrase: fewer errors "
    "stay), alignment, random, or specificity."
)  # fmt: skip
SEED = typer.Option(
    "--seed", min=0, help="With --by random: of the random order. Default: the queue's."
)
SCORES = typer.Option(
    "--scores", metavar="FILE", help="Stage two: by your own scores, a table with an id and a "
    "score, or a list with one suspect id per line. Higher stays, unless its name is that of "
    "an error, as p_error or loss."
)  # fmt: skip
LEAST = typer.Option(
    "--least-phrases", min=0, help="Captions with fewer tested phrases go last in stage two."
)


def select(
    dataset: Annotated[str, typer.Argument(help="Name in the database.")],
    align: Annotated[float, ALIGN] = 0.7,
    keep: Annotated[float, KEEP] = 0.5,
    by: Annotated[str, BY] = "support",
    least_phrases: Annotated[int, LEAST] = 0,
    seed: Annotated[int, SEED] = 0,
    scores: Annotated[Path | None, SCORES] = None,
    split: Annotated[
        str | None,
        typer.Option(help="Only pairs of this split take part. Default: train, if there is one; "
                     "'all' for every split."),
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="Name of the view that is saved. Default: selected.")
    ] = None,
    dry_run: Annotated[bool, typer.Option(help="Save no view.")] = False,
    db: DATABASE = None,
    as_json: AS_JSON = False,
) -> None:  # fmt: skip
    """Choose pairs for training: the best matches, then those whose phrases the image supports.

    Our reading of Counterfactual Phrase Intervention. Verdicts take precedence over the selection
    and do not count towards its shares; nothing is deleted. `export --align 0.7 --keep 0.5` writes
    the selected pairs.
    """
    with reported(as_json):
        workspace = open_workspace(load_settings({"database": db}))
        dataset_id = workspace.find(dataset)
        choice = TwoStage(
            align, keep, by, least_phrases, workspace.review.split_for(dataset_id, split),
            seed=seed, scores=str(scores.expanduser()) if scores else "",
        )  # fmt: skip
        with progress("Selecting") as update:
            report = workspace.review.two_stage(
                dataset_id, choice, None if dry_run else name or "selected", update
            )
        for note in report.notes:
            console.print(f"[yellow]Note:[/] {escape(note)}")
        emit(report, as_json, summary(report))


def summary(report: SelectionReport) -> str:
    """Counts, thresholds and losses, as text."""
    from backend.jobs.two_stage_selection import losses

    choice = report.choice
    where = f" of the split '{', '.join(choice.splits)}'" if choice.splits else ""
    lines = [
        f"{report.taking_part} undecided pairs{where}: {report.pool} by match, {report.kept} of "
        f"them by {choice.criterion}; {report.decided} decided pairs are not counted.",
        f"Thresholds: s {_at_least(report.align_line)}, {choice.criterion} "
        f"{_at_least(report.keep_line)}.",
        *losses(report),
    ]
    if report.view:
        lines.append(f"Saved as the view '{report.view}'.")
    return "\n".join(lines)


def _at_least(line: float | None) -> str:
    return "any" if line is None else f"≥ {line:.4g}"
