"""`measure`: the numbers of a measure that is a function of caption and picture."""

from typing import TYPE_CHECKING, Annotated

from backend.jobs.scoring_reports import MeasureReport
from backend.operations.operation import Operation
from backend.options import CommandLine, Options
from backend.progress import Progress

if TYPE_CHECKING:
    from backend.operations.context import Context


class MeasureOptions(Options):
    """Compute a measure for all pairs that lack it. Its numbers can be sorted and filtered by, and
    are exported. Stop it at any time: the same command resumes."""

    measure: Annotated[str, CommandLine(is_argument=True, is_required=True)] = ""
    """Name of a measure that no scoring computes: x_picture_text, or one of a plug-in."""


def run(
    context: "Context", dataset_id: int, options: MeasureOptions, progress: Progress
) -> MeasureReport:
    from backend.jobs import measure_captions

    return measure_captions.measure_captions(
        context.store, dataset_id, progress, measure=options.measure
    )


MEASURE = Operation(
    "measure",
    "Measuring",
    MeasureOptions,
    run,
    uses=("{measure} of {dataset}",),
    is_command=True,
    activity="Measuring the captions of",
)
