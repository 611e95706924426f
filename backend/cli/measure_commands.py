"""The command `measure`."""

from typing import Annotated

import typer

from backend.cli.options import AS_JSON, DATABASE
from backend.cli.output import emit, open_dataset, progress, reported
from backend.jobs.reports import count_of


def measure(
    dataset: Annotated[str, typer.Argument(help="Name in the database.")],
    measure: Annotated[str, typer.Argument(help="A measure of an installed plug-in.")],
    db: DATABASE = None,
    as_json: AS_JSON = False,
) -> None:
    """Compute a measure of a plug-in for all pairs that lack it. Its numbers can be sorted and
    filtered by, and are exported. Stop it at any time: the same command resumes."""
    with reported(as_json):
        workspace, dataset_id = open_dataset(dataset, database=db)
        with progress("Measuring") as update:
            report = workspace.jobs.run("measure", dataset_id, update, measure=measure)
        without = report.without + report.unreadable
        rest = f" {count_of(without, 'pair')} got no number." if without else ""
        emit(report, as_json, f"{count_of(report.measured, 'caption')} measured now.{rest}")
