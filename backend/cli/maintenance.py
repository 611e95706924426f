"""`doctor`, `backup`."""

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from backend.cli.output import emit, one_line, open_workspace, results
from backend.datasets.safe_files.regular_files import typed_path
from backend.operations.common_options import AsJson, Captioner, Database, Kind, Model
from backend.settings import load_settings


def doctor(
    models: Annotated[
        bool,
        typer.Option(
            help="Also load the models, including those that datasets remember; may take a while."
        ),
    ] = False,
    vlm_url: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Also ask the model behind this OpenAI-compatible server about a few drawn "
            "pictures: whether it sees them, or is blind, stale or reversed.",
        ),
    ] = None,
    vlm: Annotated[
        str, typer.Option(metavar="NAME", help="Its name there. Default: the only one.")
    ] = "",
    db: Database = None,
    model: Model = None,
    scorer: Kind = None,
    captioner: Captioner = None,
    as_json: AsJson = False,
) -> None:
    """Check database, files and models, and say how to fix problems. Status 1 if there are any."""
    from backend.cli.doctor import examine

    report = examine(
        load_settings({"database": db, "model": model, "kind": scorer, "captioner": captioner}),
        models,
        vlm_url,
        vlm,
    )
    colours = {"ok": "green", "warning": "yellow", "problem": "red"}
    for finding in () if as_json else report.findings:
        mark = f"[{colours[finding.state]}]{finding.state:8}[/]"
        text = one_line(f"{finding.what}: {finding.message}")
        results.print(f"{mark} {escape(text)}")
        if finding.advice:
            results.print(f"         {escape(one_line(finding.advice))}")
    summary = "All is well." if report.is_well else "Some checks failed; see above."
    emit(report, as_json, summary)
    if not report.is_well:
        raise typer.Exit(1)


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
