"""What can be run, as one object; `registry` lists all of them.

An operation's file imports nothing heavy at its top: `--help` reads every one of them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from backend.options import Options
from backend.progress import Progress

if TYPE_CHECKING:
    from backend.operations.context import Context

Chosen = TypeVar("Chosen", bound=Options)


def prepare_nothing(context: "Context", dataset_id: int, options: Chosen) -> Chosen:
    """Prepares nothing."""
    return options


def never(context: "Context", dataset_id: int) -> bool:
    return False


@dataclass(frozen=True)
class Operation(Generic[Chosen]):
    """`run`: its work on a dataset (0: none yet); returns a report that pydantic writes as JSON and
    that says itself in words (`in_words`).

    `title`: what it does, while it runs; `activity`: the same before the name of the dataset or
    model, where that differs. `button`: starts it under Add data, if it has no form there;
    `advice`: what to do next with its results; None: a page shows none of its words. `after_score`:
    whether the command `score` runs it afterwards, if an option of its name says so.
    `follows_import`: whether it is run in the background once this dataset was imported, by the
    command before it ends, unless the setting `first_look` is off; `after_import`: the options with
    which the command alone does so, for a page begins by itself. `prepare`: before a job is queued,
    checks what can be checked by then and completes the options. `uses`: names of what it uses
    alone: models serve one job at a time, and a dataset is ranked by one.
    `is_for_all`: its results are for everybody, so it uses only what everybody may know.
    `is_private`: of a job that somebody else has started, a curator sees only that it exists: its
    result is full of verdicts. `is_started_by_kind`: the API starts it on a dataset by its name.
    `is_command`: so does the command line, with its options alone; a command that offers more is in
    `app.py`.
    """

    name: str
    title: str
    options: type[Chosen]
    run: Callable[["Context", int, Chosen, Progress], Any]
    prepare: Callable[["Context", int, Chosen], Chosen] = prepare_nothing
    uses: tuple[str, ...] = ("ranking of {dataset}", "models")
    is_for_all: bool = False
    is_private: bool = False
    is_started_by_kind: bool = True
    is_command: bool = False
    activity: str = ""
    button: str = ""
    advice: str | None = None
    after_score: bool = False
    follows_import: Callable[["Context", int], bool] = never
    after_import: Chosen | None = None
