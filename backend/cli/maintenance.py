"""`doctor`, `backup`."""

from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import create_model
from rich.markup import escape

from backend import plugins
from backend.cli.commands import DoctorCheck
from backend.cli.output import emit, one_line, open_workspace, results
from backend.datasets.safe_files.regular_files import typed_path
from backend.operations.common_options import AsJson, Captioner, Database, Kind, Model
from backend.options import ComposedOptions, Options, switch
from backend.settings import load_settings


class DoctorOptions(Options):
    """Check database, files and models, and say how to fix problems. Status 1 if there are any."""

    models: Annotated[bool, switch("models")] = False
    """Also load the models, including those that datasets remember; may take a while."""
    db: Database = None
    model: Model = None
    scorer: Kind = None
    captioner: Captioner = None
    as_json: AsJson = False


_CHECKS = plugins.load("checks", DoctorCheck)
_FIELDS: dict[str, Any] = {check.name: (check.options, check.options()) for check in _CHECKS}
_FurtherOptions = create_model("_FurtherOptions", __base__=ComposedOptions, **_FIELDS)


def doctor(options: DoctorOptions, further: Any) -> int:
    from backend.cli.doctor import examine

    others = chain.from_iterable(check.examine(getattr(further, check.name)) for check in _CHECKS)
    report = examine(load_settings(options.settings()), options.models, others)
    colours = {"ok": "green", "warning": "yellow", "problem": "red"}
    for finding in () if options.as_json else report.findings:
        mark = f"[{colours[finding.state]}]{finding.state:8}[/]"
        text = one_line(f"{finding.what}: {finding.message}")
        results.print(f"{mark} {escape(text)}")
        if finding.advice:
            results.print(f"         {escape(one_line(finding.advice))}")
    summary = "All is well." if report.is_well else "Some checks failed; see above."
    emit(report, options.as_json, summary)
    return int(not report.is_well)


doctor.__annotations__ |= {"further": _FurtherOptions}
doctor.__doc__ = DoctorOptions.__doc__


def backup(
    out: Annotated[Path, typer.Argument(help="The new file.")],
    db: Database = None,
    as_json: AsJson = False,
) -> None:
    """Make a consistent copy of the database while the app is running.

    To restore it, stop the app and replace the database with the copy, or pass the copy with --db;
    for PostgreSQL, use pg_restore.
    """
    workspace = open_workspace(load_settings({"database": db}))
    target = workspace.store.backup(typed_path(out))
    size = target.stat().st_size
    emit({"path": str(target), "bytes": size}, as_json, f"{target}: {size:,} bytes")
