"""`import`, `download`, `export`, `datasets`: get datasets in and out, list, rename and delete
them.
"""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from pydantic import Field
from rich.markup import escape

from backend.cli.commands import as_command
from backend.cli.output import (
    confirm,
    console,
    emit,
    log_unexpected,
    open_dataset,
    open_workspace,
    print_left_out,
    progress,
    results,
    say_which_model,
)
from backend.counts import count_of, counted
from backend.datasets.read_options import is_address
from backend.datasets.reading.caption_fields import chosen_names
from backend.errors import SettingsError, TracedError, explain
from backend.jobs.dataset_reports import ImportReport
from backend.jobs.export_choice import ExportChoice, NewSplits, is_shares
from backend.jobs.export_steps import options_of
from backend.operations.common_options import AsJson, Common, Database, Dataset
from backend.operations.export import EXPORT, ExportOptions
from backend.operations.import_ import IMPORT, ImportOptions
from backend.operations.registry import OPERATIONS
from backend.options import CommandLine, Setting, switch
from backend.progress import Progress
from backend.settings import load_settings

if TYPE_CHECKING:
    from backend.datasets.writing.hub_upload import HubDataset
    from backend.workspace import Workspace

datasets = typer.Typer(
    name="datasets",
    help="The datasets in the database: list, rename, delete, guidelines.",
    no_args_is_help=True,
)
NAME = Annotated[str, typer.Argument(help="The dataset's name in the database.")]


@datasets.command("list")
@as_command
def list_datasets(db: Database = None, as_json: AsJson = False) -> None:
    """All datasets."""
    summaries = open_workspace(load_settings({"database": db})).datasets()
    lines = "\n".join(
        f"{s.name}: {count_of(s.total, 'pair')}, {s.scored:,} scored, {s.reviewed:,} reviewed, "
        f"{count_of(s.problems, 'row')} left out; {s.source}"
        for s in summaries
    )
    emit({"datasets": summaries}, as_json, lines or "There are no datasets.")


@datasets.command("rename")
@as_command
def rename(
    name: NAME, new: Annotated[str, typer.Argument(help="The new name.")], db: Database = None
) -> None:
    """Give a dataset another name."""
    workspace = open_workspace(load_settings({"database": db}))
    workspace.rename_dataset(workspace.find(name), new)
    results.print(f"'{escape(name)}' is now called '{escape(new.strip())}'.")


@datasets.command("relocate")
@as_command
def relocate(
    name: NAME,
    path: Annotated[
        Path,
        typer.Argument(help="The folder that holds its pictures now, or its table in that folder."),
    ],
    db: Database = None,
    as_json: AsJson = False,
) -> None:
    """Say where a dataset's files are after they were moved. Some of its pictures are looked for
    there; verdicts and scores stay."""
    workspace = open_workspace(load_settings({"database": db}))
    relocation = workspace.relocate_dataset(workspace.find(name), path)
    emit(relocation, as_json, relocation.in_words())


@datasets.command("guidelines")
@as_command
def guidelines(
    name: NAME,
    set_from: Annotated[
        Path | None,
        typer.Option("--set", metavar="FILE", help="A Markdown file (UTF-8) whose text becomes the "
                     "guidelines. An empty file removes them."),
    ] = None,
    db: Database = None,
) -> None:  # fmt: skip
    """Show or set a dataset's guidelines, which the review page displays next to each pair."""
    workspace, dataset_id = open_dataset(name, database=db)
    if set_from is None:
        results.print(escape(workspace.guidelines(dataset_id)))
        return
    from backend.review.pair_selection import read_text

    workspace.set_guidelines(dataset_id, read_text(set_from))
    results.print(f"The guidelines of '{escape(name)}' are set.")


