"""`score`, `train`, `progress`: compute probabilities of error and report the review's progress."""

from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field, create_model
from rich.markup import escape

from backend import plugins
from backend.cli.commands import Continuation, EarlyReport, ScoreFile, ScoreStep
from backend.cli.output import (
    console,
    emit,
    open_dataset,
    open_workspace,
    print_left_out,
    progress,
)
from backend.counts import count_of, counted
from backend.datasets.safe_files.regular_files import typed_path
from backend.engine.trajectories.depth import ALL
from backend.errors import ONLY_LEVEL, NotScored, SettingsError
from backend.jobs.export_steps import TABLE_ENDINGS
from backend.jobs.scoring_reports import ScoreReport
from backend.operations.common_options import (
    Common,
    Concreteness,
    Dataset,
    Detector,
    Device,
    Explorer,
    Kind,
    Model,
    Precision,
    Source,
)
from backend.operations.operation import Operation
from backend.operations.registry import OPERATIONS
from backend.operations.retrain import TRAIN, TrainOptions
from backend.operations.score import ESTIMATE, SCORE, ScoreOptions
from backend.options import CommandLine, ComposedOptions, Options, Setting, switch
from backend.settings import load_settings

if TYPE_CHECKING:
    from backend.jobs.scoring.workers import Devices
    from backend.workspace import Workspace


#: The value of --detector that ranks as before.
PREVIOUS = "previous"


class Method(Options):
    """How captions are edited and scored."""

    explorer: Explorer = None
    unit: Annotated[str | None, Setting("unit")] = None
    """What elimination deletes: word or token. Default: word."""
    lazy: Annotated[int | None, CommandLine(metavar="M"), Setting("lazy")] = Field(None, ge=1)
    """After its first step elimination only tries the M words whose deletion gained most so far:
    faster, an approximation. Default: all words, exactly."""
    direction: Annotated[str | None, Setting("direction")] = None
    """maximise or minimise the score. Default: maximise."""
    steps: Annotated[int | None, Setting("steps")] = None
    """Steps T of gcd and fast-gcd. Default: 10."""
    replacements: Annotated[int | None, Setting("top")] = None
    """Replacements K per position. Default: 128."""
    candidates: Annotated[int | None, Setting("candidates")] = None
    """Candidates N per step of gcd. Default: 256."""
    any_token: Annotated[bool, switch("any-token")] = False
    """Replacements may be any token, not only whole words."""
    seed: Annotated[int | None, Setting("seed")] = None
    """Seed of gcd's random samples. Default: 0."""
    lemon: Annotated[str | None, Setting("lemon")] = None
    """LEMoN's weights: fix, or fitted to this dataset's verdicts: opt (by F1, as published), auc.
    Default: fix."""
    detector: Detector = None

    def settings(self) -> dict[str, Any]:
        return super().settings() | {"whole_words": False if self.any_token else None}


def _measured_by(operation: Operation[Any]) -> ScoreStep:
    """A measurement right after scoring, by an option of its name."""
    about = " ".join((operation.options.__doc__ or "").split())
    option: Any = (bool, Field(False, description=f"Also {about[:1].lower()}{about[1:]}"))
    options = create_model(
        f"_{operation.name}", __base__=ComposedOptions, **{operation.name: option}
    )

    def begin(workspace: "Workspace", dataset_id: int, options: Options) -> Continuation | None:
        if not getattr(options, operation.name):
            return None
        return lambda update: workspace.jobs.run(operation.name, dataset_id, update)

    return ScoreStep(operation.name, operation.title, options, begin)


#: What can follow scoring: measurements, then what features and other packages add.
_STEPS = (
    *(_measured_by(operation) for operation in OPERATIONS.values() if operation.after_score),
    *plugins.load("score_steps", ScoreStep),
)

#: What features and other packages write of scores, by the ending of the file.
_FILES: dict[str, ScoreFile] = {}


def _add_file(file: ScoreFile) -> None:
    if file.ending in (*TABLE_ENDINGS, *_FILES):
        raise ValueError(f"There is a file of scores that ends in '{file.ending}' already.")
    own = {"rows_written", *(field.name for field in fields(ScoreReport))}
    if file.name in own | {other.name for other in (*_FILES.values(), *_STEPS)}:
        raise ValueError(f"What is reported has a part '{file.name}' already.")
    _FILES[file.ending] = file


