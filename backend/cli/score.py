"""`score`, `train`, `progress`: compute probabilities of error and report the review's progress."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from backend.cli import options
from backend.cli.output import console, emit, open_dataset, open_workspace, progress, reported
from backend.datasets.regular_files import typed_path
from backend.engine.trajectories.depth import ALL
from backend.errors import ONLY_LEVEL, DatasetFormatError, NotScored, SettingsError
from backend.jobs.reports import ScoreResult, count_of
from backend.learning_texts import learnt_in_words
from backend.progress import duration
from backend.settings import load_settings

if TYPE_CHECKING:
    from backend.engine.language_models.spending import Spending
    from backend.jobs.estimate import Estimate
    from backend.jobs.ray_workers import Cluster
    from backend.jobs.reports import (
        SecondOpinionPlan,
        SecondOpinionReport,
        SpecificityReport,
        SupportReport,
        TrainReport,
    )
    from backend.jobs.workers import Devices
    from backend.workspace import Workspace


#: The value of --detector that ranks shards as before.
PREVIOUS = "previous"


def score(
    dataset: Annotated[str, typer.Argument(help="Name in the database, or a path to import.")],
    out: Annotated[
        str | None,
        typer.Option(help="Also write one row per pair (id, s_0, p_error, icc, specificity, "
                     "suspects) to this .jsonl, .parquet or .csv file. A folder (with a / at the "
                     "end) or an address such as s3://BUCKET/FOLDER: score the shards of a path or "
                     "an address one by one, one Parquet file for each; nothing enters the "
                     "database."),
    ] = None,
    features: Annotated[
        Path | None,
        typer.Option(help="Also write every feature that the detectors read, one row per pair, "
                     "to this .jsonl, .parquet or .csv file."),
    ] = None,
    suggestions: Annotated[
        bool, typer.Option(help="Prepare corrections for the pairs that look wrong.")
    ] = True,
    support: Annotated[
        bool,
        typer.Option("--support", help="Also measure how far the image supports each phrase of a "
                     "caption (our reading of Counterfactual Phrase Intervention)."),
    ] = False,
    specificity: Annotated[
        bool,
        typer.Option("--specificity", help="Also measure how specific each caption is: does it "
                     "find its own picture among similar ones? Opens no image."),
    ] = False,
    second_opinion: Annotated[
        str | None,
        typer.Option("--second-opinion", metavar="URL", help="Then ask a vision-language model "
                     "behind an OpenAI-compatible server, such as http://localhost:8000/v1, "
                     "whether the pictures of the most suspicious pairs show their captions. "
                     "Pictures and captions are sent to it. Its key: OPENAI_API_KEY."),
    ] = None,
    top: Annotated[
        str | None,
        typer.Option(metavar="SHARE", help="With --second-opinion: about which share of the pairs, "
                     "such as 20%, the most suspicious first. Default: 20%."),
    ] = None,
    second_model: Annotated[
        str | None,
        typer.Option("--second-model", metavar="NAME", help="With --second-opinion: the model's "
                     "name on the server. Default: the only one that it serves."),
    ] = None,
    at_once: Annotated[
        int, typer.Option(min=1, max=64, help="With --second-opinion: questions in flight.")
    ] = 4,
    timeout: options.TIMEOUT = None,
    price_in: options.PRICE_IN = 0.0,
    price_out: options.PRICE_OUT = 0.0,
    budget: options.BUDGET = None,
    budget_tokens: options.BUDGET_TOKENS = None,
    budget_requests: options.BUDGET_REQUESTS = None,
    estimate: Annotated[
        bool,
        typer.Option("--estimate", help="Only estimate the cost: time, disk and memory, "
                     "measured on 20 pairs of the dataset."),
    ] = False,
    anyway: Annotated[
        bool,
        typer.Option("--anyway", help="Also score pictures of a kind that the model does not know, "
                     "such as photographs by the embedded one. Remembered with the dataset."),
    ] = False,
    db: options.DATABASE = None,
    model: options.MODEL = None,
    scorer: options.KIND = None,
    captioner: options.CAPTIONER = None,
    concreteness: options.CONCRETENESS = None,
    device: options.DEVICE = None,
    precision: options.PRECISION = None,
    explorer: options.EXPLORER = None,
    unit: Annotated[
        str | None, typer.Option(help="What elimination deletes: word or token. Default: word.")
    ] = None,
    trajectories: Annotated[
        str | None,
        typer.Option(metavar="WHICH", help="Which pairs get whole trajectories instead of their "
                     "first step, which is enough to rank them: all, first-step (those that get "
                     "corrections, and any that is opened), top:20% (of the pairs, the most "
                     "suspicious) or above:0.7 (a probability of error). Remembered with the "
                     "dataset. Default: all, first-step for more than 20,000 pairs."),
    ] = None,
    claims: Annotated[
        str | None,
        typer.Option(metavar="HOW", help="What is scored of a caption: auto (its sentences, or the "
                     "tags of a list), sentences, tags, or whole. Remembered with the dataset. "
                     "Default: auto; whole for a dataset that was scored before."),
    ] = None,
    lazy: Annotated[
        int | None,
        typer.Option(min=1, metavar="M", help="After its first step elimination only tries the M "
                     "words whose deletion gained most so far: faster, an approximation. "
                     "Default: all words, exactly."),
    ] = None,
    direction: Annotated[
        str | None, typer.Option(help="maximise or minimise the score. Default: maximise.")
    ] = None,
    steps: Annotated[
        int | None, typer.Option(help="Steps T of gcd and fast-gcd. Default: 10.")
    ] = None,
    replacements: Annotated[
        int | None, typer.Option(help="Replacements K per position. Default: 128.")
    ] = None,
    candidates: Annotated[
        int | None, typer.Option(help="Candidates N per step of gcd. Default: 256.")
    ] = None,
    any_token: Annotated[
        bool, typer.Option(help="Replacements may be any token, not only whole words.")
    ] = False,
    seed: Annotated[
        int | None, typer.Option(help="Seed of gcd's random samples. Default: 0.")
    ] = None,
    lemon: Annotated[
        str | None,
        typer.Option(help="LEMoN's weights: fix, or fitted to this dataset's verdicts: opt (by F1, "
                     "as published), auc. Default: fix."),
    ] = None,
    detector: options.DETECTOR = None,
    engine: Annotated[
        str, typer.Option(help="With --out DESTINATION/: local, or ray: score the shards on a Ray "
                               "cluster.")
    ] = "local",
    devices: Annotated[
        str | None,
        typer.Option(help="The processes of this machine that compute, each with its own copy of "
                     "the models: auto (with a small model, one per idle core where that pays), "
                     "cpu (this process alone), cpu,cpu (two processes), all (one per GPU), or a "
                     "list such as cuda:0,cuda:1. Default: auto."),
    ] = None,
    ray_address: Annotated[
        str | None,
        typer.Option(help="With --engine ray: a running cluster (auto, HOST:PORT, ray://HOST:PORT)."
                     " Default: this machine's cores."),
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, help="With --engine ray: number of workers. Default: one "
                                             "per core or accelerator.")
    ] = None,
    as_json: options.AS_JSON = False,
) -> None:  # fmt: skip
    """Compute trajectories, probability of error, suspect words and ICC of every pair.

    Stop it at any time: the same command resumes where it stopped.
    """
    with reported(as_json):
        from backend.datasets.read_options import is_address
        from backend.jobs import export_scores
        from backend.jobs import second_opinion as second_opinions
        from backend.jobs.workers import Devices

        learnt = None
        is_previous = detector == PREVIOUS
        if is_previous:
            if out is None:
                raise SettingsError(
                    "--detector previous ranks shards as before: give --out DESTINATION/. For a "
                    "dataset, use an earlier error finder under Learn from my verdicts."
                )
            detector = None
        if detector is not None and Path(detector).expanduser().is_file():
            learnt, detector = Path(detector).expanduser(), None
        settings = load_settings(
            {"database": db, "model": model, "kind": scorer, "captioner": captioner,
             "concreteness": concreteness, "device": device, "precision": precision,
             "explorer": explorer, "unit": unit, "direction": direction, "steps": steps,
             "top": replacements, "candidates": candidates, "seed": seed, "lazy": lazy,
             "lemon": lemon, "trajectories": trajectories, "claims": claims,
             "whole_words": False if any_token else None, "detector": detector}
        )  # fmt: skip
        if out is not None and (learnt is not None or is_previous):
            _rank_shards(dataset, out, learnt, as_json)
            return
        limits = options.spending_limits(
            price_in, price_out, budget, budget_tokens, budget_requests
        )
        if second_opinion is None and top is not None:
            raise SettingsError(
                "--top is the share of pairs for --second-opinion URL. (gcd's replacements per "
                "position: --replacements.)"
            )
        share = second_opinions.share_of(top or "20%")
        where = _where(engine, devices, ray_address, workers)
        workspace = open_workspace(settings)
        if out is not None and (is_address(out) or out.endswith(("/", os.sep))):
            _score_shards(workspace, dataset, out, where, anyway, as_json)
            return
        if not isinstance(where, Devices):
            raise SettingsError("--engine ray scores shards: give --out DESTINATION/.")
        table = typed_path(out) if out is not None else None
        features = typed_path(features) if features is not None else None
        for file in (table, features):
            if file is not None:
                export_scores.check(file)
        dataset_id = workspace.find_or_import(dataset)
        server = None
        if second_opinion is not None:
            server = second_opinions.open_server(second_opinion, second_model, timeout)
            server.spending.limit(*limits)
            with progress("Asking the server"):
                first = second_opinions.plan(workspace.store, dataset_id, server, share)
            outlook = second_opinion_outlook(first, at_once, server.spending)
            console.print(f"[yellow]Note:[/] {escape(outlook)}")
        if estimate:
            with progress("Measuring") as update:
                planned = workspace.jobs.estimate(
                    dataset_id, update, anyway=anyway, suggestions=suggestions, devices=where
                )
            emit(planned, as_json, estimate_summary(planned))
            return
        if caveat := workspace.engines.of_dataset(dataset_id).scorer.info.limits:
            console.print(f"[yellow]Note:[/] {escape(caveat)}")
        with progress("Scoring") as update:
            report = workspace.jobs.score(
                dataset_id, update, suggestions, where, anyway=anyway, anew=detector is not None
            )
        supported = specific = rows = None
        if support:
            with progress("Support") as update:
                supported = workspace.jobs.run("support", dataset_id, progress=update)
            for message in (note for note in supported.notes if note != caveat):
                console.print(f"[yellow]Note:[/] {escape(message)}")
        if specificity:
            with progress("Specificity") as update:
                specific = workspace.jobs.run("specificity", dataset_id, update)
        opinion = None
        if server is not None:
            with progress("Second opinion") as update:
                opinion = second_opinions.ask(
                    workspace.store, dataset_id, server, share, at_once, update
                )
        if table is not None:
            rows = export_scores.write(workspace.store, dataset_id, table)
        if features is not None:
            export_scores.write_features(workspace.store, dataset_id, features)
        result = ScoreResult(
            **vars(report), support=supported, specificity=specific, second_opinion=opinion,
            rows_written=rows,
        )  # fmt: skip
        for problem in report.first_unreadable:
            console.print(f"[yellow]left out[/] {escape(problem.file)}: {escape(problem.message)}")
        emit(result, as_json, score_summary(result, table))
        if result.unreadable and not result.scored + result.skipped:
            console.print(
                "No picture could be read. If they were moved: python app.py datasets relocate "
                f"{escape(dataset)} FOLDER."
            )
            raise typer.Exit(NotScored.exit_status)


def _score_shards(
    workspace: "Workspace",
    source: str,
    out: str,
    devices: "Cluster | Devices",
    anyway: bool,
    as_json: bool,
) -> None:
    from backend.jobs.shard_scores import score_shards

    with progress("Scoring") as update:
        report = score_shards(workspace.engine, source, out, update, devices, anyway)
    lines = [
        f"{report.scored_now} of {report.shards} shards scored now; "
        f"{count_of(report.pairs, 'pair')} in {report.out}, {report.left_out} left out.",
        *(f"Left out: {failure}" for failure in report.failed),
    ]
    emit(report, as_json, "\n".join(lines))
    if report.failed:
        raise typer.Exit(DatasetFormatError.exit_status)


def _rank_shards(source: str, out: str, file: Path | None, as_json: bool) -> None:
    from backend.jobs.shard_ranking import rank_shards

    with progress("Ranking") as update:
        report = rank_shards(source, out, file, update)
    lines = [
        f"{report.scored_now} of {report.shards} shards ranked again, {report.pairs:,} pairs in "
        f"{report.out}. The detector before is kept: --detector {PREVIOUS}.",
        *([report.learnt] if report.learnt else []),
    ]
    emit(report, as_json, " ".join(lines))


def train(
    dataset: Annotated[str, typer.Argument(help="Name in the database.")],
    adopt: Annotated[bool, typer.Option(help="Adopt the new classifier immediately.")] = False,
    seed: Annotated[
        int, typer.Option(min=0, help="Of the folds of the comparison. Default: 0.")
    ] = 0,
    save: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Also write the classifier to this file, for score "
                     "SOURCE --out DESTINATION/ --detector FILE."),
    ] = None,
    db: options.DATABASE = None,
    model: options.MODEL = None,
    scorer: options.KIND = None,
    device: options.DEVICE = None,
    detector: options.DETECTOR = None,
    as_json: options.AS_JSON = False,
) -> None:  # fmt: skip
    """Train the detector on the verdicts so far; compare with the one in use.

    A new order is used only if it ranks held-out pairs drawn at random no worse; otherwise only the
    level of the probabilities is learnt, and the exit status is 11.
    """
    with reported(as_json):
        from backend.jobs.shard_ranking import check_saving, save_detector

        workspace, dataset_id = open_dataset(
            dataset, database=db, model=model, kind=scorer, device=device, detector=detector
        )
        if save is not None:  # refuse before the work
            check_saving(workspace.store, dataset_id, workspace.settings.detector)
        with progress("Training") as update:
            report = workspace.jobs.run("train", dataset_id, progress=update, seed=seed)
        if save is not None:
            save_detector(workspace.store, report.classifier_id, typed_path(save))
        if adopt:
            workspace.jobs.adopt(report.classifier_id)
        emit(report, as_json, training_summary(report, adopt))
        if report.report["learnt"] != "order":
            raise typer.Exit(ONLY_LEVEL)


def progress_(
    dataset: Annotated[str, typer.Argument(help="Name in the database.")],
    db: options.DATABASE = None,
    as_json: options.AS_JSON = False,
) -> None:
    """How far the review has come, and how many errors remain."""
    from backend.review.charts import progress_of

    with reported(as_json):
        workspace = open_workspace(load_settings({"database": db}))
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
                f"{expected}: review some pairs in the order 'check a random sample' for an "
                "estimate."
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
        emit(view, as_json, summary)


def estimate_summary(planned: "Estimate") -> str:
    """The remaining work and what each part of it takes."""
    by = f" ({planned.processes} processes)" if planned.processes > 1 else ""
    parts = [f"trajectories {duration(planned.trajectories_seconds)}"]
    if planned.whole:
        whole = f"whole ones of {planned.whole:,} pairs ({planned.trajectories})"
        parts.append(f"{whole} {duration(planned.whole_seconds)}")
    if planned.copies:
        copies = f"{planned.copies:,} noisy copies for the first detector"
        parts.append(f"{copies} {duration(planned.copies_seconds)}")
    if planned.training_seconds:
        parts.append(f"its training {duration(planned.training_seconds)}")
    if planned.captioner_seconds:
        parts.append(f"what the captioner expects {duration(planned.captioner_seconds)}")
    parts.append(f"texts {duration(planned.texts_seconds)}")
    if planned.suggestions:
        wrong = f"corrections of about {planned.suggestions:,} pairs that look wrong"
        parts.append(f"{wrong} {duration(planned.suggestions_seconds)}")
    return (
        f"About {duration(planned.seconds)} for {count_of(planned.pairs, 'pair')} on "
        f"{planned.device}{by}, measured on {planned.measured}: {', '.join(parts)}. "
        f"{planned.disk / 1e6:,.0f} MB of disk, {planned.memory / 1e9:.1f} GB of memory."
    )


def score_summary(result: ScoreResult, out: Path | None) -> str:
    """A summary of the results, one line for each."""
    unknown = ""
    if result.unknown:
        unknown = f"{result.unknown} left out whose pictures the model does not know (--anyway), "
    lines = [
        f"{count_of(result.scored, 'pair')} scored, {result.skipped} already had scores, "
        f"{count_of(result.unreadable, 'image')} unreadable, {unknown}"
        f"{count_of(result.truncated, 'caption')} truncated by the model; "
        f"{result.seconds:.0f} s."
    ]
    if result.trajectories != ALL:
        lines.append(
            f"Trajectories: {result.trajectories}. Every pair has its first step, which the "
            f"ranking needs; {result.completed:,} were completed now; the others are completed "
            "when they are opened, or with --trajectories all."
        )
    if result.support is not None:
        lines.append(support_summary(result.support))
    if result.specificity is not None:
        lines.append(specificity_summary(result.specificity))
    if result.second_opinion is not None:
        lines.append(second_opinion_summary(result.second_opinion))
    if out is not None:
        lines.append(f"{count_of(result.rows_written or 0, 'row')} written to {out}")
    return "\n".join(lines)


def support_summary(report: "SupportReport") -> str:
    """A summary of the measurement, in one line."""
    share = f" ({report.covered / report.phrases:.2%})" if report.phrases else ""
    return (
        f"Support of {count_of(report.computed, 'pair')} measured now: "
        f"{count_of(report.phrases, 'phrase')}, "
        f"{report.covered} of them tested{share}; {report.untested} pairs have no phrase to test; "
        f"{report.seconds:.0f} s."
    )


def specificity_summary(report: "SpecificityReport") -> str:
    """A summary of the measurement and its reliability."""
    if not report.measured:
        return "Specificity: no picture of this dataset has a vector."
    text = (
        f"Specificity of {count_of(report.measured, 'caption')} by {report.by}: "
        f"{report.retrieved} rank their own image first among {report.of} similar ones."
    )
    if report.pool < report.pictures:
        text += f" Searched among {report.pool:,} of {report.pictures:,} pictures."
    if report.easy:
        text += (
            " Easy: the pictures of this dataset are dissimilar (mean cosine "
            f"{report.likeness or 0:.2f})."
        )
    return text


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


def second_opinion_summary(report: "SecondOpinionReport") -> str:
    """The answers and what they cost."""
    lines = [
        f"Second opinion by '{report.model}': {count_of(report.new_answers, 'pair')} asked about "
        f"now, {report.earlier_answers} before; it agrees with {report.agrees} captions and doubts "
        f"{report.doubts}; {report.unanswered} times it said neither."
    ]
    cost = f"; cost {report.cost:.4f}" if report.cost else ""
    lines.append(
        f"{count_of(report.requests, 'request')}, {report.tokens_in} tokens in, "
        f"{report.tokens_out} out{cost}."
    )
    if report.left_out:
        lines.append(f"{report.left_out} pairs left out, the last because: {report.problem}")
    return "\n".join([*lines, *([report.stopped] if report.stopped else [])])


def _where(
    engine: str, devices: str | None, address: str | None, workers: int | None
) -> "Cluster | Devices":
    """The processes or machines that compute."""
    if engine not in ("local", "ray"):
        raise SettingsError(f"There is no engine '{engine}'; use local or ray.")
    if engine == "ray":
        from backend.jobs.ray_workers import Cluster

        if devices is not None:
            raise SettingsError("--devices is for --engine local; Ray assigns devices itself.")
        return Cluster(address, workers)
    from backend.jobs.workers import AUTOMATIC, Devices

    if devices in (None, "auto"):
        return AUTOMATIC
    from backend.engine.scoring.loading import choose_devices

    return Devices(choose_devices(devices))


def training_summary(report: "TrainReport", adopted: bool) -> str:
    """The figures of the new classifier, and whether it is in use."""
    lines = [f"{report.name}, on {count_of(report.verdicts, 'verdict')}."]
    for key, value in report.report.items():
        if isinstance(value, float):
            lines.append(f"  {key.replace('_', ' ')}: {value:.3f}")
        elif isinstance(value, int | str):
            lines.append(f"  {key.replace('_', ' ')}: {value}")
    lines.append(learnt_in_words(report.report))
    lines.append(
        "In use now."
        if adopted
        else "Not in use yet: run again with --adopt, or decide under Learn from my verdicts."
    )
    return "\n".join(lines)
