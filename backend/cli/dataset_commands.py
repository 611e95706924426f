"""`import`, `download`, `export`, `datasets`: get datasets in and out, list, rename and delete
them.
"""

import sys
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from backend.cli import options
from backend.cli.output import (
    confirm,
    console,
    emit,
    open_dataset,
    open_workspace,
    progress,
    reported,
    say_which_model,
)
from backend.cli.tag import BY, LEAST, SCORES, SEED
from backend.datasets.export_formats import EXPORT_FORMATS
from backend.datasets.read_options import DETECTED, ReadOptions, is_address
from backend.errors import DatasetFormatError, SettingsError
from backend.jobs.reports import ExportCounts, SourceChanges, count_of
from backend.settings import load_settings

if TYPE_CHECKING:
    from backend.datasets.hub_upload import HubDataset
    from backend.workspace import Workspace


from backend.cli.output import results
from backend.datasets.regular_files import typed_path

datasets = typer.Typer(
    name="datasets",
    help="The datasets in the database: list, rename, delete, guidelines.",
    no_args_is_help=True,
)
NAME = Annotated[str, typer.Argument(help="The dataset's name in the database.")]


@datasets.command("list")
def list_datasets(db: options.DATABASE = None, as_json: options.AS_JSON = False) -> None:
    """All datasets."""
    with reported(as_json):
        summaries = open_workspace(load_settings({"database": db})).datasets()
        lines = "\n".join(
            f"{s.name}: {count_of(s.total, 'pair')}, {s.scored:,} scored, {s.reviewed:,} reviewed, "
            f"{count_of(s.problems, 'row')} left out; {s.source}"
            for s in summaries
        )
        emit({"datasets": summaries}, as_json, lines or "There are no datasets.")


@datasets.command("rename")
def rename(
    name: NAME,
    new: Annotated[str, typer.Argument(help="The new name.")],
    db: options.DATABASE = None,
) -> None:
    """Give a dataset another name."""
    with reported(False):
        workspace = open_workspace(load_settings({"database": db}))
        workspace.rename_dataset(workspace.find(name), new)
        results.print(f"'{escape(name)}' is now called '{escape(new.strip())}'.")


@datasets.command("relocate")
def relocate(
    name: NAME,
    path: Annotated[
        Path,
        typer.Argument(help="The folder that holds its pictures now, or its table in that folder."),
    ],
    db: options.DATABASE = None,
    as_json: options.AS_JSON = False,
) -> None:
    """Say where a dataset's files are after they were moved. Some of its pictures are looked for
    there; verdicts and scores stay."""
    with reported(as_json):
        workspace = open_workspace(load_settings({"database": db}))
        moved = workspace.relocate_dataset(workspace.find(name), path)
        emit(
            moved, as_json,
            f"'{moved.name}' is in {moved.root} now: {moved.checked - moved.missing} of "
            f"{moved.checked} pictures checked are there.",
        )  # fmt: skip


@datasets.command("guidelines")
def guidelines(
    name: NAME,
    set_from: Annotated[
        Path | None,
        typer.Option("--set", metavar="FILE", help="A Markdown file (UTF-8) whose text becomes the "
                     "guidelines. An empty file removes them."),
    ] = None,
    db: options.DATABASE = None,
) -> None:  # fmt: skip
    """Show or set a dataset's guidelines, which the review page displays next to each pair."""
    with reported(False):
        workspace, dataset_id = open_dataset(name, database=db)
        if set_from is None:
            results.print(escape(workspace.guidelines(dataset_id)))
            return
        from backend.review.pair_selection import read_text

        workspace.set_guidelines(dataset_id, read_text(set_from))
        results.print(f"The guidelines of '{escape(name)}' are set.")


@datasets.command("delete")
def delete(
    name: NAME,
    keep: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Where to save the verdicts. Default: the folder "
                     "'deleted' in the data folder."),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    db: options.DATABASE = None,
    as_json: options.AS_JSON = False,
) -> None:  # fmt: skip
    """Delete a dataset from the database, with its scores and suggestions. Its verdicts are saved
    to a file first; your image files and tables are never modified."""
    with reported(as_json):
        workspace, dataset_id = open_dataset(name, database=db)
        going = workspace.deletion_preview(dataset_id)
        losses = (
            f"'{going.name}': {going.pairs:,} pairs with their scores ({going.scored:,}) and "
            f"suggestions will be deleted. {going.reviewed:,} pairs have a verdict; all "
            f"{going.acts:,} recorded actions are saved to a file. The images in {going.root} are "
            "kept."
        )
        if yes:
            console.print(escape(losses), soft_wrap=True)
        elif as_json:
            raise SettingsError("With --json there is no prompt: pass --yes as well.")
        elif not confirm(f"{losses}\nDelete it?"):
            raise SettingsError("Nothing was deleted.")
        deletion = workspace.delete_dataset(dataset_id, keep)
        where_verdicts_are = (
            f" Its verdicts are in {deletion.verdict_file}." if deletion.verdict_file else ""
        )
        emit(deletion, as_json, f"'{deletion.name}' is deleted.{where_verdicts_are}")


