"""The tables of an evaluation: printed, and written to a file on request."""

from pathlib import Path

from backend.cli.output import emit
from backend.errors import SettingsError


def check_folders(*files: Path | None) -> None:
    """Raises SettingsError unless the folder of each file exists: before hours of computing."""
    for file in files:
        if file is not None and not file.absolute().parent.is_dir():
            raise SettingsError(f"There is no folder {file.absolute().parent}.")


def emit_tables(report: object, tables: str, out: Path | None, as_json: bool) -> None:
    """Print the tables, or the report as JSON; also write the tables to the Markdown file `out`."""
    if out is not None:
        out.write_text(tables + "\n", encoding="utf-8")
    emit(report, as_json, tables)