plugins.load("score_files", ScoreFile, _add_file)
_OUT = (
    "Also write one row per pair (id, caption, s_0, p_error, icc, specificity, suspects) to this "
    f"{TABLE_ENDINGS[0]}, {TABLE_ENDINGS[1]} or {TABLE_ENDINGS[2]} file"
    + "".join(f"; or to a {file.ending} file {file.about}" for file in _FILES.values())
)


class ScoreCommand(ScoreOptions):
    out: str | None = Field(None, description=f"{_OUT}.")
    features: Path | None = None
    """Also write every feature that the detectors read, one row per pair, to this .jsonl, .parquet
    or .csv file."""
    estimate: bool = False
    """Only estimate the cost: time, disk and memory, measured on 20 pairs of the dataset."""
    scorer: Kind = None
    concreteness: Concreteness = None
    device: Device = None
    precision: Precision = None
    method: Method = Method()
    devices: str | None = None
    """The processes of this machine that compute, each with its own copy of the models: auto (with
    a small model, one per idle core where that pays), cpu (this process alone), cpu,cpu (two
    processes), all (one per GPU), or a list such as cuda:0,cuda:1. Default: auto."""

    def where(self) -> "Devices":
        """The processes that compute."""
        from backend.jobs.scoring.workers import AUTOMATIC, Devices

        if self.devices in (None, "auto"):
            return AUTOMATIC
        from backend.engine.scoring.loading import choose_devices

        return Devices(choose_devices(self.devices))


#: What is no setting, so that the engine does not say it.
_CHOICES = ("suggestions", "anyway", "constant", "constants")
_FIELDS: dict[str, Any] = {step.name: (step.options, step.options()) for step in _STEPS}
_FurtherOptions = create_model("_FurtherOptions", __base__=ComposedOptions, **_FIELDS)


def score(dataset: Source, options: ScoreCommand, further: Any, common: Common) -> int:
    from backend.jobs import export_scores

    settings = {**common.settings(), **options.settings()}
    out, detector = options.out, options.method.detector
    if detector == PREVIOUS and out is None:
        _use_previous(dataset, common)
        return 0
    workspace_settings = load_settings(settings)
    where = options.where()
    workspace = open_workspace(workspace_settings)
    table = typed_path(out) if out is not None else None
    features = typed_path(options.features) if options.features is not None else None
    if table is not None:
        export_scores.check(table, (*_FILES, *TABLE_ENDINGS))
    if features is not None:
        export_scores.check(features)
    file = _FILES.get(table.suffix) if table is not None else None
    dataset_id = workspace.find_or_import(dataset)
    steps: list[tuple[ScoreStep, Continuation]] = []
    for step in _STEPS:
        rest = step.begin(workspace, dataset_id, getattr(further, step.name))
        if isinstance(rest, EarlyReport):
            emit(rest.report, common.as_json, rest.report.in_words())
            return 0
        if rest is not None:
            steps.append((step, rest))
    if file is not None and file.check is not None:
        file.check(workspace.store, dataset_id, {step.name for step, _ in steps})
    choices = {name: getattr(options, name) for name in _CHOICES}
    if options.estimate:
        with progress(ESTIMATE.title) as update:
            estimate = workspace.jobs.estimate(dataset_id, update, where, **choices)
        emit(estimate, common.as_json, estimate.in_words())
        return 0
    if caveat := workspace.engines.of_dataset(dataset_id).scorer.info.limits:
        console.print(f"[yellow]Note:[/] {escape(caveat)}")
    with progress(SCORE.title) as update:
        report = workspace.jobs.score(
            dataset_id, update, where, anew=detector is not None, **choices
        )
    results: dict[str, Any] = dict.fromkeys(step.name for step in _STEPS)
    for step, run in steps:
        with progress(step.title) as update:
            results[step.name] = run(update)
        for message in getattr(results[step.name], "notes", ()):
            if message != caveat:
                console.print(f"[yellow]Note:[/] {escape(message)}")
    rows = None
    files: dict[str, Any] = dict.fromkeys(each.name for each in _FILES.values())
    if table is not None and file is not None:
        files[file.name] = file.write(workspace.store, dataset_id, table)
    elif table is not None:
        rows = export_scores.write(workspace.store, dataset_id, table)
    if features is not None:
        export_scores.write_features(workspace.store, dataset_id, features)
    print_left_out(report.first_unreadable)
    others = (*results.values(), *files.values())
    reports = [report, *(each for each in others if each is not None)]
    words = "\n".join(each.in_words() for each in reports)
    if report.unknown:
        words += "\n--anyway also scores pictures that the model does not know."
    if report.trajectories != ALL:
        words += "\n--trajectories all completes all of them."
    if rows is not None:
        words += f"\n{count_of(rows, 'row')} written to {table}"
    emit({**vars(report), **results, "rows_written": rows, **files}, common.as_json, words)
    if report.unreadable and not report.scored + report.skipped:
        console.print(
            "No picture could be read. If they were moved: python app.py datasets relocate "
            f"{escape(dataset)} FOLDER."
        )
        return NotScored.exit_status
    return 0