@datasets.command("delete")
@as_command
def delete(
    name: NAME,
    keep: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Where to save the verdicts. Default: the folder "
                     "'deleted' in the data folder."),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    db: Database = None,
    as_json: AsJson = False,
) -> None:  # fmt: skip
    """Delete a dataset from the database, with its scores and suggestions. Its verdicts are saved
    to a file first; the files that you imported are never modified."""
    workspace, dataset_id = open_dataset(name, database=db)
    going = workspace.deletion_preview(dataset_id)
    losses = (
        f"'{going.name}': {count_of(going.pairs, 'pair')} with scores ({going.scored:,}) "
        f"and suggestions will be deleted. {counted(going.reviewed, 'pair has', 'pairs have')} a "
        "verdict; "
        f"what was recorded ({count_of(going.acts, 'action')}) is saved to a file. "
        f"{going.about_images}"
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


class ImportCommand(ImportOptions):
    no_id_column: bool = False
    """No column holds pair ids: they are derived from image and caption."""
    strict: Annotated[bool, switch("strict")] = False
    """Exit with status 3 if any row was left out."""
    first_look: Annotated[bool | None, switch("first-look"), Setting("first_look")] = None
    """Afterwards look for faults of captions, and, of a dataset that is not scored, whether the
    captions of the first rows stand beside the right pictures. Default: yes; Ctrl-C ends it, and
    the import stays."""


def import_(options: ImportCommand, common: Common) -> None:
    if options.no_id_column:
        if options.id_column is not None:
            raise SettingsError("Give --id-column or --no-id-column, not both.")
        options = options.model_copy(update={"id_column": ""})
    workspace = open_workspace(load_settings(common.settings() | options.settings()))
    with progress(IMPORT.title) as advance:
        report = _import(workspace, options, advance)
    asks = (
        options.update == "ask"
        and (report.changes.changed or report.unproved)
        and sys.stdin.isatty()
        and not common.as_json
    )
    if asks and confirm(
        f"{report.changes.in_words()} Take the changed rows? Verdicts stay; their captions are "
        "scored again."
    ):
        taking = options.model_copy(update={"update": "take"})
        with progress(IMPORT.title) as advance:
            report_of_changes = _import(workspace, taking, advance)
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
    print_left_out(report.first_problems, report.problems)
    if not common.as_json:
        emit(report, False, report.in_words())
    if refusal:
        say_which_model(refusal, report.name)
    looks: list[str] = []
    try:
        for words in _look_first(workspace, report):
            looks.append(words)
            if not common.as_json:
                results.print(escape(words), soft_wrap=True)
    finally:  # also after Ctrl-C: the import stays
        if common.as_json:
            emit(replace(report, first_look=tuple(looks)), True, "")
    if (options.strict and report.problems) or report.added + report.already_there == 0:
        raise typer.Exit(3)


def _look_first(workspace: "Workspace", imported: ImportReport) -> Iterator[str]:
    """What follows an import, in words. The import stays, whatever fails here."""
    jobs, dataset_id = workspace.jobs, imported.dataset_id
    has_new = imported.added > 0 or (imported.update == "take" and imported.changes.changed > 0)
    looks = [(each, each.options()) for each in jobs.following_import(dataset_id)]
    if has_new and workspace.settings.first_look:
        own = [(each, each.after_import) for each in OPERATIONS.values()]
        looks = [(each, options) for each, options in own if options is not None] + looks
    for operation, options in looks:
        try:
            with progress(operation.title) as advance:
                report = operation.run(jobs, dataset_id, options, advance)
        except Exception as problem:
            if not isinstance(problem, TracedError):
                log_unexpected(problem)
            yield f"{operation.title} has failed: {explain(problem, 'terminal')}"
        else:
            yield report.in_words()


def _import(workspace: "Workspace", options: ImportOptions, advance: Progress) -> ImportReport:
    update = "keep" if options.update == "ask" else options.update
    return workspace.jobs.import_dataset(
        options.path, options.name, advance, update, options.gone, options.reading()
    )


class ExportCommand(ExportOptions):
    split: list[str] | None = None
    """Only pairs of this split; may be given several times. '' for pairs without one. Or shares,
    such as 80/10/10: new splits for training, validation and test, drawn by --seed."""
    together: list[str] | None = None
    """With shares in --split: what is in one split, beside pairs of one picture: a column of the
    source, whose equal values stay together, or what a feature knows of pictures, by its name. May
    be given several times, or with commas between."""
    ids: Annotated[Path | None, CommandLine(metavar="FILE")] = None
    """Only the pairs whose ids are in this file, one id per line."""
    seed: int | None = Field(None, ge=0)
    """Of what is drawn at random, such as new splits. Default: 0."""
    push_to_hub: Annotated[str | None, CommandLine(metavar="OWNER/NAME")] = None
    """Upload it to the Hugging Face hub as well, private unless --public. Asks first."""
    public: bool = False
    """With --push-to-hub: make it public."""
    yes: bool = False
    """With --push-to-hub: do not ask."""
    dry_run: Annotated[bool, switch("dry-run")] = False
    """Only count, write nothing."""


def export(dataset: Dataset, options: ExportCommand, common: Common) -> None:
    workspace, dataset_id = open_dataset(dataset, **common.settings())
    choice = export_choice(workspace, dataset_id, options)
    counts = workspace.jobs.export_counts(dataset_id, choice)
    if counts.level_note:
        console.print(f"[yellow]Note:[/] {escape(counts.level_note)}")
    if options.dry_run:
        emit(counts, common.as_json, f"{counts.in_words()} Nothing written.")
        return
    hub = None
    if options.push_to_hub is not None:
        from backend.datasets.writing.hub_upload import look_up

        if is_address(options.out):
            raise SettingsError("--push-to-hub uploads from a folder: name one, not an address.")
        hub = look_up(options.push_to_hub, options.format, options.public)
        _confirm_push(hub, counts.kept, options.yes)
    with progress(EXPORT.title) as update:
        report = workspace.jobs.export(
            dataset_id, choice, options.out, options.format, options.overwrite, update,
            **options_of(options),
        )  # fmt: skip
    words = report.in_words()
    if hub is not None:
        from backend.datasets.writing.hub_upload import push

        push(Path(report.out), hub)
        words += f" Uploaded to {hub.url}."
    print_left_out(report.first_unreadable)
    emit(report, common.as_json, words)


def export_choice(workspace: "Workspace", dataset_id: int, options: ExportCommand) -> ExportChoice:
    """What to keep, with the pairs and the new splits that the options name."""
    from backend.review.pair_selection import read_ids

    ids = read_ids(options.ids) if options.ids is not None else None
    shares = [each for each in options.split or () if is_shares(each)]
    old_splits = tuple(each for each in options.split or () if each not in shares)
    only = workspace.review.select_pairs(dataset_id, options.queue, options.view, old_splits, ids)
    new_splits = _new_splits(shares, options)
    return options.choice.model_copy(update={"only": only, "new_splits": new_splits})


def _new_splits(shares: Sequence[str], options: ExportCommand) -> NewSplits | None:
    if not shares:
        if options.together:
            raise SettingsError("--together goes with shares in --split, such as 80/10/10.")
        if options.seed is not None:
            raise SettingsError("--seed goes with shares in --split, such as 80/10/10.")
        return None
    if len(shares) > 1 or options.choice.keep_pictures_together:
        raise SettingsError(
            "New splits are one set of shares, such as --split 80/10/10; the pairs of a picture "
            "are together in them without --keep-pictures-together."
        )
    return NewSplits.parse(
        {
            "shares": shares[0],
            "seed": options.seed or 0,
            "together": chosen_names(",".join(options.together or ())),
        }
    )


def _confirm_push(hub: "HubDataset", pairs: int, yes: bool) -> None:
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
