"""`tag`, `label`, `select`: people's words on pairs, verdicts from a file, pairs for training."""

from pathlib import Path
from typing import Annotated

from rich.markup import escape

from backend.cli.output import console, emit, open_dataset, progress
from backend.errors import SettingsError
from backend.jobs.reports import count_of
from backend.operations.common_options import Author, Common, Dataset
from backend.operations.select import SELECT, SelectOptions
from backend.options import ARGUMENT, CommandLine, Options


def select(dataset: Dataset, options: SelectOptions, common: Common) -> None:
    workspace, dataset_id = open_dataset(dataset, **common.settings())
    with progress(SELECT.title) as update:
        report = SELECT.run(workspace.jobs, dataset_id, options, update)
    for note in report.notes:
        console.print(f"[yellow]Note:[/] {escape(note)}")
    emit(report, common.as_json, report.in_words())


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
    from backend.review.labels import apply_labels, report_lines, undo_labels

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


class TagCommand(Options):
    """Tag pairs with your own words, such as a list of suspects of another program; list the tags.

    `tag=NAME` in a queue, the field *Tag* on the page and `export --queue tag=NAME` select them;
    exports have the tags in the column `own_tags`.
    """

    dataset: Annotated[str, ARGUMENT]
    """Name in the database."""
    name: Annotated[str, ARGUMENT] = ""
    """The tag. Without it, all tags are listed."""
    ids: Path | None = None
    """A file with the pairs' ids, one per line."""
    queue: str = ""
    """The pairs of a queue, as in its address after the ?."""
    view: str | None = None
    """The pairs of a saved view."""
    remove: bool = False
    """Take the tag from these pairs."""
    rename: Annotated[str | None, CommandLine(metavar="NEW")] = None
    """Give the tag another name; one that exists absorbs it."""
    author: Author = None


def tag(options: TagCommand, common: Common) -> None:
    from backend.review.pair_selection import read_ids, rename_tag, tag_pairs

    workspace, dataset_id = open_dataset(options.dataset, **common.settings(), **options.settings())
    name, who = options.name, workspace.settings.author
    if not name:
        tags = workspace.review.tags(dataset_id)
        lines = "\n".join(f"{tag}: {count_of(number, 'pair')}" for tag, number in tags.items())
        emit({"changed": 0, "tags": tags}, common.as_json, lines or "There are no tags.")
        return
    if options.rename is not None:
        number = len(rename_tag(workspace.store, dataset_id, name, options.rename, who)[0])
        words = f"{number:,} pairs now have the tag '{options.rename}'."
    else:
        ids = read_ids(options.ids) if options.ids is not None else None
        selection = workspace.review.select_pairs(dataset_id, options.queue, options.view, (), ids)
        if selection is None:
            raise SettingsError("Say which pairs: --ids FILE, --queue or --view.")
        pairs = sorted(selection.pair_ids)
        number = len(tag_pairs(workspace.store, pairs, name, who, options.remove))
        verb = "no longer have" if options.remove else "now have"
        words = f"{number:,} of {count_of(len(pairs), 'pair')} {verb} the tag."
    tags = workspace.review.tags(dataset_id)
    emit({"changed": number, "tags": tags}, common.as_json, words)
