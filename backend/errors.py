"""Every error that TRACED Curator raises on purpose.

    TracedError
    ├── DatasetError             a dataset cannot be read or written at all
    │   ├── DatasetNotFound      the path, or the name in the store, does not exist
    │   └── DatasetFormatError   the file is there, but is not what it claims to be
    ├── ImageError               one picture cannot be read (the pair is skipped and reported)
    ├── UnsafePath               a path leaves the dataset's root
    ├── ModelUnavailable         a model cannot be loaded: name, directory or file is wrong
    ├── ModelMismatch            it loads, but is not the kind of model that was asked for
    ├── Unreadable               a model's answer is not in the form that was asked for
    ├── BudgetSpent              the budget allows no further question to a model
    ├── TrainingError            a classifier cannot be trained on what there is
    ├── ExportError              an export cannot be written; nothing was left behind
    ├── StoreError               the database cannot be opened, or is newer than the program
    ├── NotFound                 a pair, a dataset, a classifier that is not in the store
    ├── VerdictConflict          somebody else decided this pair in the meantime
    └── SettingsError            an option or a TRACED_* variable makes no sense

The message is written for the person who can act on it: what is wrong, where, what to do.
`explain` is the one place that turns an error into what a terminal or a page shows.
"""

from pathlib import Path


class TracedError(Exception):
    """Base of all errors raised on purpose. Its text is shown to people as it is."""

    title = "Something went wrong"
    #: Exit status of the command line (0 is success, 2 is a usage error of the shell's own kind).
    exit_status = 1


class DatasetError(TracedError):
    title = "This dataset cannot be used"
    exit_status = 3


class DatasetNotFound(DatasetError):
    title = "There is no such dataset"


class DatasetFormatError(DatasetError):
    title = "This file is not in a form we can read"


class ImageError(TracedError):
    title = "This image cannot be read"
    exit_status = 3


class UnsafePath(DatasetError):
    title = "This path leads out of the dataset"


class ModelUnavailable(TracedError):
    title = "This model cannot be loaded"
    exit_status = 4


class ModelMismatch(ModelUnavailable):
    title = "This is not the kind of model that is needed here"


class Unreadable(TracedError):
    title = "The model's answer cannot be read"
    exit_status = 4


class BudgetSpent(TracedError):
    title = "The budget is spent"
    exit_status = 4


class TrainingError(TracedError):
    title = "The classifier cannot be trained"
    exit_status = 5


class ExportError(TracedError):
    title = "The export could not be written"
    exit_status = 6


class StoreError(TracedError):
    title = "The database cannot be used"
    exit_status = 7


class NotFound(TracedError):
    title = "Not found"
    exit_status = 8


class VerdictConflict(TracedError):
    title = "This pair was decided in the meantime"
    exit_status = 9


class SettingsError(TracedError):
    title = "This setting makes no sense"
    exit_status = 2


def not_loaded(what: str, name: str, problem: BaseException, advice: str) -> ModelUnavailable:
    """The error to raise where a model cannot be had: which, why by the first line of what its
    library says, and what to give instead.

    >>> str(not_loaded("The captioner", "blip", OSError(""), "Name another."))
    "The captioner 'blip' (hub name) could not be loaded: OSError. Name another."
    """
    where = "directory" if Path(name).exists() else "hub name"
    said = str(problem).strip().splitlines()
    reason = said[0][:200].rstrip(" .:") if said else type(problem).__name__
    return ModelUnavailable(f"{what} '{name}' ({where}) could not be loaded: {reason}. {advice}")


def explain(error: BaseException) -> str:
    """One or two plain sentences about `error`, without a traceback and without markup.

    >>> explain(DatasetNotFound("No file 'a.csv'. Give a path that exists."))
    "There is no such dataset: No file 'a.csv'. Give a path that exists."
    """
    if isinstance(error, TracedError):
        detail = str(error).strip()
        return f"{error.title}: {detail}" if detail else f"{error.title}."
    if isinstance(error, MemoryError):
        return "Out of memory: choose a smaller model or a smaller batch, then run again."
    if isinstance(error, OSError):
        where = f" ({error.filename})" if error.filename else ""
        return f"The system refused a file operation{where}: {error.strerror or error}."
    return f"Unexpected error ({type(error).__name__}): {error}. Details are in the log."
