"""`datasets`: list, rename and delete the datasets in the database, and set their guidelines."""

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from backend.cli.options import AS_JSON, DATABASE
from backend.cli.output import confirm, console, emit, open_workspace, reported, results
from backend.datasets.regular_files import read_regular
from backend.errors import SettingsError
from backend.settings import load_settings

datasets = typer.Typer(
    name="datasets",
    help="The datasets in the database: list, rename, delete, guidelines.",
    no_args_is_help=True,
)
NAME = Annotated[str, typer.Argument(help="The dataset's name in the database.")]


@datasets.command("list")
def list_datasets(db: DATABASE = None, as_json: AS_JSON = False) -> None:
    """All datasets."""
    with reported(as_json):
        summaries = open_workspace(load_settings({"database": db})).datasets()
        lines = "\n".join(
            f"{s.name}: {s.total:,} pairs, {s.scored:,} scored, {s.reviewed:,} reviewed, "
            f"{s.problems:,} rows left out; {s.source}"
            for s in summaries
        )
        from backend.review.views import DatasetsView

        emit(DatasetsView(tuple(summaries)), as_json, lines or "There are no datasets.")


@datasets.command("rename")
def rename(
    name: NAME,
    new: Annotated[str, typer.Argument(help="The new name.")],
    db: DATABASE = None,
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
    db: DATABASE = None,
    as_json: AS_JSON = False,
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
    db: DATABASE = None,
) -> None:  # fmt: skip
    """Show or set a dataset's guidelines, which the review page displays next to each pair."""
    with reported(False):
        workspace = open_workspace(load_settings({"database": db}))
        dataset_id = workspace.find(name)
        if set_from is None:
            results.print(escape(workspace.guidelines(dataset_id)))
            return
        try:
            text = read_regular(set_from.expanduser()).decode("utf-8-sig")
        except OSError as problem:
            raise SettingsError(
                f"'{set_from}' cannot be read: {problem.strerror or problem}."
            ) from problem
        except UnicodeDecodeError as problem:
            raise SettingsError(f"'{set_from}' is not UTF-8. Save it as UTF-8.") from problem
        workspace.set_guidelines(dataset_id, text)
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
    db: DATABASE = None,
    as_json: AS_JSON = False,
) -> None:  # fmt: skip
    """Delete a dataset from the database, with its scores and suggestions. Its verdicts are saved
    to a file first; your image files and tables are never modified."""
    with reported(as_json):
        workspace = open_workspace(load_settings({"database": db}))
        dataset_id = workspace.find(name)
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
