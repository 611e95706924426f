"""Shared by all commands: opening the workspace, printing results, progress and errors.

Results go to standard output, everything else to standard error, so that `--json` can be piped.
Whatever is printed passes through `visible`: file names and captions from a dataset may hold
sequences that operate a terminal (move its cursor, rename its window, answer for its user).
"""

import contextlib
import dataclasses
import io
import json
import re
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)

from backend.errors import (
    INTERRUPTED,
    OutOfMemory,
    TracedError,
    as_traced,
    explain,
    is_out_of_memory,
)
from backend.progress import Pace
from backend.settings import Settings, load_settings, log_directory
from backend.version import VERSION

if TYPE_CHECKING:
    from backend.jobs.dataset_reports import ProblemRow
    from backend.workspace import Workspace

#: Control characters except tab and newline, those that change the direction of text, and the bytes
#: of file names that are not UTF-8.
_CONTROLS = {
    code: f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"
    for code in (*range(9), *range(11, 32), *range(127, 160), *range(0x202A, 0x202F),
                 *range(0x2066, 0x206A), *range(0xD800, 0xE000))
}  # fmt: skip

#: Credentials, and what stands before and behind them.
_CREDENTIALS = re.compile(
    r"(?P<before>://[^/\s:@]*:)[^/\s@]+(?P<behind>@)"  # in a URL
    r"|(?P<scheme>\b(?:bearer|basic)\s+)[\w.+/=~-]+"
    r"|(?P<key>[?&;](?:[\w-]*(?:token|key|secret|password|signature))=)[^&;\s'\"]+"
    r"|(?P<field>\b[\w-]*(?:password|passwd|secret|api[_-]?key|token)[\"']?\s*[:=]\s*[\"']?)"
    r"[^\s\"',;&}]+"
    r"|\b(?:hf|sk|ghp|github_pat)[_-][\w-]{8,}",
    re.IGNORECASE,
)


def visible(text: str) -> str:
    """The text with its control characters written as escapes.

    >>> visible("a\\x1b[2Jb")
    'a\\\\x1b[2Jb'
    """
    return text.translate(_CONTROLS)


def one_line(text: str) -> str:
    """The same without line breaks: a name or a caption that holds one must not look like a line of
    the program.

    >>> one_line("a.png\\nError: none")
    'a.png\\\\nError: none'
    """
    return visible(text).replace("\n", "\\n")


def without_credentials(text: str) -> str:
    """
    >>> without_credentials("postgresql://ada:secret@db/traced, Authorization: Bearer abc.def")
    'postgresql://ada:***@db/traced, Authorization: Bearer ***'
    """
    return _CREDENTIALS.sub(
        lambda match: "".join(
            (
                match["before"] or match["scheme"] or match["key"] or match["field"] or "",
                "***",
                match["behind"] or "",
            )
        ),
        text,
    )


def traceback_of(error: BaseException) -> str:
    """Where an unexpected error comes from: its lines of code and its type, after those of its
    causes. Without messages: a library may quote a caption in its own."""
    chain = [error]
    while (cause := _cause_of(chain[-1])) is not None and cause not in chain:
        chain.append(cause)
    return "\n".join(
        f"Traceback:\n{''.join(traceback.format_tb(each.__traceback__))}{type(each).__qualname__}"
        for each in reversed(chain)
    )


def _cause_of(error: BaseException) -> BaseException | None:
    return error.__cause__ or (None if error.__suppress_context__ else error.__context__)


class Terminal(Console):
    """A console that passes nothing from data on to the terminal but visible text. `clean`: of
    each string that is printed."""

    def __init__(self, clean: Callable[[str], str] = visible, **options: Any) -> None:
        # Colons of captions and names are no emoji: `<lora:x:1>`.
        super().__init__(highlight=False, emoji=False, **options)
        self._shown = clean

    def print(self, *objects: Any, **options: Any) -> None:
        super().print(*(self._shown(o) if isinstance(o, str) else o for o in objects), **options)


#: Messages and progress; `--quiet` silences it.
console = Terminal(one_line, stderr=True)
#: Errors, which are never silenced.
errors = Terminal(one_line, stderr=True)
#: Results for people; programs get plain JSON.
results = Terminal(soft_wrap=True)
#: Seconds between two lines of progress if there is no terminal, such as in a log.
LINE_EVERY = 30.0


def show_any_text() -> None:
    """Let outputs escape the characters that they cannot show, such as a file on Windows, instead
    of failing once the work is done."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


#: The workspaces of the command that runs; `report_errors` closes them.
_open: "list[Workspace]" = []


def open_workspace(settings: Settings) -> "Workspace":
    """A workspace that is closed when the command is done."""
    # Imported late, so that `--help` does not load torch.
    from backend.workspace import Workspace

    _open.append(Workspace(settings))
    return _open[-1]


def open_dataset(name: str, **options: Any) -> "tuple[Workspace, int]":
    """The workspace with these settings, and the id of a dataset in it."""
    workspace = open_workspace(load_settings(options))
    return workspace, workspace.find(name)


def emit(report: Any, as_json: bool, summary: str) -> None:
    """The command's result, a record or a mapping: one JSON object, or a sentence for people."""
    if as_json:
        print_json(report)
    else:
        results.print(escape(summary))  # no markup: brackets in tables are printed as they are


