"""`side-by-side`: two captioners over all their pictures."""

from typing import TYPE_CHECKING, Annotated

from backend.operations.operation import Operation
from backend.options import Options, switch
from backend.progress import Progress

if TYPE_CHECKING:
    from backend.features.side_by_side.comparison import SideBySide
    from backend.operations.context import Context


class SideBySideOptions(Options):
    """Compare two captioners of the same pictures: whose caption is likelier right, by the chances
    of error, and by people's verdicts where both were judged.

    Captions that are likelier wrong than the other's get a tag, `likelier wrong: NAME`, which is a
    queue; tags of an earlier run are replaced. No share is told of fewer than 30 pictures.
    """

    first: str | None = None
    """A captioner, as the column names it. Default: the one with the most captions."""
    second: str | None = None
    """The other one. Default: the next."""
    by: str | None = None
    """The column of the source that names them. Default: writer, or the field that a caption was
    read from."""
    tag: Annotated[bool, switch("tag")] = True
    """Tag the pairs."""


def run(
    context: "Context", dataset_id: int, options: SideBySideOptions, progress: Progress
) -> "SideBySide":
    from backend.features.side_by_side import comparison

    return comparison.compare(
        context.store, dataset_id, context.settings.author if options.tag else None, options.first,
        options.second, options.by, progress,
    )  # fmt: skip


SIDE_BY_SIDE = Operation(
    "side-by-side",
    "Comparing captioners",
    SideBySideOptions,
    run,
    uses=("tags of {dataset}",),
    is_private=True,
    is_command=True,
    activity="Comparing captioners of",
)