score.__annotations__ |= {"further": _FurtherOptions}


def _use_previous(dataset: str, common: Common) -> None:
    """Rank the dataset by the detector that was stored before the one in use, which stays."""
    workspace, dataset_id = open_dataset(dataset, **common.settings())
    detectors = workspace.jobs.classifiers(dataset_id)
    in_use = next((row for row in detectors if row.active), None)
    earlier = [row for row in detectors if in_use is not None and row.id < in_use.id]
    if in_use is None or not earlier:
        raise SettingsError(f"No other detector has ranked '{dataset}' before.")
    before = max(earlier, key=lambda row: row.id)
    with progress("Ranking") as update:
        pairs = workspace.jobs.adopt(before.id, update)
    words = (
        f"{count_of(pairs, 'pair')} ranked by '{before.name}'. '{in_use.name}' is kept: use it "
        "again under Learn from my verdicts."
    )
    report = {"dataset_id": dataset_id, "classifier_id": before.id, "name": before.name,
              "pairs": pairs}  # fmt: skip
    emit(report, common.as_json, words)


class TrainCommand(TrainOptions):
    adopt: Annotated[bool, switch("adopt")] = False
    """Adopt the new classifier immediately."""
    model: Model = None
    scorer: Kind = None
    device: Device = None
    detector: Detector = None


def train(dataset: Dataset, options: TrainCommand, common: Common) -> int:
    workspace, dataset_id = open_dataset(dataset, **common.settings(), **options.settings())
    with progress(TRAIN.title) as update:
        fields = {name: getattr(options, name) for name in TrainOptions.model_fields}
        report = workspace.jobs.run("train", dataset_id, update, **fields)
    if options.adopt:
        workspace.jobs.adopt(report.classifier_id)
    in_use = (
        "In use now."
        if options.adopt
        else "Not in use yet: run again with --adopt, or decide under Learn from my verdicts."
    )
    emit(report, common.as_json, f"{report.in_words()}\n{in_use}")
    return 0 if report.report["learnt"] == "order" else ONLY_LEVEL


def progress_(dataset: Dataset, common: Common) -> None:
    """How far the review has come, and how many errors remain."""
    from backend.review.charts import progress_of

    workspace = open_workspace(load_settings(common.settings()))
    view = progress_of(workspace.store, workspace.find(dataset))
    errors = counted(view.errors_found, "was an error", "were errors")
    summary = f"{view.reviewed} of {view.total} reviewed, {errors}. {view.left.in_words()}"
    if (whole := view.whole) is not None:
        summary += f" It is a random sample of {whole.pairs:,} pairs in {whole.source}"
        if whole.remaining is None:
            summary += ": review it in the order 'check a random sample' to know about them."
        else:
            remaining = whole.remaining
            summary += (
                f", of which about {remaining.errors:,.0f} are wrong and not found yet "
                f"({remaining.low:,.0f} to {remaining.high:,.0f}, 95 %), from "
                f"{remaining.sample} pairs."
            )
    notices = (notice.in_words() for notice in view.notices)
    emit(view, common.as_json, "\n".join((summary, *notices)))
