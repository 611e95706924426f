"""`rows`: whose caption is it?"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pydantic import Field

from backend.jobs.notices import Notice
from backend.operations.operation import Operation
from backend.options import Options
from backend.progress import Progress

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

    from backend.features.rows.report import RowsReport
    from backend.jobs.notices import Sentence
    from backend.loaded_models import Engine
    from backend.operations.context import Context
    from backend.store import Store


class RowsOptions(Options):
    """Find captions that stand beside the picture of another row: files whose captions are shifted,
    sorted in another way or mixed up, and captions that have changed places. Opens no image;
    scoring runs it too.

    With --mend each picture gets its own caption back, as a correction by a rule, in one step that
    can be undone; pictures with a verdict keep theirs, and the source is never modified.
    """

    mend: bool = False
    """Move the captions to the pictures that they belong to."""
    dry_run: bool = False
    """With --mend: only show the first changes."""


def run(
    context: "Context", dataset_id: int, options: RowsOptions, progress: Progress
) -> "RowsReport":
    from backend.features.rows import mending, suggesting

    engine = context.engines.of_dataset(dataset_id)
    if options.mend and not options.dry_run:
        curator = context.reader or context.settings.author
        return mending.mend(context.store, engine, dataset_id, curator, progress)
    report = mending.look(context.store, engine, dataset_id, progress)
    suggesting.suggest_captions(context.store, engine, dataset_id, progress)
    return report


class FirstLookOptions(Options):
    """Look at the first rows of a dataset before it is scored: whether their captions stand beside
    the pictures of other rows. An import does it afterwards, unless the setting first_look is off.

    The smallest model on this machine that knows the pictures is used, none is downloaded.
    """

    rows: int = Field(2000, ge=50, le=20_000)
    """How many rows."""


def look_first(
    context: "Context", dataset_id: int, options: FirstLookOptions, progress: Progress
) -> "RowsReport":
    from backend.features.rows import first_look

    return first_look.look_first(context.store, context.engines, dataset_id, options.rows, progress)


def _is_due(context: "Context", dataset_id: int) -> bool:
    from backend.features.rows import first_look

    return first_look.is_due(context.store, dataset_id)


def _sentences(store: "Store", dataset_id: int) -> "Sequence[Sentence]":
    from backend.features.rows import mending

    return mending.sentences(store, dataset_id)


def _look(store: "Store", engine: "Engine", dataset_id: int, progress: Progress) -> None:
    from backend.features.rows import mending

    mending.look(store, engine, dataset_id, progress)


def _suggest(store: "Store", engine: "Engine", dataset_id: int, progress: Progress) -> None:
    from backend.features.rows import suggesting

    suggesting.suggest_captions(store, engine, dataset_id, progress)


def _set_aside(session: "Session", dataset_id: int) -> Sequence[tuple[int, int]]:
    from backend.features.rows import mending

    return mending.set_aside(session, dataset_id)


def _details(store: "Store", dataset_id: int) -> Mapping[str, Any]:
    from backend.features.rows import mending

    return mending.details(store, dataset_id)


ROWS = Operation(
    "rows",
    "Comparing rows",
    RowsOptions,
    run,
    is_private=True,
    is_command=True,
    activity="Looking for captions of other rows in",
    button="Look for captions of other rows",
    advice="The page Rows shows them, and moves them back.",
)
FIRST_LOOK = Operation(
    "first-look",
    "Looking at the first rows",
    FirstLookOptions,
    look_first,
    uses=("first look at {dataset}",),  # scoring does not wait for it
    is_private=True,
    is_command=True,
    activity="Looking at the first rows of",
    advice="",
    follows_import=_is_due,
)
NOTICE = Notice(_sentences, "rows", _look, _suggest, _set_aside, _details)
