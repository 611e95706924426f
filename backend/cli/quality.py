"""`quality`: find issues of pictures, independent of their captions."""

from typing import Annotated

import typer

from backend.cli.options import AS_JSON, DATABASE
from backend.cli.output import emit, open_workspace, progress, reported
from backend.settings import load_settings


def quality(
    dataset: Annotated[str, typer.Argument(help="Name in the database.")],
    db: DATABASE = None,
    as_json: AS_JSON = False,
) -> None:
    """Look at a dataset's pictures: dark, bright, blurry, of odd size or shape, with little
    information, exact and near duplicates. By CleanVision's measures; needs no scores.

    Stop it at any time: the same command resumes where it stopped. The queue is filtered by
    picture=dark and the like.
    """
    with reported(as_json):
        workspace = open_workspace(load_settings({"database": db}))
        dataset_id = workspace.find(dataset)
        with progress("Looking at pictures") as update:
            report = workspace.jobs.measure_pictures(dataset_id, update)
        lines = [
            f"{count:,} {issue.replace('_', ' ')}"
            for issue, count in report.issues.items()
            if count
        ]
        unreadable = f" {report.unreadable:,} cannot be read." if report.unreadable else ""
        emit(
            report,
            as_json,
            f"{report.measured:,} pictures looked at now.{unreadable} Of {report.pairs:,} pairs: "
            + (", ".join(lines) or "nothing was found")
            + ".",
        )
