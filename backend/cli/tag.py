"""`tag`, `label`, `select`: people's words on pairs, verdicts from a file, pairs for training."""

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from backend.cli.options import AS_JSON, DATABASE, one_queue
from backend.cli.output import console, emit, open_dataset, progress, reported
from backend.errors import SettingsError
from backend.jobs.reports import SelectionReport, TwoStage, count_of

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
    dataset: Annotated[
        str, typer.Argument(help="Name in the database; with --out, what score --out has written.")
    ],
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
    out: Annotated[
        str | None,
        typer.Option(metavar="DESTINATION", help="Write the scored shards again, as tars, without "
                     "what --decisions and --drop-above leave out. Neither database nor model is "
                     "used."),
    ] = None,
    decisions: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="With --out: the table of export --decisions, or your "
                     "own with the columns id and keep (and shard, caption)."),
    ] = None,
    drop_above: Annotated[
        float | None,
        typer.Option(min=0, max=1, help="With --out: pairs without a decision leave above this "
                     "probability of error."),
    ] = None,
    db: DATABASE = None,
    as_json: AS_JSON = False,
) -> None:  # fmt: skip
    """Choose pairs for training: the best matches, then those whose phrases the image supports.

    Our reading of Counterfactual Phrase Intervention. Verdicts take precedence over the selection
    and do not count towards its shares; nothing is deleted. `export --align 0.7 --keep 0.5` writes
    the selected pairs.
    """
    with reported(as_json):
        if out is not None:
            _select_shards(dataset, out, decisions, drop_above, as_json)
            return
        if decisions is not None or drop_above is not None:
            raise SettingsError("--decisions and --drop-above go with --out.")
        workspace, dataset_id = open_dataset(dataset, database=db)
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


def _select_shards(
    results: str, out: str, decisions: Path | None, drop_above: float | None, as_json: bool
) -> None:
    from backend.jobs.select_shards import read_decisions, select_shards

    by_pair = read_decisions(decisions.expanduser()) if decisions is not None else {}
    with progress("Selecting") as update:
        report = select_shards(results, out, by_pair, drop_above, update)
    if report.level_note:
        console.print(f"[yellow]Note:[/] {escape(report.level_note)}")
    emit(
        report, as_json,
        f"{report.written_now} of {report.shards} shards written to {report.out} now: "
        f"{report.kept:,} pairs stay ({report.corrected:,} corrected), {report.left_out:,} are "
        f"left out; {report.decided:,} of {report.decisions:,} decisions used.",
    )  # fmt: skip


def summary(report: SelectionReport) -> str:
    """Counts, thresholds and losses, as text."""
    from backend.jobs.two_stage_selection import losses  # which models need

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


def label(
    dataset: Annotated[str, typer.Argument(help="Name in the database.")],
    file: Annotated[
        Path, typer.Argument(help="CSV, TSV, JSONL, JSON or Parquet with an id (or a picture's "
                             "name), a verdict, and optionally a corrected caption and a note. "
                             "Label Studio, Argilla and cleanlab write such files.")
    ],
    id_column: Annotated[
        str | None, typer.Option(help="Column of the pairs' ids, or of the pictures' names. "
                                 "Default: by its name.")
    ] = None,
    verdict_column: Annotated[
        str | None, typer.Option(help="Column of the verdicts. Default: by its name.")
    ] = None,
    one_means: Annotated[
        str | None, typer.Option(help="What 1, true and yes mean: 'right' or 'wrong'. Default: "
                                 "as the column's name says, otherwise wrong.")
    ] = None,
    at_random: Annotated[
        bool, typer.Option("--at-random", help="The labelled pairs were drawn at random from the "
                                               "dataset: a detector learns the most from them.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Count the labels, list the conflicts; change "
                                             "nothing.")
    ] = False,
    undo: Annotated[
        bool, typer.Option("--undo", help="Take back the verdicts of the file's newest labelling.")
    ] = False,
    db: DATABASE = None,
    as_json: AS_JSON = False,
) -> None:  # fmt: skip
    """Give verdicts from a file of labels, with the file as their author.

    Verdicts that people have given here are never overwritten: conflicts are listed. 'wrong' is a
    label only: the pair stays in exports; 'drop' leaves it out. All labels are one step: take them
    back with --undo. `train` learns from them.
    """
    with reported(as_json):
        from backend.review.labels import apply_labels, report_lines, undo_labels

        workspace, dataset_id = open_dataset(dataset, database=db)
        path = file.expanduser()
        if undo:
            undone = undo_labels(workspace.store, dataset_id, path.name)
            if undone is None:
                raise SettingsError(f"No label of '{path.name}' is in effect.")
            emit(undone, as_json, f"Undone: {count_of(undone.together, 'label')} of {path.name}.")
            return
        report = apply_labels(
            workspace.store, dataset_id, path, id_column, verdict_column, one_means,
            preview=dry_run, at_random=at_random,
        )  # fmt: skip
        emit(report, as_json, "\n".join(report_lines(report)))


def tag(
    dataset: Annotated[str, typer.Argument(help="Name in the database.")],
    name: Annotated[
        str, typer.Argument(help="The tag. Without it, all tags are listed.")
    ] = "",
    ids: Annotated[
        Path | None, typer.Option(help="A file with the pairs' ids, one per line.")
    ] = None,
    queue: Annotated[
        str, typer.Option(help="The pairs of a queue, as in its address after the ?.")
    ] = "",
    view: Annotated[str | None, typer.Option(help="The pairs of a saved view.")] = None,
    remove: Annotated[
        bool, typer.Option("--remove", help="Take the tag from these pairs.")
    ] = False,
    rename: Annotated[
        str | None, typer.Option("--rename", metavar="NEW", help="Give the tag another name; one "
                                                                 "that exists absorbs it.")
    ] = None,
    author: Annotated[str | None, typer.Option(help="Name recorded with the tags.")] = None,
    db: DATABASE = None,
    as_json: AS_JSON = False,
) -> None:  # fmt: skip
    """Tag pairs with your own words, such as a list of suspects of another program; list the tags.

    `tag=NAME` in a queue, the field *Tag* on the page and `export --queue tag=NAME` select them;
    exports have the tags in the column `own_tags`.
    """
    from backend.review.pair_selection import rename_tag, tag_pairs

    with reported(as_json):
        from backend.review.pair_selection import read_ids

        one_queue(queue, view)
        workspace, dataset_id = open_dataset(dataset, database=db, author=author)
        who = workspace.settings.author
        if not name:
            tags = workspace.review.tags(dataset_id)
            lines = "\n".join(f"{tag}: {count_of(number, 'pair')}" for tag, number in tags.items())
            emit({"changed": 0, "tags": tags}, as_json, lines or "There are no tags.")
            return
        if rename is not None:
            number = len(rename_tag(workspace.store, dataset_id, name, rename, who)[0])
            words = f"{number:,} pairs now have the tag '{rename}'."
        else:
            selection = workspace.review.select_pairs(
                dataset_id, queue, view, (), read_ids(ids) if ids is not None else None
            )
            if selection is None:
                raise SettingsError("Say which pairs: --ids FILE, --queue or --view.")
            pairs = sorted(selection.pair_ids)
            number = len(tag_pairs(workspace.store, pairs, name, who, remove))
            verb = "no longer have" if remove else "now have"
            words = f"{number:,} of {count_of(len(pairs), 'pair')} {verb} the tag."
        tags = workspace.review.tags(dataset_id)
        emit({"changed": number, "tags": tags}, as_json, words)
