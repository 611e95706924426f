"""The command `label`."""

from pathlib import Path
from typing import Annotated

from backend.cli.output import emit, open_dataset
from backend.counts import count_of
from backend.errors import SettingsError
from backend.operations.common_options import Common
from backend.options import ARGUMENT, Options


class LabelCommand(Options):
    """Give verdicts from a file of labels, with the file as their author.

    Verdicts that people have given here are never overwritten: conflicts are listed. 'wrong' is a
    label only: the pair stays in exports; 'drop' leaves it out. All labels are one step: take them
    back with --undo. `train` learns from them.
    """

    dataset: Annotated[str, ARGUMENT]
    """Name in the database."""
    file: Annotated[Path, ARGUMENT]
    """CSV, TSV, JSONL, JSON or Parquet with an id (or a picture's name), a verdict, and optionally
    a corrected caption and a note. Label Studio, Argilla and cleanlab write such files."""
    id_column: str | None = None
    """Column of the pairs' ids, or of the pictures' names. Default: by its name."""
    verdict_column: str | None = None
    """Column of the verdicts. Default: by its name."""
    one_means: str | None = None
    """What 1, true and yes mean: 'right' or 'wrong'. Default: as the column's name says, otherwise
    wrong."""
    at_random: bool = False
    """The labelled pairs were drawn at random from the dataset: a detector learns the most from
    them."""
    dry_run: bool = False
    """Count the labels, list the conflicts; change nothing."""
    undo: bool = False
    """Take back the verdicts of the file's newest labelling."""


def label(options: LabelCommand, common: Common) -> None:
    from backend.features.label_files.giving import apply_labels, report_lines, undo_labels

    workspace, dataset_id = open_dataset(options.dataset, **common.settings())
    path = options.file.expanduser()
    if options.undo:
        undone = undo_labels(workspace.store, dataset_id, path.name)
        if undone is None:
            raise SettingsError(f"No label of '{path.name}' is in effect.")
        words = f"Undone: {count_of(undone.together, 'label')} of {path.name}."
        emit(undone, common.as_json, words)
        return
    report = apply_labels(
        workspace.store, dataset_id, path, options.id_column, options.verdict_column,
        options.one_means, preview=options.dry_run, at_random=options.at_random,
    )  # fmt: skip
    emit(report, common.as_json, "\n".join(report_lines(report)))


COMMANDS = {"label": label}
