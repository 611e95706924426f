"""The command `check`."""

from pathlib import Path
from typing import Annotated

import typer

from backend.cli.output import emit, open_dataset
from backend.features.quality_gate.operation import CheckOptions
from backend.operations.common_options import Common, Dataset
from backend.options import CommandLine


class CheckCommand(CheckOptions):
    __doc__ = CheckOptions.__doc__
    junit: Annotated[Path | None, CommandLine(metavar="FILE")] = None
    """Also write the answer as a JUnit test case, for continuous integration."""


def check(dataset: Dataset, options: CheckCommand, common: Common) -> None:
    workspace, dataset_id = open_dataset(dataset, **common.settings())
    values = options.model_dump(exclude={"junit"})
    report = workspace.jobs.run("check", dataset_id, **values)
    if options.junit is not None:
        options.junit.write_text(report.as_junit(), encoding="utf-8")
    emit(report, common.as_json, report.in_words())
    if report.exit_status:
        raise typer.Exit(report.exit_status)


COMMANDS = {"check": check}
