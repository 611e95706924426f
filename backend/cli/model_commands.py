"""`models`: list, download, remove and time models, and set the default."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from backend.cli.commands import as_command
from backend.cli.output import emit, open_workspace, progress, results
from backend.operations.common_options import AsJson, Database, Device, Precision
from backend.operations.model_files import DOWNLOAD, PROBE, ModelName
from backend.progress import duration
from backend.settings import load_settings

if TYPE_CHECKING:
    from backend.jobs.model_manager import ModelView

models = typer.Typer(
    name="models",
    help="The models to score with: list, download, remove, probe, default.",
    no_args_is_help=True,
)


@models.command("list")
@as_command
def list_models(db: Database = None, as_json: AsJson = False) -> None:
    """The presets and your own: what each is good for, its size, and its time on this machine."""
    views = open_workspace(load_settings({"database": db})).models.list_models()
    lines = (line for view in views for line in describe_model(view))
    emit({"models": views}, as_json, "\n".join(lines))


@models.command("download")
@as_command
def download(model: ModelName, db: Database = None, as_json: AsJson = False) -> None:
    """Get a model from the hub: the pinned revision, checked. An interrupted download resumes."""
    workspace = open_workspace(load_settings({"database": db}))
    with progress(DOWNLOAD.title) as update:
        report = workspace.models.download(model, update)
    got = ", ".join(f"{name} at {commit[:12]}" for name, commit in report.models)
    emit(report, as_json, f"{size(report.downloaded)} downloaded. On this machine now: {got}.")


@models.command("remove")
@as_command
def remove(model: ModelName, db: Database = None) -> None:
    """Delete a downloaded model from this machine."""
    removal = open_workspace(load_settings({"database": db})).models.remove(model)
    results.print(f"'{escape(model)}' is removed; {size(removal.freed)} freed.")
    if removal.was_default:
        results.print("It was the default, which is 'embedded' now.")


@models.command("probe")
@as_command
def probe(
    model: ModelName,
    db: Database = None,
    device: Device = None,
    precision: Precision = None,
    as_json: AsJson = False,
) -> None:
    """Measure how long this machine takes with a model: it scores 20 pairs of the demo."""
    settings = load_settings({"database": db, "device": device, "precision": precision})
    workspace = open_workspace(settings)
    with progress(PROBE.title) as update:
        measurement = workspace.models.probe(model, update)
    emit(
        measurement, as_json,
        f"'{measurement.model}' takes {duration(measurement.seconds)} for a thousand pairs on "
        f"{measurement.device} ({measurement.precision}), after "
        f"{measurement.load_seconds:.0f} s of loading, and {size(measurement.memory)} of memory.",
    )  # fmt: skip


@models.command("default")
@as_command
def default(
    model: Annotated[
        str | None, typer.Argument(help="The model for datasets that have none yet.")
    ] = None,
    db: Database = None,
) -> None:
    """Show or set the model that datasets without one of their own are scored with."""
    workspace = open_workspace(load_settings({"database": db}))
    if model is not None:
        workspace.models.set_default(model)
    results.print(escape(workspace.models.default()))


def describe_model(view: "ModelView") -> Sequence[str]:
    """A model in two or three lines."""
    in_part = bool(view.on_disk) and not view.is_here
    states = (
        ("on this machine", view.is_here),
        ("in part on this machine", in_part),
        ("default", view.is_default),
    )
    marks = [mark for mark, holds in states if holds]
    head = view.name + (f" ({', '.join(marks)})" if marks else "") + f": {view.good_for}"
    facts = []
    if view.model != view.name and view.name != "embedded":
        without = f"without a captioner: {view.without_captioner} (--captioner auto adds one)"
        facts.append(f"{view.model} {f'with {view.captioner}' if view.captioner else without}")
    if view.parameters:
        facts.append(f"{view.parameters / 1e6:.0f} million parameters")
    if view.download is not None and view.name != "embedded":
        facts.append(f"{size(view.download)} to download")
    if view.on_disk:
        facts.append(f"{size(view.on_disk)} on disk")
    if view.memory:
        facts.append(f"{size(view.memory)} of memory")
    if view.licence:
        facts.append(f"licence {view.licence}")
    if view.revision:
        facts.append(f"revision {view.revision[:12]}")
    time = "not measured yet: models probe " + view.name
    if view.probe is None and view.seconds is not None:
        time = f"roughly {duration(view.seconds)} for a thousand pairs on these cores; {time}"
    if view.probe is not None:
        time = f"{duration(view.probe.seconds)} for a thousand pairs on {view.probe.device}"
    return [head, "    " + "; ".join(facts), "    " + time]


def size(count: int) -> str:
    """
    >>> size(605_000_000), size(1_480_000_000), size(12_000)
    ('605 MB', '1.5 GB', '0 MB')
    """
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{count / 1e6:.0f} MB"
