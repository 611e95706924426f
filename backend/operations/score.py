"""`score` and `estimate`: find the captions that look wrong, and what that takes."""

from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Annotated, Any

from backend.engine.claims.division import parse_division
from backend.engine.scoring.cleaning import parse_reading
from backend.engine.trajectories.depth import parse_depth
from backend.jobs.scoring_reports import ScoreReport
from backend.operations.common_options import Captioner, Claims, Model, Text, Trajectories
from backend.operations.operation import Operation
from backend.options import NOT_TYPED, CommandLine, Options, switch
from backend.progress import Progress

if TYPE_CHECKING:
    from backend.jobs.scoring.dataset_constants import ConstantChoice
    from backend.jobs.scoring.estimate import Estimate
    from backend.jobs.scoring.workers import Devices
    from backend.loaded_models import Engine
    from backend.operations.context import Context
    from db.queries.dataset_queries import DatasetRow


class EstimateOptions(Options):
    """Estimate what scoring takes: time, disk and memory, measured on 20 pairs of the dataset."""

    suggestions: Annotated[bool, switch("suggestions")] = True
    """Prepare corrections for the pairs that look wrong."""
    anyway: bool = False
    """Also score pictures of a kind that the model does not know, such as photographs by the
    embedded one. Remembered with the dataset."""
    model: Model = None
    captioner: Captioner = None
    trajectories: Trajectories = None
    claims: Claims = None
    text: Text = None
    constant: Annotated[tuple[str, ...], CommandLine(metavar="TEXT")] = ()
    """A part of the captions that says nothing about a picture, such as the trigger of a generator:
    models do not read it, and it is exported as it stands. Repeatable. Remembered with the
    dataset."""
    constants: Annotated[bool | None, switch("constants")] = None
    """Look for such parts in the captions and leave them out: words that are none, openings of
    language models, words of quality. Remembered with the dataset. Default: yes; --no-constants
    also forgets those stated before."""


class ScoreOptions(EstimateOptions):
    """Compute trajectories, chance of error, suspect words and ICC of every pair.

    Stop it at any time: the same command resumes where it stopped.
    """

    download: Annotated[bool, NOT_TYPED] = False
    """Download model and captioner first if they are not on the machine."""
    anew: Annotated[bool, NOT_TYPED] = False
    """Train the detector that the settings name, unless a curator chose one."""


def prepare(context: "Context", dataset_id: int, options: Any) -> Any:
    """Refuses a model to those who may not choose one."""
    if options.model or options.captioner not in (None, "auto", "none"):
        context.check_may_choose_models()
    return options


def run(
    context: "Context", dataset_id: int, options: ScoreOptions, progress: Progress
) -> ScoreReport:
    """With one process for each idle core where that pays."""
    from backend.jobs.scoring.workers import AUTOMATIC

    return score(context, dataset_id, options, progress, AUTOMATIC)


def score(
    context: "Context",
    dataset_id: int,
    options: ScoreOptions,
    progress: Progress,
    devices: "Devices | None" = None,
) -> ScoreReport:
    """With the dataset's own model and captioner, or with others, which become its own; see
    `backend.jobs.scoring.score_dataset.score_dataset`."""
    from backend.jobs import model_download, notices
    from backend.jobs.scoring import score_dataset
    from db.queries.dataset_queries import get_dataset

    dataset = context.store.read(get_dataset, dataset_id)
    engine = _engine(context, dataset, options)
    models = (options.model, engine.settings.captioner_model) if options.download else ()
    for name in models:
        if name and not context.models.view(name).is_here:
            model_download.download(name, progress)
    report = score_dataset.score_dataset(
        context.store, engine, dataset, progress, options.suggestions, devices, options.anyway,
        options.anew, _constant_choice(dataset, options),
    )  # fmt: skip
    if report.scored:
        notices.finish(context.store, engine, dataset_id, progress)
    sentences = notices.texts_of(notices.notices_of(context.store, dataset_id))
    return replace(report, warning=_warning(context, dataset_id, engine), notices=sentences)


def estimate(
    context: "Context",
    dataset_id: int,
    options: EstimateOptions,
    progress: Progress,
    devices: "Devices | None" = None,
) -> "Estimate":
    """What `score` would take with the same options; see `jobs.scoring.estimate`."""
    from backend.jobs.scoring import estimate
    from db.queries.dataset_queries import get_dataset

    dataset = context.store.read(get_dataset, dataset_id)
    engine = _engine(context, dataset, options)
    report = estimate.estimate(
        context.store, engine, dataset, progress, options.anyway, options.suggestions, devices
    )
    return replace(report, warning=_warning(context, dataset_id, engine))


def run_estimate(
    context: "Context", dataset_id: int, options: EstimateOptions, progress: Progress
) -> dict[str, Any]:
    """For this machine's idle cores, with the sum and in words."""
    from backend.jobs.scoring.workers import AUTOMATIC

    report = estimate(context, dataset_id, options, progress, AUTOMATIC)
    return asdict(report) | {"seconds": report.seconds, "in_words": report.in_words()}


def _constant_choice(dataset: "DatasetRow", options: EstimateOptions) -> "ConstantChoice | None":
    """None: as before."""
    from backend.jobs.scoring.dataset_constants import ConstantChoice, choice_in

    if not options.constant and options.constants is None:
        return None
    before = choice_in(dataset.models)
    is_off = options.constants is False
    stated = options.constant or (() if is_off else before.stated)
    are_searched = before.are_searched if options.constants is None else options.constants
    return ConstantChoice(stated, are_searched, () if is_off else before.judged)


def _warning(context: "Context", dataset_id: int, engine: "Engine") -> str:
    return context.warning_of(dataset_id, engine.settings.model, engine.settings.captioner_model)


def _engine(context: "Context", dataset: "DatasetRow", options: EstimateOptions) -> "Engine":
    """The dataset's engine, or that of another model. Raises SettingsError."""
    engine = context.engines.of_dataset(dataset, options.model)
    changes: dict[str, Any] = {"captioner": options.captioner} if options.captioner else {}
    if options.claims is not None:
        changes["claims"] = parse_division(options.claims)
    if options.text is not None:
        changes["text"] = parse_reading(options.text)
    elif "text" not in dataset.models:  # it was scored before models read as in their training
        changes["text"] = context.settings.text
    if options.trajectories is not None:
        changes["trajectories"] = parse_depth(options.trajectories).name
    return engine.with_settings(replace(engine.settings, **changes))


SCORE = Operation("score", "Scoring", ScoreOptions, run, prepare)
ESTIMATE = Operation(
    "estimate",
    "Measuring",
    EstimateOptions,
    run_estimate,
    prepare,
    uses=("models",),
    activity="Estimating the time for",
    advice="",
)
