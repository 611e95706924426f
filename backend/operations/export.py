"""`export`: write the cleaned dataset."""

from datetime import datetime
from hashlib import sha256
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Annotated

from pydantic import AfterValidator, Field

from backend.datasets.export_formats import EXPORT_FORMATS
from backend.datasets.read_options import is_address
from backend.datasets.safe_files.regular_files import typed_path
from backend.errors import UnsafePath
from backend.jobs.export_choice import ExportChoice
from backend.jobs.export_reports import ExportReport
from backend.jobs.export_steps import options_of, steps
from backend.operations.operation import Operation
from backend.options import CommandLine, Options, switch
from backend.progress import Progress

if TYPE_CHECKING:
    from backend.operations.context import Context
    from db.queries.job_queries import JobRow

#: The key of the curator who started a job, beside its options and later its report.
STARTER = "started_by"


def _is_format(name: str) -> str:
    if name not in EXPORT_FORMATS:
        formats = ", ".join(EXPORT_FORMATS)
        raise ValueError(f"'{name[:80]}' is not an export format; use one of: {formats}.")
    return name


class _OwnOptions(Options):
    out: Annotated[str, CommandLine(is_argument=True, is_required=True)] = ""
    """Output folder, or an address such as s3://BUCKET/FOLDER; it must not exist yet."""
    format: Annotated[str, AfterValidator(_is_format)] = Field(
        "imagefolder", description=f"One of {', '.join(EXPORT_FORMATS)}."
    )
    queue: str = ""
    """Only these pairs, as in a queue's address after the ?: 'p_error_to=0.5&review=all'. Without
    review=…: undecided ones, as on the page."""
    view: str | None = None
    """Only the pairs of a saved view, by name."""
    choice: ExportChoice = ExportChoice()
    """What is kept."""
    overwrite: Annotated[bool, switch("overwrite")] = False
    """Replace an earlier export; other files in its folder are kept."""


#: The options that features and other packages add.
_ADDED = tuple(step.options for step in steps() if step.options.model_fields)


class ExportOptions(*_ADDED, _OwnOptions):  # pyrefly: ignore[invalid-inheritance]
    """Write the cleaned dataset, corrections applied, with a card that says what was removed."""


def prepare(context: "Context", dataset_id: int, options: ExportOptions) -> ExportOptions:
    """Refuses a queue or a view that does not exist, and others' exports; an export without a
    folder gets a new one, a relative one is among the exports, since whoever names it does not
    know where the server was started; and all have their pictures."""
    fields = context.review.queue_fields(dataset_id, options.queue, options.view)
    if fields is not None:
        context.review.filter_of(dataset_id, fields)
    # A browser downloads the export, and has nothing else.
    choice = options.choice.model_copy(update={"copy_images": True})
    options = options.model_copy(update={"choice": choice})
    if not options.out:
        return options.model_copy(update={"out": str(new_folder(context, dataset_id))})
    if not is_address(options.out):
        typed_path(options.out)  # refuses what is no path
        if not (folder := Path(options.out).expanduser()).is_absolute():
            out = str(_among_exports(context, folder))
            options = options.model_copy(update={"out": out})
    check_own(context, options.out)
    return options


def run(
    context: "Context", dataset_id: int, options: ExportOptions, progress: Progress
) -> ExportReport:
    """The pairs are selected now: a queue as text survives a restart, and a million ids need not be
    stored."""
    check_own(context, options.out)
    choice = options.choice
    if options.queue or options.view is not None:
        only = context.review.select_pairs(dataset_id, options.queue, options.view)
        choice = choice.model_copy(update={"only": only})
    return context.export(
        dataset_id, choice, options.out, options.format, options.overwrite, progress,
        **options_of(options),
    )  # fmt: skip


def exports_of(context: "Context") -> Path:
    """Where the exports are of the account that starts them."""
    if (account := context.reader) is None:
        return context.exports
    return context.exports / f"{_plain(account)}-{sha256(account.encode()).hexdigest()[:8]}"


def _among_exports(context: "Context", folder: Path) -> Path:
    exports = exports_of(context)
    if typed_path(exports) not in typed_path(exports / folder).parents:
        raise UnsafePath(
            f"'{folder}' leads out of the exports in {exports}. Name a folder in it, or a path "
            "from the root."
        )
    return exports / folder


def new_folder(context: "Context", dataset_id: int) -> Path:
    """A folder for one export."""
    from db.queries import dataset_queries

    name = context.store.read(dataset_queries.get_dataset, dataset_id).name
    return exports_of(context) / f"{_plain(name)}-{datetime.now():%Y%m%d-%H%M%S}-{token_hex(3)}"


def check_own(context: "Context", out: str) -> None:
    """Raise UnsafePath if a curator names a folder with an export that is not their own, or one
    inside it."""
    from backend.datasets.export_row import MARK
    from backend.datasets.writing import export_folder
    from db.queries import job_queries

    if context.reader is None or is_address(out):
        return
    place = typed_path(out)
    for folder in (place, *place.parents):
        if not (folder / MARK).exists():
            continue
        job = context.store.read(job_queries.last_export, str(folder))
        is_own = (
            folder == place
            and job is not None
            and starter_of(job) == context.reader
            and job.result.get("digest") == export_folder.digest_of(folder)
        )
        if not is_own:
            raise UnsafePath(
                "That folder holds an export that is not yours. Name another one, or none: "
                "then each export gets a folder of its own."
            )


def starter_of(job: "JobRow") -> str | None:
    """The curator who started the job; None: an operator."""
    name = job.result.get(STARTER) or job.arguments.get(STARTER)
    return None if name is None else str(name)


def _plain(name: str) -> str:
    """A name as a part of a path."""
    return "".join(c if c.isalnum() or c in "-_" else "_" for c in name)[:60]


EXPORT = Operation(
    "export",
    "Writing",
    ExportOptions,
    run,
    prepare,
    uses=("export to {out}",),
    is_private=True,
    is_started_by_kind=False,
    activity="Exporting",
)
