"""`train` and `adopt`: learn from verdicts, and rank by what was learnt."""

from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from backend.jobs.scoring_reports import TrainReport
from backend.operations.operation import Operation
from backend.options import Options, switch
from backend.progress import Progress

if TYPE_CHECKING:
    from backend.operations.context import Context


class TrainOptions(Options):
    """Train the detector on the verdicts so far; compare with the one in use.

    A new order is used only if it ranks held-out pairs drawn at random no worse; otherwise only the
    level of the probabilities is learnt, and the exit status is 11.
    """

    seed: int = Field(0, ge=0)
    """Of the folds of the comparison. Default: 0."""
    without_captioner: Annotated[bool, switch("without-captioner")] = False
    """Ignore the captioner, whose sign may point the wrong way: what a similar model wrote, it
    expects. Training again without this takes it back."""
    without_opinion: Annotated[bool, switch("without-opinion")] = False
    """Ignore the second opinion. Training again without this takes it back."""


class AdoptOptions(Options):
    """Rank a dataset by one of its classifiers."""

    classifier_id: int
    """The classifier."""


def train(
    context: "Context", dataset_id: int, options: TrainOptions, progress: Progress
) -> TrainReport:
    from backend.engine.detection.paying_signs import CAPTIONER, OPINION
    from backend.jobs import retrain

    engine = context.engines.of_dataset(dataset_id)
    switches = {CAPTIONER: options.without_captioner, OPINION: options.without_opinion}
    without = tuple(sign for sign, is_off in switches.items() if is_off)
    return retrain.train_candidate(
        context.store, engine, dataset_id, progress, options.seed, without
    )


def adopt(
    context: "Context", dataset_id: int, options: AdoptOptions, progress: Progress
) -> dict[str, int]:
    return {"pairs": context.adopt(options.classifier_id, progress)}


TRAIN = Operation(
    "train", "Training", TrainOptions, train, is_for_all=True, activity="Learning to find errors in"
)
ADOPT = Operation(
    "adopt",
    "Ranking",
    AdoptOptions,
    adopt,
    uses=("ranking of {dataset}",),
    is_started_by_kind=False,
)
