"""The command `edit`."""

from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from backend.cli.output import emit, one_line, open_dataset, progress
from backend.counts import count_of, counts_in_words
from backend.errors import SettingsError
from backend.operations.common_options import Author, Common
from backend.options import ARGUMENT, Options

if TYPE_CHECKING:
    from backend.review.views import EditView

#: Longer than on the page, where an edit holds up the reviewers.
_MOST_SECONDS = 3600.0


class EditCommand(Options):
    """Edit many captions at once: find and replace, a prefix or a suffix, mend faults, take out
    vague sentences.

    An edit is not a verdict: undecided pairs stay undecided, and verdicts are kept. The source
    files are never modified; exports contain the new text. All changes are one step: undo them
    with --undo, or by pressing Z on the page.
    """

    dataset: Annotated[str, ARGUMENT]
    """Name in the database."""
    find: str = ""
    """Text to replace wherever it occurs."""
    replace: str = ""
    """The replacement. Default: nothing."""
    regex: bool = Field(
        False, description="--find is a regular expression; --replace may name its groups: \\1."
    )
    ignore_case: bool = False
    """Ignore case."""
    prefix: str = ""
    """Added to the start of each caption that does not begin with it yet."""
    suffix: str = ""
    """Added to the end of each caption that does not end with it yet."""
    remove_vague: bool = False
    """Take out sentences and tags that describe nothing visible, of scored captions that have
    others."""
    mend: str = ""
    """Mend a fault of captions by its name, such as loop or markup; an unknown name lists those
    that can be mended."""
    queue: str = ""
    """Only these pairs, as in a queue's address after the ?: 'text=colour&review=all'. Default: the
    whole dataset."""
    view: str | None = None
    """Only the pairs of a saved view."""
    dry_run: bool = False
    """Count the changes and show the first; change nothing."""
    undo: bool = False
    """Undo your latest edit of the dataset instead."""
    author: Author = None


def edit(options: EditCommand, common: Common) -> None:
    from backend.features.bulk_edit.applying import BulkEdit
    from backend.features.bulk_edit.editing import edit_queue

    workspace, dataset_id = open_dataset(options.dataset, **common.settings(), **options.settings())
    if options.undo:
        undone = workspace.review.undo_edit(dataset_id)
        if undone is None:
            raise SettingsError("There is no edit to undo.")
        words = f"Undone: the edit of {count_of(undone.together, 'caption')}."
        emit(undone, common.as_json, words)
        return
    everything = {"review": "all", "order": "position"}
    fields = workspace.review.queue_fields(dataset_id, options.queue, options.view) or everything
    change = BulkEdit(
        options.find, options.replace, options.regex, options.ignore_case, options.prefix,
        options.suffix, options.remove_vague, options.mend,
    )  # fmt: skip
    with progress("Editing") as update:
        report = edit_queue(
            workspace.store,
            workspace.review.filter_of(dataset_id, fields),
            change,
            None if options.dry_run else workspace.settings.author,
            progress=update,
            seconds=_MOST_SECONDS,
        )
    emit(report, common.as_json, summary(report, options.dry_run))


def summary(done: "EditView", dry_run: bool) -> str:
    """A summary of the changes, with the first examples."""
    lines = [
        one_line(line)
        for example in done.examples
        for line in (example.external_id, f"  - {example.before}", f"  + {example.after}")
    ]
    verb = "would change" if dry_run else "changed"
    rest = counts_in_words(
        (
            (done.unchanged, f"{'has' if done.unchanged == 1 else 'have'} nothing to change"),
            (
                done.left_alone,
                f"{'is' if done.left_alone == 1 else 'are'} removed, vague or not sure",
            ),
            (done.refused, "would be empty, or identical to the caption that was judged wrong"),
            (
                done.passed_over,
                f"{'was' if done.passed_over == 1 else 'were'} decided by others meanwhile",
            ),
        )
    )
    return "\n".join(
        [*lines, f"{done.changed:,} of {done.looked_at:,} captions {verb}. {rest}"]
    ).rstrip()


COMMANDS = {"edit": edit}
