"""`snapshot`, `diff`, `restore`: named states of a dataset."""

from typing import TYPE_CHECKING, Annotated

from backend.operations.operation import Operation
from backend.options import ARGUMENT, CommandLine, Options
from backend.progress import Progress

if TYPE_CHECKING:
    from backend.features.snapshots.comparing import DiffReport, RestoreReport, SnapshotReport
    from backend.operations.context import Context


class SnapshotOptions(Options):
    """Give the present state of a dataset a name: its captions, verdicts and splits. Without a
    name, list the snapshots.

    The history of verdicts is kept anyway, so a snapshot takes little more room than the captions;
    pictures are not copied.
    """

    name: Annotated[str, ARGUMENT] = ""
    """Name of the snapshot."""
    delete: bool = False
    """Delete this snapshot instead; pairs and verdicts stay as they are."""


def take(
    context: "Context", dataset_id: int, options: SnapshotOptions, progress: Progress
) -> "SnapshotReport":
    from backend.features.snapshots import comparing

    author = context.reader or context.settings.author
    return comparing.snapshot(context.store, dataset_id, options.name, author, options.delete)


class DiffOptions(Options):
    """Compare two snapshots of a dataset, or one with the dataset as it is now: pairs added and
    gone, captions word by word, verdicts and splits."""

    before: Annotated[str, CommandLine(is_argument=True, is_required=True)]
    """Name of the earlier snapshot."""
    after: Annotated[str, ARGUMENT] = ""
    """Name of the later one. Default: the dataset as it is now."""


def compare(
    context: "Context", dataset_id: int, options: DiffOptions, progress: Progress
) -> "DiffReport":
    from backend.features.snapshots import comparing

    return comparing.diff(context.store, dataset_id, options.before, options.after, progress)


class RestoreOptions(Options):
    """Put the verdicts and corrected captions of a snapshot in effect again.

    Nothing is deleted: verdicts given since stay in the history, and --undo, or Z on the page, puts
    them in effect again. What the source says of captions and splits stays as it is, and so do
    pairs that have come since.
    """

    name: Annotated[str, CommandLine(is_argument=True, is_required=True)]
    """Name of the snapshot."""
    dry_run: bool = False
    """Count the pairs that would change; change nothing."""


def bring_back(
    context: "Context", dataset_id: int, options: RestoreOptions, progress: Progress
) -> "RestoreReport":
    """Raises SettingsError for a curator who may not settle what others have decided."""
    from backend.features.snapshots import comparing

    context.check_may_settle("Only an adjudicator may restore a snapshot: it changes all verdicts.")
    author = context.reader or context.settings.author
    return comparing.restore(
        context.store, dataset_id, options.name, author, options.dry_run, progress
    )


SNAPSHOT = Operation(
    "snapshot", "Storing the state", SnapshotOptions, take, uses=(), is_command=True
)
DIFF = Operation(
    "diff", "Comparing", DiffOptions, compare, uses=(), is_private=True, is_command=True
)
RESTORE = Operation(
    "restore", "Restoring", RestoreOptions, bring_back, uses=("rules of {dataset}",)
)
