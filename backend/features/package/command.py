"""The commands `pack` and `merge`, and `serve` with a package."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from backend.cli.commands import CommandVariant
from backend.cli.output import emit, open_dataset, open_workspace, progress
from backend.counts import count_of
from backend.datasets.safe_files.regular_files import typed_path
from backend.errors import SettingsError
from backend.operations.common_options import Common
from backend.options import ARGUMENT, CommandLine, Options, parse_share
from backend.settings import load_settings


class PackCommand(Options):
    """Write pairs, their pictures and all that is known of them into one file, to be judged on
    another machine: `serve FILE.traced` there, `merge` here.

    Accounts, other datasets and where the pictures lie here are not in it. Of pairs that several
    people judge it lacks what the reviewer may not know yet.
    """

    dataset: Annotated[str, ARGUMENT]
    """Name in the database."""
    file: Annotated[Path, ARGUMENT]
    """The package, a new file; .traced is added. For several reviewers one each: FILE-NAME.traced.
    """
    queue: str = ""
    """Only these pairs, as in a queue's address after the ?: 'review=unreviewed'. Default: the
    whole dataset."""
    view: str | None = None
    """Only the pairs of a saved view."""
    reviewer: Annotated[list[str] | None, CommandLine(metavar="NAME")] = None
    """Who is to judge them: the author of the verdicts. Of several (give it again) each gets a
    random share."""
    overlap: Annotated[str | None, CommandLine(metavar="SHARE")] = None
    """The share of the dataset's pairs that several people judge, such as 20%: stored with the
    dataset as on the page People, and in the packages of so many reviewers. Default: as it is
    stored."""
    thumbnails: Annotated[int | None, CommandLine(metavar="PIXELS")] = Field(None, ge=64, le=16384)
    """Pictures with at most so many pixels on a side, as JPEG. Default: the pictures as they are.
    """


def pack(options: PackCommand, common: Common) -> None:
    from backend.features.package.packing import pack_dataset

    workspace, dataset_id = open_dataset(options.dataset, **common.settings())
    share = parse_share(options.overlap) if options.overlap is not None else None
    with progress("Packing") as update:
        reports = pack_dataset(
            workspace, dataset_id, typed_path(options.file), options.queue, options.view,
            options.reviewer or (), share, options.thumbnails, update,
        )  # fmt: skip
    emit({"packages": reports}, common.as_json, "\n".join(report.in_words() for report in reports))


class MergeCommand(Options):
    """Bring verdicts of packages home, with their authors and times, and with how their pairs came
    to be shown.

    What has changed here meanwhile stays, and is listed. Merging again adds only what is new.
    """

    files: Annotated[list[Path], CommandLine(is_argument=True, is_required=True)]
    """Packages with their verdicts beside them, or those files alone: FILE.verdicts.db."""
    dataset: str | None = None
    """Name of the dataset, if it is not the one that was packed. Default: as in the package."""
    dry_run: bool = False
    """Say what would be merged; change nothing."""
    undo: bool = False
    """Take back what was merged of these packages."""


def merge(options: MergeCommand, common: Common) -> None:
    from backend.features.package import merging

    workspace = open_workspace(load_settings(common.settings()))
    files = [typed_path(file) for file in options.files]
    if options.undo:
        counts = {f.name: merging.undo_merge(workspace.store, f, options.dataset) for f in files}
        if not any(counts.values()):
            raise SettingsError("Nothing that was merged of these packages is in effect.")
        words = (f"Undone: {count_of(count, 'act')} of {name}." for name, count in counts.items())
        emit({"undone": counts}, common.as_json, "\n".join(words))
        return
    with progress("Merging") as update:
        reports = [
            merging.merge(workspace.store, file, options.dataset, options.dry_run, update)
            for file in files
        ]
    emit({"packages": reports}, common.as_json, "\n".join(report.in_words() for report in reports))


def _serve(
    command: Callable[[], int | None], arguments: dict[str, Any], options: Options
) -> int | None:
    """A package is reviewed in place: no model is needed, and verdicts go into FILE.verdicts.db
    beside it, for `merge`."""
    from backend.datasets.safe_files.containers import PACKED
    from backend.features.package.opening import open_package

    served = arguments["options"]
    if served.source is None or not served.source.endswith(PACKED):
        return command()
    if served.data is not None or served.db is not None:
        raise SettingsError(
            "A package has its own pairs and database: leave --data and --db out. A dataset is "
            "opened by --data."
        )
    database, manifest = open_package(typed_path(served.source))
    author = served.author or manifest.reviewer or None
    changes = {"source": None, "db": f"sqlite:///{database}", "author": author}
    arguments["options"] = served.model_copy(update=changes)
    return command()


COMMANDS = {"pack": pack, "merge": merge}
SERVE = CommandVariant("serve", Options, _serve)
