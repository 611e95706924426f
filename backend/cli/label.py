"""`label`: verdicts from a file of labels."""

from pathlib import Path
from typing import Annotated

import typer

from backend.cli.options import AS_JSON, DATABASE
from backend.cli.output import emit, open_workspace, reported
from backend.errors import SettingsError
from backend.settings import load_settings


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

        workspace = open_workspace(load_settings({"database": db}))
        dataset_id = workspace.find(dataset)
        path = file.expanduser()
        if undo:
            undone = undo_labels(workspace.store, dataset_id, path.name)
            if undone is None:
                raise SettingsError(f"No label of '{path.name}' is in effect.")
            emit(undone, as_json, f"Undone: {undone.together:,} labels of {path.name}.")
            return
        report = apply_labels(
            workspace.store, dataset_id, path, id_column, verdict_column, one_means, preview=dry_run
        )
        emit(report, as_json, "\n".join(report_lines(report)))