def import_(
    path: Annotated[
        str,
        typer.Argument(help="A folder of images with metadata.jsonl or metadata.csv, or with a "
                       "caption file beside each (a.jpg, a.txt); a CSV, TSV, JSON, JSONL or "
                       "Parquet file with an image path and a caption (or a conversation) per row; "
                       "WebDataset tars, .tar.gz, a zip, Parquet with images, a saved Hugging Face "
                       "dataset or a clone of one, hf:OWNER/NAME[@SUBSET][:REVISION] from the hub, "
                       "or an address such as s3://BUCKET/FOLDER."),
    ],
    name: Annotated[
        str | None, typer.Option(help="Name in the database. Default: the folder's or file's name.")
    ] = None,
    image_column: options.IMAGE_COLUMN = None,
    caption_column: options.CAPTION_COLUMN = None,
    id_column: options.ID_COLUMN = None,
    no_id_column: options.NO_ID_COLUMN = False,
    split_column: options.SPLIT_COLUMN = None,
    image_root: options.IMAGE_ROOT = None,
    encoding: options.ENCODING = None,
    delimiter: options.DELIMITER = None,
    subset: options.SUBSET = None,
    caption_from: options.CAPTION_FROM = None,
    captions_per_line: options.CAPTIONS_PER_LINE = False,
    uncaptioned: options.UNCAPTIONED = False,
    language: options.LANGUAGE = None,
    update: Annotated[
        str, typer.Option(help="Rows that changed since the last import: keep the pairs as they "
                               "are, take the new captions and splits (verdicts stay), or ask on a "
                               "terminal, else keep.")
    ] = "ask",
    gone: Annotated[
        str, typer.Option(help="Pairs whose rows are gone since the last import: keep them, or "
                               "hide them from queue and export until they come back.")
    ] = "keep",
    top: Annotated[
        int | None,
        typer.Option(min=1, max=1_000_000, metavar="N", help="PATH is what score --out has "
                     "written: import only its N most suspicious pairs, with their scores."),
    ] = None,
    above: Annotated[
        float | None,
        typer.Option(min=0, max=1, help="The same: those with at least this probability of error."),
    ] = None,
    sample: Annotated[
        str | None,
        typer.Option(metavar="SHARE", help="The same: a random share of all, such as 1%, to "
                     "estimate how many errors remain (see progress)."),
    ] = None,
    strict: Annotated[
        bool, typer.Option(help="Exit with status 3 if any row was left out.")
    ] = False,
    db: options.DATABASE = None,
    as_json: options.AS_JSON = False,
) -> None:  # fmt: skip
    """Import a dataset. Bad rows are listed and left out; the good ones are imported."""
    with reported(as_json):
        if no_id_column and id_column is not None:
            raise SettingsError("Give --id-column or --no-id-column, not both.")
        workspace = open_workspace(load_settings({"database": db}))
        read_options = ReadOptions(
            image_column=image_column, caption_column=caption_column,
            id_column="" if no_id_column else id_column, split_column=split_column,
            image_root=image_root, encoding=encoding,
            delimiter="\t" if delimiter == "\\t" else delimiter, subset=subset,
            caption_from=caption_from, captions_per_line=captions_per_line, language=language,
            uncaptioned=uncaptioned,
        )  # fmt: skip
        if top is not None or above is not None or sample is not None:
            if (read_options, update, gone) != (DETECTED, "ask", "keep"):
                raise SettingsError(
                    "--top, --above and --sample import what is scored; how the source is read and "
                    "compared was decided then. Leave the other options out."
                )
            _import_drawn(workspace, path, name, top, above, sample, strict, as_json)
            return
        import_rows = partial(
            workspace.jobs.import_dataset, path, name=name, gone=gone, options=read_options
        )
        with progress("Reading pairs") as advance:
            report = import_rows(progress=advance, update="keep" if update == "ask" else update)
        asks = (
            update == "ask"
            and (report.changes.changed or report.unproved)
            and sys.stdin.isatty()
            and not as_json
        )
        if asks and confirm(
            f"{_compared(report.changes).strip()} Take the changed rows? Verdicts stay; their "
            "captions are scored again."
        ):
            with progress("Reading pairs") as advance:
                report_of_changes = import_rows(progress=advance, update="take")
            report = replace(report_of_changes, added=report.added, changes=report.changes)
        with progress("Checking the model") as advance:
            advance(0, 0, "Checking whether the model knows such pictures")
            refusal = workspace.jobs.needs_model(report.dataset_id)
        report = replace(report, asks_for_model=refusal)
        for note in report.notes:
            console.print(f"[cyan]note[/] {escape(note)}")
        if report.update != "take" and (report.changes.changed or report.unproved):
            console.print("To take the changes, import again with --update take.")
        if report.changes.gone and not report.hidden:
            console.print("To hide what is gone, import again with --gone hide.")
        for problem in report.first_problems:
            row = f", row {problem.row}" if problem.row is not None else ""
            console.print(f"[yellow]left out[/] {escape(problem.file)}{row}: "
                          f"{escape(problem.message)}")  # fmt: skip
        hidden = report.problems - len(report.first_problems)
        if hidden > 0:
            console.print(f"… and {hidden} more; *Add data* in the app lists all.")
        emit(
            report, as_json,
            f"Dataset '{report.name}': {count_of(report.added, 'pair')} added, "
            f"{report.already_there} there already, {count_of(report.problems, 'row')} left out."
            + _compared(report.changes),
        )  # fmt: skip
        if refusal:
            say_which_model(refusal, report.name)
        if (strict and report.problems) or report.added + report.already_there == 0:
            raise typer.Exit(3)


