"""`quality`: issues of pictures."""

from typing import TYPE_CHECKING

from backend.features.quality.report import PictureQualityReport
from backend.operations.operation import Operation
from backend.options import Options
from backend.progress import Progress

if TYPE_CHECKING:
    from backend.operations.context import Context


class QualityOptions(Options):
    """Find pictures that are dark, bright, blurry, of odd size or shape, low in information, or
    exact or near duplicates, with CleanVision. The dataset need not be scored.

    Stop it at any time: the same command resumes where it stopped. Filter the queue by the results
    with picture=dark and so on.
    """


def run(
    context: "Context", dataset_id: int, options: QualityOptions, progress: Progress
) -> PictureQualityReport:
    from backend.features.quality import picture_quality

    return picture_quality.measure_pictures(context.store, dataset_id, progress)


QUALITY = Operation(
    "quality",
    "Looking at pictures",
    QualityOptions,
    run,
    is_command=True,
    activity="Checking the pictures of",
    button="Check the quality of its pictures",
    advice="Filter the queue by “Picture is”.",
)
