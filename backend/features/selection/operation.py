"""`select`: pairs for training, in two stages."""

from typing import TYPE_CHECKING, Annotated

from backend.features.selection.options import TwoStage
from backend.operations.operation import Operation
from backend.options import Options, switch
from backend.progress import Progress

if TYPE_CHECKING:
    from backend.features.selection.report import SelectionReport
    from backend.operations.context import Context


class SelectOptions(Options):
    """Choose pairs for training: the best matches, then those whose phrases the image supports.

    Our reading of Counterfactual Phrase Intervention. Verdicts take precedence over the selection
    and do not count towards its shares; nothing is deleted. `export --align 0.7 --keep 0.5` writes
    the selected pairs.
    """

    stages: TwoStage = TwoStage()
    """What is kept."""
    split: str | None = None
    """Only pairs of this split take part. Default: train, if there is one; 'all' for every split.
    """
    name: str | None = None
    """Name of the view that is saved. Default: selected."""
    dry_run: Annotated[bool, switch("dry-run")] = False
    """Save no view."""


def run(
    context: "Context", dataset_id: int, options: SelectOptions, progress: Progress
) -> "SelectionReport":
    """What the selection keeps and loses; its thresholds are saved as a view of the queue."""
    from dataclasses import replace

    from backend.features.selection import selecting

    split = selecting.split_for(context.store, dataset_id, options.split)
    choice = options.stages.model_copy(update={"split": split})
    report = selecting.report_on(context.store, dataset_id, choice, progress)
    if options.dry_run:
        return report
    view = options.name or "selected"
    context.review.save_view(dataset_id, view, report.stays)
    return replace(report, view=view)


SELECT = Operation("select", "Selecting", SelectOptions, run, uses=("selection of {dataset}",))
