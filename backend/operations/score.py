"""`score` and `estimate`: find the captions that look wrong, and what that takes."""

from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from backend.jobs.reports import ScoreReport
from backend.operations.common_options import Captioner, Model, Trajectories
from backend.operations.operation import Operation
from backend.options import NOT_TYPED, Options, switch
from backend.progress import Progress

if TYPE_CHECKING:
    from backend.operations.context import Context


class EstimateOptions(Options):
    """Estimate what scoring takes: time, disk and memory, measured on 20 pairs of the dataset."""

    suggestions: Annotated[bool, switch("suggestions")] = Field(
        True, description="Prepare corrections for the pairs that look wrong."
    )
    anyway: bool = Field(
        False,
        description="Also score pictures of a kind that the model does not know, such as "
        "photographs by the embedded one. Remembered with the dataset.",
    )
    model: Model = None
    captioner: Captioner = None
    trajectories: Trajectories = None


class ScoreOptions(EstimateOptions):
    """Compute trajectories, probability of error, suspect words and ICC of every pair.

    Stop it at any time: the same command resumes where it stopped.
    """

    download: Annotated[bool, NOT_TYPED] = Field(
        False, description="Download model and captioner first if they are not on the machine."
    )
    anew: Annotated[bool, NOT_TYPED] = Field(
        False, description="Train the detector that the settings name, unless a curator chose one."
    )


def prepare(context: "Context", dataset_id: int, options: Any) -> Any:
    """Refuses a model to those who may not choose one."""
    if options.model or options.captioner not in (None, "auto", "none"):
        context.check_may_choose_models()
    return options


def run(
    context: "Context", dataset_id: int, options: ScoreOptions, progress: Progress
) -> ScoreReport:
    """With one process for each idle core where that pays."""
    from backend.jobs.workers import AUTOMATIC

    return context.score(dataset_id, progress, devices=AUTOMATIC, **dict(options))


def estimate(
    context: "Context", dataset_id: int, options: EstimateOptions, progress: Progress
) -> dict[str, Any]:
    """The same for an estimate, with its sum."""
    from dataclasses import asdict

    from backend.jobs.workers import AUTOMATIC

    report = context.estimate(dataset_id, progress, devices=AUTOMATIC, **dict(options))
    return asdict(report) | {"seconds": report.seconds}


SCORE = Operation("score", "Scoring", ScoreOptions, run, prepare)
ESTIMATE = Operation("estimate", "Measuring", EstimateOptions, estimate, prepare, uses=("models",))
