"""The command `download`."""

from pathlib import Path
from typing import Annotated

from pydantic import Field

from backend.cli.output import emit, progress
from backend.counts import count_of
from backend.datasets.safe_files.regular_files import typed_path
from backend.operations.common_options import AsJson
from backend.options import ARGUMENT, Options


class DownloadCommand(Options):
    """Download the images whose URLs are listed in a table.

    Stop it at any time: the same command resumes where it stopped. This is the only command that
    requests URLs from a dataset; those that do not resolve to a public address are refused.
    """

    table: Annotated[Path, ARGUMENT]
    """Parquet, CSV, TSV or JSONL with an image URL and a caption per row, such as LAION's."""
    out: Annotated[Path, ARGUMENT]
    """Folder for the images; import it afterwards."""
    limit: int | None = Field(None, ge=1)
    """Maximum number of rows."""
    timeout: float = Field(20.0, ge=0.1)
    """Seconds per image."""
    megabytes: float = Field(30.0, ge=0.01)
    """Maximum size of an image."""
    url_column: str | None = None
    """Column with the URLs. Default: detected by name."""
    caption_column: str | None = None
    """Column with the captions. Default: detected by name."""
    as_json: AsJson = False


def download(options: DownloadCommand) -> None:
    from backend.datasets.safe_files.fetching import Limits
    from backend.features.fetch.download_images import download as run

    with progress("Downloading") as update:
        report = run(
            options.table, typed_path(options.out),
            Limits(options.timeout, int(options.megabytes * 1e6)), options.limit,
            options.url_column, options.caption_column, update,
        )  # fmt: skip
    advice = ""
    if report.failed:
        advice = " (failures.jsonl says why; delete it to have these rows asked for again)"
    emit(
        report, options.as_json,
        f"{count_of(report.written, 'image')} in {report.folder}, {report.already_there} "
        f"already done, {report.failed} failed{advice}. Next: "
        f"python app.py import {report.folder}",
    )  # fmt: skip


COMMANDS = {"download": download}
