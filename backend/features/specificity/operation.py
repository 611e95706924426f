"""`specificity`: does a caption find its own picture?"""

from typing import TYPE_CHECKING

from backend.features.specificity.reports import SpecificityReport
from backend.operations.operation import Operation
from backend.options import Options
from backend.progress import Progress

if TYPE_CHECKING:
    from backend.operations.context import Context


class SpecificityOptions(Options):
    """Measure how specific each caption is: does it find its own picture among similar ones? Opens
    no image."""


def run(
    context: "Context", dataset_id: int, options: SpecificityOptions, progress: Progress
) -> SpecificityReport:
    from backend.features.specificity import measuring

    engine = context.engines.of_dataset(dataset_id)
    return measuring.measure_specificity(context.store, engine, dataset_id, progress)


SPECIFICITY = Operation(
    "specificity",
    "Specificity",
    SpecificityOptions,
    run,
    activity="Measuring the specificity of captions in",
    button="Measure how specific its captions are",
    after_score=True,
)
