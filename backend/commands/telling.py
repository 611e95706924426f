"""What all commands share: the store they work on, how they tell results, progress and errors.

Results go to standard output, everything else to standard error, so that `--json` can be piped.
"""

import contextlib
import dataclasses
import json
import traceback
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from backend.errors import TracedError, explain
from backend.settings import Settings, default_data_directory
from backend.version import VERSION

if TYPE_CHECKING:
    from backend.workspace import Workspace

console = Console(stderr=True, highlight=False)


def open_workspace(settings: Settings) -> "Workspace":
    # Imported late: `--help` answers without loading torch.
    from backend.workspace import Workspace

    return Workspace(settings)


def shown_database(settings: Settings) -> str:
    """The database's URL without its password."""
    from sqlalchemy.engine import make_url

    return make_url(settings.database_url).render_as_string(hide_password=True)


def emit(report: Any, as_json: bool, summary: str) -> None:
    """The command's result: one JSON object, or a sentence for people."""
    if as_json:
        print(json.dumps(dataclasses.asdict(report), default=str, ensure_ascii=False))
    else:
        console.print(escape(summary), soft_wrap=True)  # tables stay tables


class RateColumn(ProgressColumn):
    """How many a second."""

    def render(self, task: Task) -> Text:
        return Text(f"{task.speed:.1f}/s" if task.speed else "")


@contextlib.contextmanager
def progress(title: str) -> Iterator[Callable[[int, int, str], None]]:
    """A progress bar on standard error; yields update(done, total, message)."""
    columns = (
        SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(),
        TimeElapsedColumn(), TimeRemainingColumn(), RateColumn(),
    )  # fmt: skip
    with Progress(*columns, console=console, transient=not console.is_terminal) as bars:
        task = bars.add_task(title, total=None)

        def update(done: int, total: int, message: str = "") -> None:
            bars.update(
                task, completed=done, total=total or None, description=escape(message or title)
            )

        yield update


@contextlib.contextmanager
def reported(as_json: bool) -> Iterator[None]:
    """Turn errors into one clear line, and into an exit status that scripts can trust."""
    try:
        yield
    except TracedError as error:
        fail(error, error.exit_status, as_json)
    except KeyboardInterrupt:
        console.print("Stopped. What was finished is kept; the same command goes on from there.")
        raise typer.Exit(130) from None
    except typer.Exit:
        raise
    except Exception as error:
        log_unexpected()
        fail(error, 1, as_json)


def log_unexpected() -> None:
    """Keep the traceback of an error nobody foresaw where a bug report can find it."""
    path = default_data_directory() / "traced.log"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as log:
        log.write(f"--- {datetime.now(UTC).isoformat()} {VERSION}\n{traceback.format_exc()}\n")
    console.print(f"Details: {escape(str(path))}")


def fail(error: BaseException, status: int, as_json: bool) -> None:
    console.print(f"[red]Error:[/] {escape(explain(error))}", soft_wrap=True)
    if as_json:
        print(json.dumps({"error": explain(error), "exit_status": status}, ensure_ascii=False))
    raise typer.Exit(status) from error
