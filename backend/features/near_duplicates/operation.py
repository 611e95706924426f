"""`duplicates`: groups of near-duplicate pictures."""

from typing import TYPE_CHECKING

from pydantic import Field

from backend.features.near_duplicates.report import DuplicatesReport
from backend.operations.operation import Operation
from backend.options import Options
from backend.progress import Progress

if TYPE_CHECKING:
    from backend.operations.context import Context


class DuplicatesOptions(Options):
    """Find groups of near duplicates in the whole dataset, by the vectors stored by scoring.

    Every picture in a group is similar to the first one. Removing a copy says nothing about its
    caption: it does not count towards precision and trains no classifier. Pairs that already have a
    verdict are left alone. All changes are one step: press Z on the page to undo them.
    """

    threshold: float = Field(0.98, ge=0.8, le=1)
    """Minimum similarity of pictures: the cosine of their vectors, 0.8 to 1. Default: 0.98."""


def run(
    context: "Context", dataset_id: int, options: DuplicatesOptions, progress: Progress
) -> DuplicatesReport:
    from backend.features.near_duplicates.finding import find_groups

    engine = context.engines.of_dataset(dataset_id)
    return find_groups(context.store, engine, dataset_id, progress, options.threshold)


DUPLICATES = Operation(
    "duplicates",
    "Comparing pictures",
    DuplicatesOptions,
    run,
    uses=("duplicates of {dataset}",),
    activity="Finding near duplicates in",
)
