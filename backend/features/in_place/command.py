"""The command `watch`."""

import time
from typing import TYPE_CHECKING

from pydantic import Field

from backend.cli.output import console, emit, open_dataset, print_left_out, progress
from backend.operations.common_options import Common, Dataset
from backend.options import Options

if TYPE_CHECKING:
    from backend.jobs.dataset_reports import ImportReport


class WatchOptions(Options):
    """Import a dataset again whenever its source has changed: captions that other programs write
    are taken as by import --update take, and new pictures are added. Verdicts stay.

    Ctrl-C ends it; started again, it first takes what has changed meanwhile.
    """

    every: float = Field(5.0, ge=0.1, le=86400)
    """Seconds between two looks at the files. What has changed is taken once it stays as it is from
    one look to the next."""
    once: bool = False
    """Import what has changed since the last import, then exit."""


def watch(dataset: Dataset, options: WatchOptions, common: Common) -> None:
    from rich.markup import escape

    from backend.features.in_place import watching
    from db.queries import dataset_queries

    workspace, dataset_id = open_dataset(dataset, **common.settings())
    data_directory = workspace.settings.data_directory

    def look() -> str:
        row = workspace.store.read(dataset_queries.get_dataset, dataset_id)
        return watching.state_of_source(watching.source_to_watch(row, data_directory))

    def take() -> None:
        with progress("Importing") as update:
            report = watching.take(workspace, dataset_id, update)
        show(report)

    def show(report: "ImportReport") -> None:
        print_left_out(report.first_problems, report.problems)
        emit(report, common.as_json, f"{time.strftime('%H:%M:%S')} {report.in_words()}")

    if options.once:
        take()
        return
    watched = watching.Watch(
        look, take, lambda words: console.print(f"[yellow]Waiting:[/] {escape(words)}")
    )
    while True:
        watched.turn()
        time.sleep(watched.pause(options.every))


COMMANDS = {"watch": watch}
