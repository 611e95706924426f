"""`score`, `train`, `progress`: compute probabilities of error and report the review's progress."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from pydantic import Field, create_model
from rich.markup import escape

from backend.cli.output import console, emit, open_dataset, open_workspace, progress
from backend.datasets.regular_files import typed_path
from backend.engine.trajectories.depth import ALL
from backend.errors import ONLY_LEVEL, NotScored, SettingsError
from backend.jobs.reports import count_of
from backend.operations.common_options import (
    Common,
    Concreteness,
    Dataset,
    Detector,
    Device,
    Explorer,
    Kind,
    Limits,
    Model,
    Precision,
    Source,
    Timeout,
)
from backend.operations.registry import OPERATIONS
from backend.operations.retrain import TRAIN, TrainOptions
from backend.operations.score import ESTIMATE, SCORE, ScoreOptions
from backend.options import CommandLine, Options, Setting, parse_share, switch
from backend.progress import duration
from backend.settings import load_settings

if TYPE_CHECKING:
    from backend.engine.language_models.spending import Spending
    from backend.jobs.reports import SecondOpinionPlan
    from backend.jobs.workers import Devices


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


class SecondOpinion(Options):
    """A model behind a server is asked about the most suspicious pairs."""

    second_opinion: Annotated[str | None, CommandLine(metavar="URL")] = None
    """Then ask a vision-language model behind an OpenAI-compatible server, such as
    http://localhost:8000/v1, whether the pictures of the most suspicious pairs show their captions.
    Pictures and captions are sent to it. Its key: OPENAI_API_KEY."""
    top: Annotated[str | None, CommandLine(metavar="SHARE")] = None
    """With --second-opinion: about which share of the pairs, such as 20%, the most suspicious
    first. Default: 20%."""
    second_model: Annotated[str | None, CommandLine(metavar="NAME")] = None
    """With --second-opinion: the model's name on the server. Default: the only one that it serves.
    """
    at_once: int = Field(4, ge=1, le=64)
    """With --second-opinion: questions in flight."""
    timeout: Timeout = None
    limits: Limits = Limits()


class ScoreCommand(ScoreOptions):
    out: str | None = None
    """Also write one row per pair (id, caption, s_0, p_error, icc, specificity, suspects) to this
    .jsonl, .parquet or .csv file."""
    features: Path | None = None
    """Also write every feature that the detectors read, one row per pair, to this .jsonl, .parquet
    or .csv file."""
    opinion: SecondOpinion = SecondOpinion()
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
        from backend.jobs.workers import AUTOMATIC, Devices

        if self.devices in (None, "auto"):
            return AUTOMATIC
        from backend.engine.scoring.loading import choose_devices

        return Devices(choose_devices(self.devices))


#: What can be measured right after scoring, each by an option of its name.
_MEASURED = [operation for operation in OPERATIONS.values() if operation.after_score]
_FIELDS: dict[str, Any] = {
    each.name: (bool, Field(False, description=each.after_score)) for each in _MEASURED
}
_Measurements = create_model("_Measurements", __base__=Options, **_FIELDS)


def score(dataset: Source, options: ScoreCommand, measurements: Any, common: Common) -> None:
    from backend.jobs import export_scores
    from backend.jobs import second_opinion as second_opinions

    settings = {**common.settings(), **options.settings()}
    out, detector = options.out, options.method.detector
    if detector == PREVIOUS and out is None:
        _use_previous(dataset, common)
        return
    loaded = load_settings(settings)
    opinion, as_json = options.opinion, common.as_json
    limits = opinion.limits.stated()
    if opinion.second_opinion is None and opinion.top is not None:
        raise SettingsError(
            "--top is the share of pairs for --second-opinion URL. (gcd's replacements per "
            "position: --replacements.)"
        )
    share = parse_share(opinion.top or "20%")
    where = options.where()
    workspace = open_workspace(loaded)
    table = typed_path(out) if out is not None else None
    features = typed_path(options.features) if options.features is not None else None
    for file in (table, features):
        if file is not None:
            export_scores.check(file)
    dataset_id = workspace.find_or_import(dataset)
    server = None
    if opinion.second_opinion is not None:
        server = second_opinions.open_server(
            opinion.second_opinion, opinion.second_model, opinion.timeout
        )
        server.spending.limit(*limits)
        with progress("Asking the server"):
            first = second_opinions.plan(workspace.store, dataset_id, server, share)
        outlook = second_opinion_outlook(first, opinion.at_once, server.spending)
        console.print(f"[yellow]Note:[/] {escape(outlook)}")
    if options.estimate:
        with progress(ESTIMATE.title) as update:
            planned = workspace.jobs.estimate(
                dataset_id, update, where, anyway=options.anyway, suggestions=options.suggestions,
            )  # fmt: skip
        emit(planned, as_json, planned.in_words())
        return
    if caveat := workspace.engines.of_dataset(dataset_id).scorer.info.limits:
        console.print(f"[yellow]Note:[/] {escape(caveat)}")
    with progress(SCORE.title) as update:
        report = workspace.jobs.score(
            dataset_id, update, where, suggestions=options.suggestions, anyway=options.anyway,
            anew=detector is not None,
        )  # fmt: skip
    measured: dict[str, Any] = {}
    for operation in _MEASURED:
        if getattr(measurements, operation.name):
            with progress(operation.title) as update:
                measured[operation.name] = workspace.jobs.run(operation.name, dataset_id, update)
            for message in getattr(measured[operation.name], "notes", ()):
                if message != caveat:
                    console.print(f"[yellow]Note:[/] {escape(message)}")
    rows = None
    answers = None
    if server is not None:
        with progress("Second opinion") as update:
            answers = second_opinions.ask(
                workspace.store, dataset_id, server, share, opinion.at_once, update
            )
    if table is not None:
        rows = export_scores.write(workspace.store, dataset_id, table)
    if features is not None:
        export_scores.write_features(workspace.store, dataset_id, features)
    for problem in report.first_unreadable:
        console.print(f"[yellow]left out[/] {escape(problem.file)}: {escape(problem.message)}")
    reports = [report, *measured.values(), *([answers] if answers is not None else [])]
    words = "\n".join(each.in_words() for each in reports)
    if report.unknown:
        words += "\n--anyway also scores pictures that the model does not know."
    if report.trajectories != ALL:
        words += "\n--trajectories all completes all of them."
    if rows is not None:
        words += f"\n{count_of(rows, 'row')} written to {table}"
    result = {
        **vars(report), **{each.name: measured.get(each.name) for each in _MEASURED},
        "second_opinion": answers, "rows_written": rows,
    }  # fmt: skip
    emit(result, as_json, words)
    if report.unreadable and not report.scored + report.skipped:
        console.print(
            "No picture could be read. If they were moved: python app.py datasets relocate "
            f"{escape(dataset)} FOLDER."
        )
        raise typer.Exit(NotScored.exit_status)


score.__annotations__ |= {"measurements": _Measurements}


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
        report = workspace.jobs.run("train", dataset_id, update, seed=options.seed)
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
    summary = f"{view.reviewed} of {view.total} reviewed, {view.errors_found} were errors. "
    if view.reviewed == view.total:
        summary += "Every pair is decided: 0 errors remain."
    elif view.remaining is None or not view.remaining.is_enough:
        expected = "How many errors remain is unknown"
        if view.left is not None and view.left.expected:
            about = f"{view.left.expected:.0f}"
            expected = f"About {about} errors remain if the chances of error are right"
        summary += (
            f"{expected}: review some pairs in the order 'check a random sample' for an estimate."
        )
    else:
        left = view.remaining
        summary += (
            f"About {left.errors:.0f} remain ({left.low:.0f} to {left.high:.0f}, 95 %), from "
            f"{left.sample} pairs sampled at random."
        )
    if (whole := view.whole) is not None:
        summary += f" It is a random sample of {whole.pairs:,} pairs in {whole.source}"
        if whole.remaining is None:
            summary += ": review it in the order 'check a random sample' to know about them."
        else:
            left = whole.remaining
            summary += (
                f", of which about {left.errors:,.0f} are wrong and not found yet "
                f"({left.low:,.0f} to {left.high:,.0f}, 95 %), from {left.sample} pairs."
            )
    emit(view, common.as_json, summary)


def second_opinion_outlook(plan: "SecondOpinionPlan", at_once: int, spending: "Spending") -> str:
    """What the second opinion will take, at least and at most."""
    fewest, most = plan.fewest, plan.most
    seconds = [count * plan.seconds_each / at_once for count in (fewest, most)]
    text = (
        f"'{plan.model}' at {plan.server} will be asked about {plan.pairs:,} of {plan.total:,} "
        f"pairs: {fewest:,} to {most:,} questions of about {plan.tokens_each:,} tokens, "
        f"{duration(seconds[0])} to {duration(seconds[1])}"
    )
    each = plan.tokens_each * spending.prices.tokens_in + spending.prices.tokens_out
    if each:
        text += f", cost {fewest * each / 1e6:.4f} to {most * each / 1e6:.4f}"
    return f"{text}. Pictures and captions are sent there."
