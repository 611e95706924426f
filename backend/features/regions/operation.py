"""`regions`: where in the picture the suspect words are."""

from typing import TYPE_CHECKING

from backend.operations.operation import Operation
from backend.options import Options
from backend.progress import Progress

if TYPE_CHECKING:
    from backend.features.regions.finding import RegionsReport
    from backend.operations.context import Context


class RegionsOptions(Options):
    """Find where in the pictures the top suspect words are, or that nothing there speaks for them.
    Exports, score files and programs have them as `regions`."""


def run(
    context: "Context", dataset_id: int, options: RegionsOptions, progress: Progress
) -> "RegionsReport":
    from backend.features.regions import finding

    engine = context.engines.of_dataset(dataset_id)
    return finding.find_regions(context.store, engine, dataset_id, progress)


REGIONS = Operation(
    "regions",
    "Regions",
    RegionsOptions,
    run,
    uses=("models",),
    activity="Looking for suspect words in the pictures of",
    button="Find suspect words in the pictures",
    advice="",
    after_score=True,
)
