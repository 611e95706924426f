"""`score`, `train`, `progress`: the way to the probability of error, and how far the review is."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from backend.commands.parameters import (
    AS_JSON,
    CAPTIONER,
    CONCRETENESS,
    DATABASE,
    DETECTOR,
    DEVICE,
    EXPLORER,
    KIND,
    MODEL,
    PRECISION,
)
from backend.commands.telling import console, emit, open_workspace, progress, reported
from backend.errors import SettingsError
from backend.settings import load_settings

if TYPE_CHECKING:
    from backend.views import TrainReport


def score(
    dataset: Annotated[str, typer.Argument(help="Name in the database, or a path to import.")],
    out: Annotated[
        Path | None,
        typer.Option(help="Also write a row a pair (id, s_0, p_error, icc, suspects) to this "
                     ".jsonl or .parquet file."),
    ] = None,
    suggestions: Annotated[
        bool, typer.Option(help="Prepare corrections for the pairs that look wrong.")
    ] = True,
    db: DATABASE = None,
    model: MODEL = None,
    scorer: KIND = None,
    captioner: CAPTIONER = None,
    concreteness: CONCRETENESS = None,
    device: DEVICE = None,
    precision: PRECISION = None,
    explorer: EXPLORER = None,
    unit: Annotated[
        str | None, typer.Option(help="What elimination deletes: word or token. Default: word.")
    ] = None,
    direction: Annotated[
        str | None, typer.Option(help="maximise or minimise the score. Default: maximise.")
    ] = None,
    steps: Annotated[
        int | None, typer.Option(help="Steps T of gcd and fast-gcd. Default: 10.")
    ] = None,
    top: Annotated[
        int | None, typer.Option(help="Replacements K a position. Default: 128.")
    ] = None,
    candidates: Annotated[
        int | None, typer.Option(help="Candidates N a step of gcd. Default: 256.")
    ] = None,
    any_token: Annotated[
        bool, typer.Option(help="Replacements may be any token, not only whole words.")
    ] = False,
    seed: Annotated[int | None, typer.Option(help="Of what gcd draws by lot. Default: 0.")] = None,
    lemon: Annotated[
        str | None,
        typer.Option(help="LEMoN's weights: fix, or opt (fitted to this dataset's verdicts). "
                     "Default: fix."),
    ] = None,
    detector: DETECTOR = None,
    engine: Annotated[
        str, typer.Option(help="local, or ray: trajectories by the workers of a Ray cluster.")
    ] = "local",
    ray_address: Annotated[
        str | None,
        typer.Option(help="With --engine ray: a running cluster (auto, HOST:PORT, ray://HOST:PORT)."
                     " Default: this machine's cores."),
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, help="With --engine ray: how many. Default: one a core or "
                                 "accelerator.")
    ] = None,
    shared_folder: Annotated[
        Path | None,
        typer.Option(help="With --engine ray: for shards and results; on a cluster a folder that "
                     "all its machines see, as they must see the images. Default: beside the "
                     "database."),
    ] = None,
    as_json: AS_JSON = False,
) -> None:  # fmt: skip
    """Compute trajectories, probability of error, suspect words and ICC of every pair.

    Stop it whenever you like: the same command goes on where it was.
    """
    with reported(as_json):
        settings = load_settings(
            {"database": db, "model": model, "kind": scorer, "captioner": captioner,
             "concreteness": concreteness, "device": device, "precision": precision,
             "explorer": explorer, "unit": unit, "direction": direction, "steps": steps,
             "top": top, "candidates": candidates, "seed": seed, "lemon": lemon,
             "whole_words": False if any_token else None, "detector": detector}
        )  # fmt: skip
        if engine not in ("local", "ray"):
            raise SettingsError(f"There is no engine '{engine}'; use local or ray.")
        cluster = None
        if engine == "ray":
            from backend.pipeline.ray_scoring import Cluster

            folder = shared_folder.expanduser().resolve() if shared_folder else None
            cluster = Cluster(ray_address, workers, folder)
        workspace = open_workspace(settings)
        if out is not None:
            workspace.check_score_file(out)
        dataset_id = workspace.find_or_import(dataset)
        if limits := workspace.model_info().limits:
            console.print(f"[yellow]Note:[/] {escape(limits)}")
        with progress("Scoring") as update:
            report = workspace.score(
                dataset_id, progress=update, suggestions=suggestions, cluster=cluster
            )
        if out is not None:
            rows = workspace.write_scores(dataset_id, out)
            console.print(f"{rows} rows written to {escape(str(out))}")
        emit(
            report, as_json,
            f"{report.scored} pairs scored, {report.skipped} had scores already, "
            f"{report.unreadable} images unreadable, {report.truncated} captions longer than the "
            f"model reads; {report.seconds:.0f} s.",
        )  # fmt: skip


def train(
    dataset: Annotated[str, typer.Argument(help="Name in the database.")],
    adopt: Annotated[bool, typer.Option(help="Put the new classifier to use at once.")] = False,
    db: DATABASE = None,
    model: MODEL = None,
    scorer: KIND = None,
    device: DEVICE = None,
    detector: DETECTOR = None,
    as_json: AS_JSON = False,
) -> None:
    """Train the detector on the verdicts so far and injected noise; compare with the one in use."""
    with reported(as_json):
        settings = load_settings(
            {"database": db, "model": model, "kind": scorer, "device": device, "detector": detector}
        )
        workspace = open_workspace(settings)
        dataset_id = workspace.find(dataset)
        with progress("Training") as update:
            report = workspace.train(dataset_id, progress=update)
        if adopt:
            workspace.adopt(report.classifier_id)
        emit(report, as_json, training_summary(report, adopt))


def progress_(
    dataset: Annotated[str, typer.Argument(help="Name in the database.")],
    db: DATABASE = None,
    as_json: AS_JSON = False,
) -> None:
    """How far the review has come, and how many errors remain."""
    with reported(as_json):
        workspace = open_workspace(load_settings({"database": db}))
        view = workspace.progress(workspace.find(dataset))
        told = f"{view.reviewed} of {view.total} reviewed, {view.errors_found} were errors. "
        if view.remaining is None:
            told += "How many remain is unknown: decide some pairs in the order 'random audit'."
        else:
            left = view.remaining
            told += (
                f"About {left.errors:.0f} remain ({left.low:.0f} to {left.high:.0f}, 95 %), from "
                f"{left.sample} pairs drawn by lot."
            )
        emit(view, as_json, told)


def training_summary(report: "TrainReport", adopted: bool) -> str:
    """Before and after in two lines."""
    lines = [f"{report.name}, on {report.verdicts} verdicts and injected noise."]
    for key, value in report.report.items():
        if isinstance(value, float):
            lines.append(f"  {key.replace('_', ' ')}: {value:.3f}")
        elif isinstance(value, int | str):
            lines.append(f"  {key.replace('_', ' ')}: {value}")
    lines.append(
        "In use now."
        if adopted
        else "Not in use yet: run again with --adopt, or decide on the Retrain page."
    )
    return "\n".join(lines)