def _import_drawn(
    workspace: "Workspace",
    destination: str,
    name: str | None,
    top: int | None,
    above: float | None,
    sample: str | None,
    strict: bool,
    as_json: bool,
) -> None:
    from backend.jobs.import_drawn import Draw, import_drawn
    from backend.jobs.second_opinion import share_of

    if [top, above, sample].count(None) != 2:
        raise SettingsError("Give one of --top, --above and --sample.")
    draw = Draw(top, above, share_of(sample) if sample is not None else None)
    with progress("Importing") as advance:
        report = import_drawn(workspace.store, destination, draw, workspace.settings, name, advance)
    for problem in report.first_problems:
        console.print(f"[yellow]left out[/] {escape(problem.message)}")
    emit(
        report, as_json,
        f"Dataset '{report.name}': {report.added} of {report.pairs:,} pairs added with their "
        f"scores, {report.already_there} were there already, {report.problems} left out.",
    )  # fmt: skip
    if strict and report.problems:
        raise typer.Exit(DatasetFormatError.exit_status)


def _compared(changes: SourceChanges) -> str:
    """The counts of a comparison with the last import, as a sentence; "" if there was none."""
    counts = asdict(changes)
    if not any(counts.values()):
        return ""
    counts_by_kind = ", ".join(f"{number:,} {kind}" for kind, number in counts.items())
    return f" Compared with the last import: {counts_by_kind}."


def download(
    table: Annotated[
        Path, typer.Argument(help="Parquet, CSV, TSV or JSONL with an image URL and a caption per "
                                  "row, such as LAION's.")
    ],
    out: Annotated[Path, typer.Argument(help="Folder for the images; import it afterwards.")],
    limit: Annotated[int | None, typer.Option(min=1, help="Maximum number of rows.")] = None,
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds per image.")] = 20.0,
    megabytes: Annotated[float, typer.Option(min=0.01, help="Maximum size of an image.")] = 30.0,
    url_column: Annotated[
        str | None, typer.Option(help="Column with the URLs. Default: detected by name.")
    ] = None,
    caption_column: options.CAPTION_COLUMN = None,
    as_json: options.AS_JSON = False,
) -> None:  # fmt: skip
    """Download the images whose URLs are listed in a table.

    Stop it at any time: the same command resumes where it stopped. This is the only command that
    requests URLs from a dataset; those that do not resolve to a public address are refused.
    """
    with reported(as_json):
        from backend.datasets.fetching import Limits
        from backend.jobs.download_images import download as run

        with progress("Downloading") as update:
            report = run(
                table, typed_path(out), Limits(timeout, int(megabytes * 1e6)), limit, url_column,
                caption_column, update,
            )  # fmt: skip
        emit(
            report, as_json,
            f"{count_of(report.written, 'image')} in {report.folder}, {report.already_there} "
            f"already done, {report.failed} failed (failures.jsonl says why). Next: "
            f"python app.py import {report.folder}",
        )  # fmt: skip


