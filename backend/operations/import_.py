"""`import`: read a dataset."""

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from backend.datasets.read_options import ReadOptions
from backend.jobs.dataset_reports import ImportReport
from backend.operations.operation import Operation
from backend.options import ARGUMENT, NOT_TYPED
from backend.progress import Progress

if TYPE_CHECKING:
    from backend.operations.context import Context


class ImportOptions(ReadOptions):
    """Import a dataset. Bad rows are listed and left out; the good ones are imported."""

    path: Annotated[str, ARGUMENT] = Field(min_length=1)
    """A folder of images with metadata.jsonl or metadata.csv, or with a caption file beside each
    (a.jpg, a.txt); a CSV, TSV, JSON, JSONL or Parquet file with an image path and a caption (or a
    conversation) per row; WebDataset tars, .tar.gz, a zip, Parquet with images, a saved Hugging
    Face dataset or a clone of one, hf:OWNER/NAME[@SUBSET][:REVISION] from the hub, or an address
    such as s3://BUCKET/FOLDER."""
    name: str | None = None
    """Name in the database. Default: the folder's or file's name."""
    update: Literal["keep", "take", "ask"] = "ask"
    """Rows that changed since the last import: keep the pairs as they are, take the new captions
    and splits (verdicts stay), or ask on a terminal, else keep."""
    gone: Literal["keep", "hide"] = "keep"
    """Pairs whose rows are gone since the last import: keep them, or hide them from queue and
    export until they come back."""
    anonymous: Annotated[bool, NOT_TYPED] = False
    """Do not show the hub this machine's token."""

    def reading(self) -> ReadOptions:
        """How the source is read."""
        return ReadOptions(**{name: getattr(self, name) for name in ReadOptions.model_fields})


def prepare(context: "Context", dataset_id: int, options: ImportOptions) -> ImportOptions:
    """Refuses what is no source, as far as can be told without reading."""
    from backend.jobs import import_dataset

    import_dataset.check_named(options.path, context.settings.data_directory)
    if options.image_root:
        import_dataset.check_source(options.image_root, context.settings.data_directory)
    return options


def run(
    context: "Context", dataset_id: int, options: ImportOptions, progress: Progress
) -> ImportReport:
    """Import, then check whether the model that would score the dataset knows its pictures."""
    update = "keep" if options.update == "ask" else options.update
    report = context.import_dataset(
        options.path, options.name, progress, update, options.gone, options.reading(),
        options.anonymous,
    )  # fmt: skip
    return replace(report, asks_for_model=context.needs_model(report.dataset_id))


IMPORT = Operation(
    "import",
    "Reading pairs",
    ImportOptions,
    run,
    prepare,
    uses=("import of {path}",),
    is_started_by_kind=False,
    activity="Importing",
)
