"""`support`: how far the picture supports each phrase of a caption."""

from typing import TYPE_CHECKING

from backend.features.phrases.report import SupportReport
from backend.operations.operation import Operation
from backend.options import Options
from backend.progress import Progress

if TYPE_CHECKING:
    from backend.operations.context import Context


class SupportOptions(Options):
    """Measure how far the image supports each phrase of a caption (our reading of Counterfactual
    Phrase Intervention)."""


def run(
    context: "Context", dataset_id: int, options: SupportOptions, progress: Progress
) -> SupportReport:
    from backend.features.phrases.measuring import measure_support

    engine = context.engines.of_dataset(dataset_id)
    return measure_support(context.store, engine, dataset_id, progress)


SUPPORT = Operation(
    "support",
    "Support",
    SupportOptions,
    run,
    activity="Measuring the support of phrases in",
    button="Measure the support of its phrases",
    advice="Sort the queue by 'empty phrases first'.",
    after_score=True,
)
