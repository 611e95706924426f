"""The only module that loads models, tokenizers and processors from the hub, a directory or a file.

Four guarantees: a model's own Python code is never run, and no prompt offers to run it; pickles are
read as plain tensors or not at all; nothing is downloaded (`backend.jobs.model_download` does that,
on request); and any exception of a library becomes a `ModelUnavailable` that states which model
failed, why, and what to do, or an `OutOfMemory`.

Importing this module makes torchvision importable (`torchvision_compat`), so modules that use
transformers or open_clip import it first (`tests/engine/test_hub.py`).
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

import backend.engine.torchvision_compat  # noqa: F401  (before anything imports torchvision)

# transformers replaces itself in sys.modules while it is imported: a second thread that imports it
# concurrently gets the incomplete module and fails with "cannot import name". Importing it here
# makes such threads wait until it is complete.
import transformers  # noqa: F401, isort:skip
from transformers.utils.logging import disable_progress_bar

from backend.datasets.safe_files.regular_files import open_regular
from backend.engine.hub_cache import HUB_NAME, commit_of, folder_of, snapshot_of
from backend.engine.presets import asked_for_as
from backend.errors import (
    ModelMismatch,
    ModelMissing,
    ModelUnavailable,
    TracedError,
    is_out_of_memory,
    not_loaded,
)

# Loads in two threads disturb each other: transformers changes global state meanwhile, and a model
# comes without some of its weights.
_ONE_AT_A_TIME = threading.RLock()

# The "Loading weights" bar would clutter command output and server logs.
disable_progress_bar()
# cuDNN plans its attention anew for every shape, and every round has another: on an H100 the demo
# took 58 s in bfloat16 instead of 8 s in float32, for which cuDNN has none.
torch.backends.cuda.enable_cudnn_sdp(False)

_FILE_SUFFIXES = (".safetensors", ".bin", ".pt", ".pth", ".ckpt", ".gguf", ".json")
#: Weights files in a directory, as read by transformers.
_WEIGHTS = ("*.safetensors", "pytorch_model*.bin")
_GET_AGAIN = (
    "Download it again and compare its size with the original's, or use a copy in the safetensors "
    "format."
)


def load(
    loader: Any, name: str | Path, what: str = "The model", advice: str = "", **options: Any
) -> Any:
    """`loader.from_pretrained(name)` for any transformers (or diffusers) class.

    `name`: a directory, or a hub name that has been downloaded. Raises ModelUnavailable.
    """
    name = str(name)
    _check_place(what, name, advice)
    options |= from_cache(what, name)
    with _ONE_AT_A_TIME, failures_explained(what, name, advice):
        # By its folder: by name, transformers' Auto classes ask the hub for an adapter in any case.
        place = str(snapshot_of(name) or name)
        return loader.from_pretrained(place, trust_remote_code=False, **options)


def load_weights(
    loader: Any,
    name: str | Path,
    what: str = "The model",
    advice: str = "",
    optional: tuple[str, ...] = (),
    **options: Any,
) -> Any:
    """A model with all of its weights, in evaluation mode; weights whose names begin with one of
    `optional` may be missing. Raises ModelUnavailable, or ModelMismatch if others are missing."""
    model, report = load(loader, name, what, advice, output_loading_info=True, **options)
    missing = [key for key in report["missing_keys"] if not key.startswith(optional)]
    if missing:
        raise ModelMismatch(
            f"'{name}' lacks {len(missing)} weights that a {type(model).__name__} needs "
            f"(the first: {sorted(missing)[0]}). {advice}".rstrip()
        )
    return model.eval()


def read_tensors(path: Path) -> Any:
    """Load a `torch.save` file on the CPU: tensors and plain containers, never code.

    Raises ModelUnavailable for a missing or damaged file, OutOfMemory.
    """
    if not path.is_file():
        raise ModelUnavailable(f"There is no file '{path}'.")
    _refuse_database(path)
    try:
        return torch.load(path, map_location="cpu", weights_only=True)
    except Exception as problem:  # torch passes on any exception of pickle and zip
        if is_out_of_memory(problem):
            raise not_loaded("The file", str(path), problem, "") from problem
        raise ModelUnavailable(_damage_text(path, problem)) from problem


def from_cache(what: str, name: str) -> dict[str, Any]:
    """Options that restrict `from_pretrained` to local files, at the downloaded commit of a hub
    model. Raises ModelMissing if it has never been downloaded."""
    if Path(name).expanduser().exists():
        return {"local_files_only": True}
    if not (folder_of(name) / "snapshots").is_dir():
        raise ModelMissing(f"{what} '{name}' has not been downloaded.", asked_for_as(name))
    return {"local_files_only": True, "revision": commit_of(name) or None}


@contextmanager
def failures_explained(what: str, name: str, advice: str) -> Iterator[None]:
    """Convert any exception of a library to ModelUnavailable, or to OutOfMemory if memory ran out;
    our own errors pass unchanged. A file that is no model's but a database is refused unread."""
    _refuse_database(Path(name).expanduser())
    _disable_prompts()
    try:
        yield
    except TracedError:
        raise
    except Exception as problem:  # any type: raised by five libraries and pickle
        if is_out_of_memory(problem):
            raise not_loaded(what, name, problem, advice) from problem
        if damage := damaged_weights(Path(name)):
            raise ModelUnavailable(f"{what} cannot be loaded: {damage}") from problem
        if HUB_NAME.fullmatch(name) and (folder_of(name)).is_dir() and not commit_of(name):
            raise ModelMissing(
                f"{what} '{name}' has only been downloaded in part.", asked_for_as(name)
            ) from problem
        raise not_loaded(what, name, problem, advice) from problem


