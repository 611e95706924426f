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
    """Find pictures that are dark, bright, blurry, of odd size or shape, low in information, or
    exact or near duplicates, with CleanVision. The dataset need not be scored.

    Stop it at any time: the same command resumes where it stopped. Filter the queue by the results
    with picture=dark and so on.
    """
    with reported(as_json):
        workspace = open_workspace(load_settings({"database": db}))
        dataset_id = workspace.find(dataset)
        with progress("Looking at pictures") as update:
            report = workspace.jobs.run("quality", dataset_id, update)
        lines = [
            f"{count:,} {issue.replace('_', ' ')}"
            for issue, count in report.issues.items()
            if count
        ]
        unreadable = f" {report.unreadable:,} cannot be read." if report.unreadable else ""
        emit(
            report,
            as_json,
            f"{report.measured:,} pictures checked now.{unreadable} Of {report.pairs:,} pairs: "
            + (", ".join(lines) or "nothing was found")
            + ".",
        )