def print_left_out(problems: "Sequence[ProblemRow]", count: int = 0) -> None:
    """The first rows or pictures that were left out, each on a line, and how many others there are
    of `count`."""
    for problem in problems:
        place = problem.external_id or problem.file
        if problem.row is not None:
            place = f"{problem.file}, row {problem.row}"
        line = f"[yellow]left out[/] {escape(place)}: {escape(problem.message)}"
        console.print(line, soft_wrap=True)  # lines of a log are searched
    if count > len(problems):
        console.print(f"… and {count - len(problems)} more; *Add data* in the app lists all.")


def print_json(value: Any) -> None:
    """One line of JSON for programs. Control characters beyond ASCII, which JSON allows, are
    escaped as the others."""
    is_unicode = (sys.stdout.encoding or "").lower().replace("-", "").startswith("utf")
    line = json.dumps(value, default=_plain, ensure_ascii=not is_unicode)
    print(line.translate({code: f"\\u{code:04x}" for code in _CONTROLS if code >= 127}))


def _plain(value: Any) -> Any:
    is_record = dataclasses.is_dataclass(value) and not isinstance(value, type)
    return dataclasses.asdict(value) if is_record else str(value)


def confirm(question: str) -> bool:
    """Ask on standard error, with --quiet as well. Raises typer.Abort without an answer."""
    return typer.confirm(visible(question), err=True)


@contextlib.contextmanager
def progress(title: str) -> Iterator[Callable[[int, int, str], None]]:
    """A progress bar on standard error, or a line now and then if that is not a terminal; yields
    update(done, total, message)."""
    if not console.is_terminal:
        yield Lines(title).update
        return
    columns = (
        SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(),
        TimeElapsedColumn(),
    )  # fmt: skip
    pace = Pace()
    with Progress(*columns, console=console) as bars:
        task = bars.add_task(title, total=None)

        def update(done: int, total: int, message: str = "") -> None:
            step = pace.step(done, total, message or title, time.monotonic())
            text = " · ".join(filter(None, (step.stage, step.facts)))
            description = escape(one_line(text))
            bars.update(task, completed=done, total=total or None, description=description)

        yield update


class Lines:
    """Progress for a log: a line when a stage begins, and then every `LINE_EVERY` seconds, with the
    remaining time of the whole job where that is known, else of the stage."""

    def __init__(self, title: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._title, self._clock = title, clock
        self._stage: str | None = None
        self._began = clock()
        self._pace = Pace()
        self._printed = 0.0

    def update(self, done: int, total: int, message: str = "") -> None:
        now, stage = self._clock(), message or self._title
        facts = self._pace.step(done, total, stage, now).facts
        if stage == self._stage and now - self._printed < LINE_EVERY:
            return
        self._stage, self._printed = stage, now
        where = f": {done:,} of {total:,} ({done / total:.0%})" if total else ""
        pace = f" · {facts}" if facts else ""
        text = f"{stage}{where}, after {now - self._began:.0f} s{pace}"
        console.print(escape(text), soft_wrap=True)


@contextlib.contextmanager
def report_errors(as_json: bool) -> Iterator[None]:
    """The body of a command: errors become a one-line message and a documented exit status, and
    the databases that it opened are closed."""
    try:
        yield
    except TracedError as error:
        fail(error, error.exit_status, as_json)
    except KeyboardInterrupt:
        console.print("Stopped. Finished work is kept; the same command resumes from there.")
        raise typer.Exit(INTERRUPTED) from None
    except typer.Abort:  # Ctrl-C at a prompt, or the end of the input
        errors.print("Stopped: the question was not answered, and nothing was changed.")
        raise typer.Exit(INTERRUPTED) from None
    except typer.Exit:
        raise
    except Exception as error:
        if isinstance(missing := as_traced(error), TracedError):
            fail(missing, missing.exit_status, as_json)
        if is_out_of_memory(error):
            fail(error, OutOfMemory.exit_status, as_json)
        log_unexpected(error)
        fail(error, 1, as_json)
    finally:
        while _open:
            _open.pop().store.close()


def log_unexpected(error: BaseException) -> None:
    """Append where an unexpected error comes from to the log file, for a bug report; its message
    is printed."""
    path = log_directory() / "traced.log"
    entry = f"--- {datetime.now(UTC).isoformat()} {VERSION}\n{traceback_of(error)}\n"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as log:
            log.write(visible(without_credentials(entry)))
    except OSError as problem:
        errors.print(
            f"Details cannot be written to {escape(str(path))} ({problem.strerror or problem}). "
            "Name a folder that you may write to: TRACED_DATA_DIRECTORY=FOLDER.",
            soft_wrap=True,
        )
        return
    errors.print(f"Details: {escape(str(path))}")


def fail(error: BaseException, status: int, as_json: bool) -> None:
    text = explain(error, "terminal")
    errors.print(f"[red]Error:[/] {escape(text)}", soft_wrap=True)
    if as_json:
        with contextlib.suppress(OSError):  # the error may be that nothing can be printed
            print_json({"error": text, "exit_status": status})
    raise typer.Exit(status) from error


def say_which_model(refusal: str, dataset: str) -> None:
    """Print advice for a dataset whose model does not know its pictures, after `refusal`."""
    console.print(f"[yellow]Not scored:[/] {escape(refusal)}")
    console.print(
        "Choose a model that knows them: python app.py models list, then python app.py score "
        f"{escape(dataset)} --model NAME (*Add data* in the app does both). --anyway scores them "
        "nevertheless."
    )