def damaged_weights(place: Path) -> str:
    """Which weights file in a directory (or the file itself) cannot be read, why, and what to do;
    empty if all are readable."""
    if place.is_dir():
        files = sorted(path for pattern in _WEIGHTS for path in place.glob(pattern))
    else:
        files = [place] if place.is_file() else []
    for path in files:
        try:
            if path.suffix == ".safetensors":
                from safetensors import safe_open

                with safe_open(path, "pt") as weights_file:
                    weights_file.keys()
            else:
                torch.load(path, map_location="meta", weights_only=True)
        except Exception as problem:
            return _damage_text(path, problem)
    return ""


def _damage_text(path: Path, problem: BaseException) -> str:
    size = path.stat().st_size
    if "unsupported global" in str(problem).lower() or "GLOBAL" in str(problem):
        return (
            f"'{path}' contains Python code alongside its weights, which is never run. Use a copy "
            "in the safetensors format, or get plain weights from its author."
        )
    return (
        f"'{path}' ({size:,} bytes) cannot be read: truncated or damaged "
        f"({type(problem).__name__}). {_GET_AGAIN}"
    )


def _refuse_database(path: Path) -> None:
    """Raises ModelUnavailable for a database: a library that opens and closes it would drop the
    locks of this process (see `regular_files`)."""
    try:
        if path.is_file():
            open_regular(path).close()
    except OSError as problem:
        reason = problem.strerror or str(problem)
        raise ModelUnavailable(f"'{path}' cannot be read as a model: {reason}.") from problem


def _check_place(what: str, name: str, advice: str) -> None:
    """Raises ModelUnavailable if `name` can be neither a directory nor a hub name."""
    path = Path(name).expanduser()
    if path.is_file():
        raise ModelUnavailable(
            f"{what} '{name}' is a file; a model is given by its directory. {advice}".rstrip()
        )
    looks_local = not HUB_NAME.fullmatch(name) or path.suffix in _FILE_SUFFIXES
    if not path.exists() and looks_local:
        raise ModelUnavailable(
            f"{what} '{name}' could not be loaded: there is no file or directory of that name. "
            f"{advice}".rstrip()
        )


def _disable_prompts() -> None:
    """If an intermediate library does not pass `trust_remote_code=False`, transformers prompts on
    standard input before running a model's code. With a timeout of 0 it refuses instead."""
    from transformers import dynamic_module_utils

    dynamic_module_utils.TIME_OUT_REMOTE_CODE = 0  # pyrefly: ignore[bad-assignment]


def native_bfloat16(device: str) -> bool:
    """Whether the device supports bfloat16 natively: CUDA from compute capability 8.0 on. Older
    GPUs emulate it, slower than float32."""
    if not device.startswith("cuda"):
        return False
    return torch.cuda.get_device_capability(torch.device(device))[0] >= 8
