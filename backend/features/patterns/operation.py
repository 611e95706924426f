"""`patterns`: what a writer of captions gets wrong more often than the rest."""

from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from backend.operations.operation import Operation
from backend.options import Options, switch
from backend.progress import Progress

if TYPE_CHECKING:
    from backend.features.patterns.search import PatternsReport
    from backend.operations.context import Context


class PatternsOptions(Options):
    """Find the blind spots of whoever wrote the captions: words, kinds of words, phrases and
    positions that are wrong more often than the writer's other captions, by the verdicts of people.

    Each comes with an exact interval and is tested against all the others at a false discovery
    rate. Its captions get a tag, `pattern: NAME`, which is a queue; tags of an earlier run are
    replaced. From verdicts on pairs drawn at random follows what one verdict for all would get
    right and wrong.
    """

    by: str | None = None
    """A column of the source that says who wrote a caption: a writer's captions are compared with
    the others of the same writer. Default: writer, where the import read that; empty: all are one
    writer's."""
    least: int = Field(5, ge=2)
    """Fewest judged captions that have a word or phrase, and that lack it. Default: 5."""
    rate: float = Field(0.1, gt=0, le=0.5)
    """The false discovery rate: the share of the patterns that may be chance. Default: 0.1."""
    tag: Annotated[bool, switch("tag")] = True
    """Tag the pairs."""


def run(
    context: "Context", dataset_id: int, options: PatternsOptions, progress: Progress
) -> "PatternsReport":
    from backend.features.patterns import search

    return search.find_blind_spots(
        context.store, dataset_id, context.settings.author if options.tag else None, options.by,
        options.least, options.rate, progress,
    )  # fmt: skip


PATTERNS = Operation(
    "patterns",
    "Looking for blind spots",
    PatternsOptions,
    run,
    uses=("tags of {dataset}",),
    is_private=True,
    is_command=True,
    activity="Looking for blind spots in",
)
