"""`download` and `probe`: the models of this machine."""

from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from backend.operations.operation import Operation
from backend.options import ARGUMENT, Options
from backend.progress import Progress

if TYPE_CHECKING:
    from backend.operations.context import Context


ModelName = Annotated[
    str,
    Field(
        description="A preset (fast, balanced, large, thorough, multilingual, vlm, embedded), a "
        "hub name, a directory, or open_clip:ARCHITECTURE@PRETRAINED."
    ),
    ARGUMENT,
]


class ModelOptions(Options):
    """A model of this machine or of the hub."""

    model: ModelName


def prepare(context: "Context", dataset_id: int, options: ModelOptions) -> ModelOptions:
    context.check_may_choose_models()
    return options


def download(context: "Context", dataset_id: int, options: ModelOptions, progress: Progress) -> Any:
    return context.models.download(options.model, progress)


def probe(context: "Context", dataset_id: int, options: ModelOptions, progress: Progress) -> Any:
    return context.models.probe(options.model, progress)


DOWNLOAD = Operation(
    "download",
    "Downloading",
    ModelOptions,
    download,
    prepare,
    uses=("download of {model}",),
    is_started_by_kind=False,
    activity="Downloading the model",
)
PROBE = Operation(
    "probe",
    "Measuring",
    ModelOptions,
    probe,
    prepare,
    uses=("models",),
    is_started_by_kind=False,
    activity="Measuring the model",
)
