"""Training that survives being killed: periodic checkpoints; later steps are repeated."""

import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol, TypeVar

import torch

from backend.datasets.safe_files.regular_files import replacement
from backend.engine import hub
from backend.errors import SettingsError

Figures = TypeVar("Figures")
_Yielded = TypeVar("_Yielded", covariant=True)

#: Seconds between checkpoints.
EVERY = 60.0


class Training(Protocol[_Yielded]):
    """A training whose next step is a function of its state: `Likelihood`, `SelfRetrieval`."""

    done: int

    def steps(self, until: int | None = None) -> Iterator[_Yielded]: ...

    def state(self) -> dict[str, Any]: ...

    def restore(self, state: Mapping[str, Any]) -> None: ...


def run(
    training: Training[Figures],
    path: Path,
    identity: str,
    each: Callable[[Figures], None] = lambda figures: None,
    every: float | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> None:
    """Train to the end, from the checkpoint in `path` if there is one.

    `identity`: of the recipe and the data, so that the checkpoint of another training is never
    resumed. `each` receives the figures of every step of this run; `every`: seconds between
    checkpoints, None: `EVERY`. Raises SettingsError if the checkpoint belongs to another training.
    """
    if path.exists():
        checkpoint = hub.read_tensors(path)
        if checkpoint["identity"] != identity:
            raise SettingsError(
                f"'{path}' belongs to a training with other settings or other data. Delete it, or "
                "choose another folder."
            )
        training.restore(checkpoint["state"])
    every = EVERY if every is None else every
    saved_at = clock()
    for figures in training.steps():
        each(figures)
        if clock() - saved_at >= every:
            _save(path, training, identity)
            saved_at = clock()
    _save(path, training, identity)


def _save(path: Path, training: Training[Any], identity: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacement(path) as part:
        torch.save({"identity": identity, "state": training.state()}, part)
