"""`edit`: edit many captions at once."""

from typing import TYPE_CHECKING, Annotated

import typer

from backend.cli.options import AS_JSON, DATABASE, one_queue
from backend.cli.output import emit, one_line, open_dataset, progress, reported
from backend.errors import SettingsError
from backend.jobs.reports import count_of

if TYPE_CHECKING:
    from backend.review.views import EditView

#: Longer than on the page, where an edit holds up the reviewers.
_MOST_SECONDS = 3600.0


def edit(
    dataset: Annotated[str, typer.Argument(help="Name in the database.")],
    find: Annotated[str, typer.Option(help="Text to replace wherever it occurs.")] = "",
    replace: Annotated[str, typer.Option(help="The replacement. Default: nothing.")] = "",
    regex: Annotated[
        bool, typer.Option("--regex", help="--find is a regular expression; --replace may name its "
                           "groups: \\1.")
    ] = False,
    ignore_case: Annotated[bool, typer.Option("--ignore-case", help="Ignore case.")] = False,
    prefix: Annotated[
        str, typer.Option(help="Added to the start of each caption that does not begin with it "
                               "yet.")
    ] = "",
    suffix: Annotated[
        str, typer.Option(help="Added to the end of each caption that does not end with it yet.")
    ] = "",
    remove_vague: Annotated[
        bool, typer.Option("--remove-vague", help="Take out sentences and tags that describe "
                           "nothing visible, of scored captions that have others.")
    ] = False,
    queue: Annotated[
        str, typer.Option(help="Only these pairs, as in a queue's address after the ?: "
                          "'text=colour&review=all'. Default: the whole dataset.")
    ] = "",
    view: Annotated[str | None, typer.Option(help="Only the pairs of a saved view.")] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Count the changes and show the first; change "
                                             "nothing.")
    ] = False,
    undo: Annotated[
        bool, typer.Option("--undo", help="Undo your latest edit of the dataset instead.")
    ] = False,
    author: Annotated[str | None, typer.Option(help="Name recorded with the edit.")] = None,
    db: DATABASE = None,
    as_json: AS_JSON = False,
) -> None:  # fmt: skip
    """Edit many captions at once: find and replace, a prefix or a suffix, no vague sentences.

    An edit is not a verdict: undecided pairs stay undecided, and verdicts are kept. The source
    files are never modified; exports contain the new text. All changes are one step: undo them
    with --undo, or by pressing Z on the page.
    """
    from backend.review.verdicts import edit_captions

    with reported(as_json):
        from backend.engine.bulk_edit import BulkEdit

        one_queue(queue, view)
        workspace, dataset_id = open_dataset(dataset, database=db, author=author)
        if undo:
            undone_edit = workspace.review.undo_edit(dataset_id)
            if undone_edit is None:
                raise SettingsError("There is no edit to undo.")
            emit(
                undone_edit,
                as_json,
                f"Undone: the edit of {count_of(undone_edit.together, 'caption')}.",
            )
            return
        fields = workspace.review.queue_fields(dataset_id, queue, view)
        everything = {"review": "all", "order": "position"}
        change = BulkEdit(find, replace, regex, ignore_case, prefix, suffix, remove_vague)
        with progress("Editing") as update:
            done = edit_captions(
                workspace.store,
                workspace.review.filter_of(dataset_id, fields or everything),
                change,
                None if dry_run else workspace.settings.author,
                progress=update,
                seconds=_MOST_SECONDS,
            )
        emit(done, as_json, summary(done, dry_run))


def summary(done: "EditView", dry_run: bool) -> str:
    """A summary of the changes, with the first examples."""
    lines = [
        one_line(line)
        for example in done.examples
        for line in (example.external_id, f"  - {example.before}", f"  + {example.after}")
    ]
    verb = "would change" if dry_run else "changed"
    rest = [
        f"{count:,} {what}"
        for count, what in (
            (done.unchanged, "have nothing to change"),
            (done.left_alone, "are decided drop, abstract or unsure"),
            (done.refused, "would be empty, or identical to the caption that was judged wrong"),
            (done.passed_over, "were decided by others meanwhile"),
        )
        if count
    ]
    return "\n".join(
        [*lines, f"{done.changed:,} of {done.looked_at:,} captions {verb}. " + "; ".join(rest)]
    ).rstrip()
