"""What commands do with shards that are scored into files."""

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field
from rich.markup import escape

from backend.cli.commands import CommandVariant
from backend.cli.dataset_commands import ImportCommand, export_choice
from backend.cli.output import (
    console,
    emit,
    open_dataset,
    open_workspace,
    print_left_out,
    progress,
)
from backend.cli.score import PREVIOUS, ScoreCommand
from backend.counts import count_of
from backend.datasets.read_options import ReadOptions, is_address
from backend.datasets.safe_files.regular_files import typed_path
from backend.errors import DatasetFormatError, SettingsError, StoreError
from backend.options import CommandLine, Options, parse_share
from backend.settings import Settings, load_settings

if TYPE_CHECKING:
    from backend.features.shards.ray_workers import Cluster
    from backend.jobs.scoring.dataset_constants import ConstantChoice
    from backend.jobs.scoring.workers import Devices
    from backend.loaded_models import Engine

Command = Callable[[], int | None]
Arguments = Mapping[str, Any]


class _Score(Options):
    engine: str = "local"
    """--out may also be a folder (with a / at the end) or an address such as s3://BUCKET/FOLDER:
    the shards of a path or an address are scored one by one, one Parquet file for each; no database
    is needed, and several machines may share the folder. local: on this machine; ray: on a Ray
    cluster."""
    ray_address: str | None = None
    """With --engine ray: a running cluster (auto, HOST:PORT, ray://HOST:PORT). Default: this
    machine's cores."""
    workers: int | None = Field(None, ge=1)
    """With --engine ray: number of workers. Default: one per core or accelerator."""

    def machines(self, options: ScoreCommand) -> "Cluster | Devices":
        if self.engine not in ("local", "ray"):
            raise SettingsError(f"There is no engine '{self.engine}'; use local or ray.")
        if self.engine == "local":
            return options.where()
        from backend.features.shards.ray_workers import Cluster

        if options.devices is not None:
            raise SettingsError("--devices is for --engine local; Ray assigns devices itself.")
        return Cluster(self.ray_address, self.workers)


def _score(command: Command, arguments: Arguments, options: _Score) -> int | None:
    """With a folder or an address as --out: score the shards of a source, or rank them again by the
    detector in a file or by the previous one."""
    score: ScoreCommand = arguments["options"]
    common, source, out = arguments["common"], arguments["dataset"], score.out
    settings = {**common.settings(), **score.settings()}
    detector = settings["detector"]
    file = Path(detector).expanduser() if detector not in (None, PREVIOUS) else None
    if out is not None and (detector == PREVIOUS or (file is not None and file.is_file())):
        load_settings(settings | {"detector": None})
        return _rank(source, out, file, common.as_json)
    machines = options.machines(score)
    if out is not None and (is_address(out) or out.endswith(("/", os.sep))):
        from backend.features.shards.shard_scores import score_shards

        engine = _engine_without_store(load_settings(settings))
        with progress("Scoring") as update:
            report = score_shards(
                engine, source, out, update, machines, score.anyway,
                constant_choice=_constant_choice(score),
            )  # fmt: skip
        emit(report, common.as_json, report.in_words())
        return DatasetFormatError.exit_status if report.failed else None
    if options.engine != "local":
        raise SettingsError("--engine ray scores shards: give --out DESTINATION/.")
    return command()


def _engine_without_store(settings: Settings) -> "Engine":
    """The engine for work that stores nothing: no database is made. The stored default model is
    used where there is a database and no model was named."""
    from backend.jobs.scoring.dataset_models import with_default
    from backend.loaded_models import Engine
    from backend.store import is_missing, open_database

    if "model" not in settings.origins and not is_missing(settings.database_url):
        with suppress(StoreError):  # of a folder that cannot be written, for one
            store = open_database(settings.database_url)
            settings = with_default(store, settings)
            store.close()
    return Engine(settings)


def _constant_choice(options: ScoreCommand) -> "ConstantChoice | None":
    """None: by default."""
    if not options.constant and options.constants is None:
        return None
    from backend.jobs.scoring.dataset_constants import ConstantChoice

    return ConstantChoice(options.constant, options.constants is not False)


def _rank(source: str, out: str, file: Path | None, as_json: bool) -> None:
    from backend.features.shards.shard_ranking import rank_shards

    with progress("Ranking") as update:
        report = rank_shards(source, out, file, update)
    lines = [
        f"{report.scored_now} of {count_of(report.shards, 'shard')} ranked again, "
        f"{count_of(report.pairs)} in "
        f"{report.out}. The detector before is kept: --detector {PREVIOUS}.",
        *([report.learnt] if report.learnt else []),
    ]
    emit(report, as_json, " ".join(lines))


class _Train(Options):
    save: Annotated[Path | None, CommandLine(metavar="FILE")] = None
    """Also write the classifier to this file, for score SOURCE --out DESTINATION/ --detector FILE.
    """


