"""`apply`: write corrections into the source."""

from typing import TYPE_CHECKING, Annotated

from pydantic import AfterValidator

from backend.datasets.read_options import as_delimiter
from backend.operations.operation import Operation
from backend.options import Options
from backend.progress import Progress

if TYPE_CHECKING:
    from backend.features.in_place.report import ApplyReport
    from backend.operations.context import Context


class ApplyOptions(Options):
    """Write decided corrections into the source's own files: texts and JSON beside pictures, CSV,
    TSV, JSON and lists of pictures with captions. Only the captions change, to the byte; nothing is
    removed or tagged.

    Copies of the files as they were are kept in the folder .bak of the source, and --undo puts them
    back. A file that has changed since the import is left alone and listed.
    """

    dry_run: bool = False
    """Only show the changes, as a unified diff."""
    undo: bool = False
    """Put the files back as they were before the last run."""
    caption_column: str | None = None
    """Column or field with the captions. Default: as at the import."""
    encoding: str | None = None
    """Encoding of the files. Default: as at the import."""
    delimiter: Annotated[str | None, AfterValidator(as_delimiter)] = None
    """Delimiter of the CSV file. Default: as at the import."""


def prepare(context: "Context", dataset_id: int, options: ApplyOptions) -> ApplyOptions:
    """Refuses curators who may not settle: the source belongs to all."""
    context.check_may_settle("Only an adjudicator may change the source's files.")
    return options


def run(
    context: "Context", dataset_id: int, options: ApplyOptions, progress: Progress
) -> "ApplyReport":
    from backend.features.in_place import applying

    prepare(context, dataset_id, options)
    place = context.settings.data_directory
    if options.undo:
        return applying.put_back(context.store, dataset_id, place, progress)
    return applying.apply(
        context.store, dataset_id, place, options.caption_column or "", options.encoding,
        options.delimiter, options.dry_run, progress,
    )  # fmt: skip


APPLY = Operation(
    "apply",
    "Writing into the source",
    ApplyOptions,
    run,
    prepare,
    uses=("source of {dataset}",),
    is_private=True,
    is_command=True,
    activity="Writing corrections into the source of",
)
