"""Where log entries go and in which form. All loggers of this program are below `traced`; those of
libraries keep their own names, and only their warnings are shown.

No entry holds a caption: messages name pairs by id, and tracebacks come without the messages of
errors, which are stored with the job or shown to who caused them. Credentials that a library puts
into a message are replaced.
"""

import contextlib
import json
import logging
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from backend.cli.output import errors, one_line, traceback_of, visible, without_credentials
from backend.errors import SettingsError

TREE = "traced"
LEVELS = ("debug", "info", "warning", "error")
_ENTRY = "%(asctime)s %(levelname)s %(name)s: %(message)s"


class _WithoutMessages(logging.Formatter):
    def formatException(self, ei: Any) -> str:  # noqa: N802  (logging's name)
        error = ei[1]
        return "" if error is None else traceback_of(error)


class VisibleLog(_WithoutMessages):
    """Each message is a line; only a traceback has several."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802  (logging's name)
        return one_line(super().formatMessage(record))

    def format(self, record: logging.LogRecord) -> str:
        return visible(without_credentials(super().format(record)))


class JsonLines(_WithoutMessages):
    """Each entry is a line of JSON: time (UTC), level, logger, message, and the traceback if there
    is one."""

    def format(self, record: logging.LogRecord) -> str:
        entry = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            entry["traceback"] = self.formatException(record.exc_info)
        return json.dumps({key: without_credentials(text) for key, text in entry.items()})


class _WithoutEntries(logging.Handler):
    """Where an entry cannot be written (a full disk, a closed terminal), only that is said:
    `logging` would print the entry and the messages of all errors that are being handled."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802  (logging's name)
        with contextlib.suppress(Exception):
            problem = type(sys.exception()).__name__
            errors.print(f"An entry of {record.name} could not be logged: {problem}.")


class _ToTerminal(_WithoutEntries, logging.StreamHandler[Any]):
    pass


class _ToFile(_WithoutEntries, logging.FileHandler):
    pass


def set_up(level: str = "warning", file: Path | None = None, as_json: bool = False) -> None:
    """Send entries to standard error, or to `file` alone. `level`: the lowest that this program
    logs. Raises SettingsError for a level that does not exist and a file that cannot be written."""
    if level.lower() not in LEVELS:
        raise SettingsError(f"There is no log level '{level}'. Choose one of {', '.join(LEVELS)}.")
    handler: logging.Handler = _ToTerminal()
    if file is not None:
        from backend.datasets.safe_files.regular_files import open_regular, typed_path

        file = typed_path(file)
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            if file.is_file():
                open_regular(file).close()  # raises DatabaseFile, an OSError, for a database
            handler = _ToFile(file, encoding="utf-8")
        except OSError as problem:
            raise SettingsError(
                f"The log file {file} cannot be written: {problem.strerror or problem}."
            ) from problem
    as_text = VisibleLog(_ENTRY if file is not None else None)
    handler.setFormatter(JsonLines() if as_json else as_text)
    handler.set_name(TREE)
    root = logging.getLogger()
    for earlier in [each for each in root.handlers if each.name == TREE]:
        root.removeHandler(earlier)
        earlier.close()
    root.addHandler(handler)
    logging.getLogger(TREE).setLevel(level.upper())