def _train(command: Command, arguments: Arguments, options: _Train) -> int | None:
    if options.save is None:
        return command()
    from backend.features.shards.shard_ranking import check_saving, save_detector

    settings = {**arguments["common"].settings(), **arguments["options"].settings()}
    workspace, dataset_id = open_dataset(arguments["dataset"], **settings)
    # refuse before the work
    check_saving(workspace.store, dataset_id, workspace.settings.detector)
    status = command()
    newest = workspace.jobs.classifiers(dataset_id)[0]
    save_detector(workspace.store, newest.id, typed_path(options.save))
    return status


class _Import(Options):
    top: Annotated[int | None, CommandLine(metavar="N")] = Field(None, ge=1, le=1_000_000)
    """PATH is what score --out has written: import only its N most suspicious pairs, with their
    scores."""
    above: float | None = Field(None, ge=0, le=1)
    """The same: those with at least this chance of error."""
    sample: Annotated[str | None, CommandLine(metavar="SHARE")] = None
    """The same: a random share of all, such as 1%, to estimate how many errors remain (see
    progress)."""


def _import(command: Command, arguments: Arguments, options: _Import) -> int | None:
    """The drawn pairs of what is scored."""
    if options == _Import():
        return command()
    from backend.features.shards.import_drawn import Draw, import_drawn

    importing: ImportCommand = arguments["options"]
    reading = importing.reading(), importing.update, importing.gone, importing.no_id_column
    if reading != (ReadOptions(), "ask", "keep", False):
        raise SettingsError(
            "--top, --above and --sample import what is scored; how the source is read and "
            "compared was decided then. Leave the other options out."
        )
    if [options.top, options.above, options.sample].count(None) != 2:
        raise SettingsError("Give one of --top, --above and --sample.")
    share = parse_share(options.sample) if options.sample is not None else None
    workspace = open_workspace(load_settings(arguments["common"].settings()))
    with progress("Importing") as update:
        report = import_drawn(
            workspace.store, importing.path, Draw(options.top, options.above, share),
            workspace.settings, importing.name, update,
        )  # fmt: skip
    print_left_out(report.first_problems, report.problems)
    emit(report, arguments["common"].as_json, report.in_words())
    return DatasetFormatError.exit_status if importing.strict and report.problems else None


class _Export(Options):
    decisions: bool = False
    """Write only a table of what would happen to each pair (shard, id, keep, caption) to the file
    OUT (.parquet, .csv or .jsonl), for select --decisions."""


def _export(command: Command, arguments: Arguments, options: _Export) -> int | None:
    export = arguments["options"]
    if not options.decisions or export.dry_run:
        return command()
    from backend.features.shards.decisions import write_decisions

    workspace, dataset_id = open_dataset(arguments["dataset"], **arguments["common"].settings())
    choice = export_choice(workspace, dataset_id, export)
    counts = workspace.jobs.export_counts(dataset_id, choice)
    if counts.level_note:
        console.print(f"[yellow]Note:[/] {escape(counts.level_note)}")
    file = typed_path(export.out)
    rows = write_decisions(workspace.store, dataset_id, choice, file)
    words = f"{counts.in_words()} {rows} decisions written to {file}."
    emit(counts, arguments["common"].as_json, words)
    return None


class _Select(Options):
    out: Annotated[str | None, CommandLine(metavar="DESTINATION")] = None
    """Write the scored shards again, as tars, without what --decisions and --drop-above leave out.
    DATASET is what score --out has written; neither database nor model is used."""
    decisions: Annotated[Path | None, CommandLine(metavar="FILE")] = None
    """With --out: the table of export --decisions, or your own with the columns id and keep (and
    shard, caption)."""
    drop_above: float | None = Field(None, ge=0, le=1)
    """With --out: pairs without a decision leave above this chance of error."""


def _select(command: Command, arguments: Arguments, options: _Select) -> int | None:
    if options.out is None:
        if options != _Select():
            raise SettingsError("--decisions and --drop-above go with --out.")
        return command()
    from backend.features.shards.decisions import read_decisions
    from backend.features.shards.select_shards import select_shards

    file = options.decisions
    decisions = read_decisions(file.expanduser()) if file is not None else {}
    with progress("Selecting") as update:
        report = select_shards(
            arguments["dataset"], options.out, decisions, options.drop_above, update
        )
    if report.level_note:
        console.print(f"[yellow]Note:[/] {escape(report.level_note)}")
    emit(report, arguments["common"].as_json, report.in_words())
    return None


SCORE = CommandVariant("score", _Score, _score)
TRAIN = CommandVariant("train", _Train, _train)
IMPORT = CommandVariant("import", _Import, _import)
EXPORT = CommandVariant("export", _Export, _export)
SELECT = CommandVariant("select", _Select, _select)
