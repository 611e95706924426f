"""`map`: lay a dataset's pictures out so that similar ones are close together."""

from typing import Annotated

import typer

from backend.cli.options import AS_JSON, DATABASE
from backend.cli.output import emit, open_workspace, progress, reported
from backend.settings import load_settings


def map_(
    dataset: Annotated[str, typer.Argument(help="Name in the database, scored.")],
    db: DATABASE = None,
    as_json: AS_JSON = False,
) -> None:
    """Draw a map of a dataset's pictures: t-SNE of the vectors stored by scoring.

    The Map page displays it; drawing around points there makes a queue of them. A new map replaces
    the old one and the regions drawn on it.
    """
    with reported(as_json):
        workspace = open_workspace(load_settings({"database": db}))
        dataset_id = workspace.find(dataset)
        with progress("Drawing the map") as update:
            report = workspace.jobs.run("map", dataset_id, update)
        without = f" {report.without:,} have no vector." if report.without else ""
        emit(
            report,
            as_json,
            f"{report.pictures:,} pictures ({report.pairs:,} pairs) are on the map."
            f"{without} See the Map page.",
        )
