"""`map`: similar pictures near each other."""

from typing import TYPE_CHECKING

from backend.features.picture_map.report import MapReport
from backend.operations.operation import Operation
from backend.options import Options
from backend.progress import Progress

if TYPE_CHECKING:
    from backend.operations.context import Context


class MapOptions(Options):
    """Draw a map of a scored dataset's pictures: t-SNE of the vectors stored by scoring.

    The Map page displays it; drawing around points there makes a queue of them. A new map replaces
    the old one and the regions drawn on it.
    """


def run(context: "Context", dataset_id: int, options: MapOptions, progress: Progress) -> MapReport:
    from backend.features.picture_map.drawing import draw_map

    engine = context.engines.of_dataset(dataset_id)
    return draw_map(context.store, engine, dataset_id, progress)


MAP = Operation(
    "map",
    "Drawing the map",
    MapOptions,
    run,
    uses=("map of {dataset}",),
    is_command=True,
    activity="Drawing the map of",
)
