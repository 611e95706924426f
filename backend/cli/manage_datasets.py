"""`datasets`: list, rename and delete the datasets in the database, and set their guidelines."""

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from backend.cli.options import AS_JSON, DATABASE
from backend.cli.output import console, emit, open_workspace, reported, results
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
            print(workspace.guidelines(dataset_id))
            return
        try:
            text = set_from.expanduser().read_bytes().decode("utf-8-sig")
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
        going = workspace.what_goes(dataset_id)
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
        elif not typer.confirm(f"{losses}\nDelete it?", err=True):  # asked with --quiet as well
            raise SettingsError("Nothing was deleted.")
        gone = workspace.delete_dataset(dataset_id, keep)
        kept = f" Its verdicts are in {gone.verdict_file}." if gone.verdict_file else ""
        emit(gone, as_json, f"'{gone.name}' is deleted.{kept}")