def export(
    dataset: Annotated[str, typer.Argument(help="Name in the database.")],
    out: Annotated[
        str,
        typer.Argument(help="Output folder, or an address such as s3://BUCKET/FOLDER; it must not "
                       "exist yet."),
    ],
    format: Annotated[
        str, typer.Option(help=f"One of {', '.join(EXPORT_FORMATS)}.")
    ] = "imagefolder",
    queue: Annotated[
        str, typer.Option("--queue", help="Only these pairs, as in a queue's address after the ?: "
                          "'p_error_to=0.5&review=all'. Without review=…: unreviewed ones, as on "
                          "the page."),
    ] = "",
    view: Annotated[
        str | None, typer.Option("--view", help="Only the pairs of a saved view, by name.")
    ] = None,
    split: Annotated[
        list[str] | None,
        typer.Option("--split", help="Only pairs of this split; may be given several times. '' for "
                     "pairs without one."),
    ] = None,
    ids: Annotated[
        Path | None,
        typer.Option("--ids", metavar="FILE", help="Only the pairs whose ids are in this file, one "
                                                   "id per line."),
    ] = None,
    drop_above: Annotated[
        float | None,
        typer.Option(min=0.0, max=1.0, help="Leave out undecided pairs whose probability of error "
                     "is above this."),
    ] = None,
    abstract: Annotated[
        str, typer.Option(help="Pairs decided 'abstract': 'leave out', 'tag' or 'keep'.")
    ] = "leave out",
    dropped: Annotated[
        str, typer.Option(help="Pairs decided 'wrong: drop': 'leave out' or 'tag'.")
    ] = "leave out",
    unsure: Annotated[
        str, typer.Option(help="Pairs decided 'unsure': 'keep' or 'leave out'.")
    ] = "keep",
    specificity_below: Annotated[
        float | None,
        typer.Option(max=0.0, help="Captions with a specificity below this are generic (see score "
                     "--specificity)."),
    ] = None,
    generic: Annotated[
        str, typer.Option(help="With --specificity-below: 'tag' or 'leave out'.")
    ] = "tag",
    decided_only: Annotated[bool, typer.Option(help="Only pairs with a verdict.")] = False,
    captions: Annotated[
        str,
        typer.Option("--captions", help="'decided': as curators left them, accepted enrichments "
                                        "included; 'enriched': also suggested enrichments, "
                                        "unchecked, where no verdict says otherwise. The column "
                                        "caption_kind says which is which."),
    ] = "decided",
    align: Annotated[
        float | None,
        typer.Option("--align", help="Select undecided pairs in two stages, see the select "
                     "command: the share with the highest match. Default with --keep: 0.7."),
    ] = None,
    keep: Annotated[
        float | None,
        typer.Option("--keep", help="… then the share of the whole to keep. Default with --align: "
                                    "0.5."),
    ] = None,
    by: Annotated[str, BY] = "support",
    least_phrases: Annotated[int, LEAST] = 0,
    seed: Annotated[int, SEED] = 0,
    scores: Annotated[Path | None, SCORES] = None,
    select: Annotated[
        str, typer.Option("--select", help="Pairs that are not selected: 'leave out' or 'tag'.")
    ] = "leave out",
    decisions: Annotated[
        bool,
        typer.Option("--decisions", help="Write only a table of what would happen to each pair "
                     "(shard, id, keep, caption) to the file OUT (.parquet, .csv or .jsonl), for "
                     "select --decisions."),
    ] = False,
    overwrite: Annotated[
        bool, typer.Option(help="Replace an earlier export; other files in its folder are kept.")
    ] = False,
    push_to_hub: Annotated[
        str | None,
        typer.Option("--push-to-hub", metavar="OWNER/NAME", help="Upload it to the Hugging Face "
                     "hub as well, private unless --public. Asks first."),
    ] = None,
    public: Annotated[
        bool, typer.Option("--public", help="With --push-to-hub: make it public.")
    ] = False,
    yes: Annotated[
        bool, typer.Option("--yes", help="With --push-to-hub: do not ask.")
    ] = False,
    dry_run: Annotated[bool, typer.Option(help="Only count, write nothing.")] = False,
    db: options.DATABASE = None,
    as_json: options.AS_JSON = False,
) -> None:  # fmt: skip
    """Write the cleaned dataset, corrections applied, with a card that says what was removed."""
    from backend.datasets.hub_upload import look_up, push
    from backend.jobs.reports import ExportChoice, TwoStage
    from backend.review.pair_selection import read_ids

    with reported(as_json):
        workspace, dataset_id = open_dataset(dataset, database=db)
        options.one_queue(queue, view)
        only = workspace.review.select_pairs(
            dataset_id, queue, view, split or (), read_ids(ids) if ids is not None else None
        )
        two_stage = None
        if (
            align is None
            and keep is None
            and (by != "support" or least_phrases or seed or scores or select == "tag")
        ):
            raise SettingsError(
                "--by, --least-phrases, --seed, --scores and --select go with --align or --keep."
            )
        if align is not None or keep is not None:
            if select not in ("leave out", "tag"):
                raise SettingsError(
                    f"'{select}' is not a valid choice for --select: use 'leave out' or 'tag'."
                )
            # The given splits contain the training pairs; the default is that of select.
            thinned = tuple(split) if split else workspace.review.split_for(dataset_id, None)
            two_stage = TwoStage(
                0.7 if align is None else align, 0.5 if keep is None else keep, by, least_phrases,
                thinned, select == "tag", seed, str(scores.expanduser()) if scores else "",
            )  # fmt: skip
        choice = ExportChoice(
            drop_above, abstract, dropped, unsure, specificity_below, generic, decided_only, only,
            two_stage, captions,
        )  # fmt: skip
        counts = workspace.jobs.export_counts(dataset_id, choice)
        if counts.level_note:
            console.print(f"[yellow]Note:[/] {escape(counts.level_note)}")
        if dry_run:
            emit(counts, as_json, f"{_summary(counts)} Nothing written.")
            return
        if decisions:
            from backend.jobs.export_dataset import write_decisions

            file = typed_path(out)
            rows = write_decisions(workspace.store, dataset_id, choice, file)
            emit(counts, as_json, f"{_summary(counts)} {rows} decisions written to {file}.")
            return
        hub = None
        if push_to_hub is not None and is_address(out):
            raise SettingsError("--push-to-hub uploads from a folder: name one, not an address.")
        if push_to_hub is not None:
            hub = look_up(push_to_hub, format, public)
            _agreed(hub, counts.kept, yes)
        with progress("Writing") as update:
            report = workspace.jobs.export(
                dataset_id, choice, out, format, overwrite=overwrite, progress=update
            )
        pushed = ""
        if hub is not None:
            push(Path(report.out), hub)
            pushed = f" Uploaded to {hub.url}."
        for problem in report.first_unreadable:
            console.print(f"[yellow]left out[/] {escape(problem.external_id or problem.file)}: "
                          f"{escape(problem.message)}")  # fmt: skip
        emit(report, as_json, f"{_summary(report.counts)} Written to {report.out}.{pushed}")


def _summary(counts: ExportCounts) -> str:
    left_out = sum(counts.left_out.values())
    reasons = "; ".join(f"{number:,} {why}" for why, number in sorted(counts.left_out.items()))
    return (
        f"{count_of(counts.total, 'pair')}: {counts.kept} stay ({counts.corrected} corrected, "
        f"{counts.edited} edited in bulk, {counts.enriched} enriched, "
        f"{counts.tagged} tagged), {left_out} left out" + (f" ({reasons})." if reasons else ".")
    )


def _agreed(hub: "HubDataset", pairs: int, yes: bool) -> None:
    """Ask whether the pairs may leave this machine. Raises SettingsError if the user declines, or
    if there is no terminal to ask on."""
    if yes:
        return
    what = "private" if hub.private else "PUBLIC"
    existing = f", which already has {count_of(hub.files, 'file')}" if hub.exists else ""
    question = (
        f"Upload {count_of(pairs, 'pair')} with their images to {hub.url} ({what}){existing}?"
    )
    if not sys.stdin.isatty():
        raise SettingsError(f"{question} Cannot ask without a terminal: pass --yes.")
    if not confirm(question):
        raise SettingsError("Nothing was written, and nothing uploaded.")
