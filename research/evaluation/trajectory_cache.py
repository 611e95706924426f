"""On-disk cache of an evaluation's trajectories, so that they can be reused without scoring again.

One file per run, keyed by scorer and revision, explorer and parameters, and the pairs. Files are
written under a temporary name and renamed, so an interruption leaves no partial file.
"""

import hashlib
import json
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from backend.engine.captions import Caption
from backend.engine.expectation import Expectation
from backend.engine.trajectories.trajectory import AuxiliaryScores, Trajectory

_ARRAYS = ("scores", "similarities", "removed", "first_step_scores")
_SECOND = ("scores", "first_step_scores")


def cached_trajectories(
    folder: Path,
    what: dict[str, Any],
    captions: Sequence[str],
    make: Callable[[], list[Trajectory]],
) -> list[Trajectory]:
    """The trajectories of `captions` for the key `what`: read from `folder`, or made and saved."""
    path = _path(folder, what, captions)
    trajectories = _read(path, captions)
    if trajectories is None:
        trajectories = make()
        _write(path, trajectories)
    return trajectories


def cached_words(
    folder: Path,
    what: dict[str, Any],
    captions: Sequence[str],
    make: Callable[[], list[NDArray[np.float64]]],
) -> list[NDArray[np.float64]]:
    """The same for one array of numbers per caption."""
    path = _path(folder, what, captions)
    try:
        with np.load(path, allow_pickle=False) as kept:
            return np.split(kept["values"], np.cumsum(kept["lengths"])[:-1])
    except (OSError, ValueError, KeyError, zipfile.BadZipFile):
        words = make()
    lengths = np.array([len(part) for part in words], np.int64)
    _replace(path, {"values": np.concatenate([np.zeros(0), *words]), "lengths": lengths})
    return words


def cached_expectations(
    folder: Path,
    what: dict[str, Any],
    captions: Sequence[str],
    make: Callable[[], list[Expectation]],
) -> list[Expectation]:
    """The same for a captioner's expectations of the words; alternatives are not saved."""
    path = _path(folder, what, captions)
    try:
        with np.load(path, allow_pickle=False) as kept:
            ends = np.cumsum(kept["lengths"])[:-1]
            log_p, distance = np.split(kept["log_p"], ends), np.split(kept["distance"], ends)
            captioner = str(kept["captioner"])
        return [Expectation(*values, (), captioner) for values in zip(log_p, distance, strict=True)]
    except (OSError, ValueError, KeyError, zipfile.BadZipFile):
        made = make()
    empty = np.zeros(0, np.float32)
    _replace(
        path,
        {
            "log_p": np.concatenate([empty, *(expectation.log_p for expectation in made)]),
            "distance": np.concatenate([empty, *(expectation.distance for expectation in made)]),
            "lengths": np.array([len(expectation.log_p) for expectation in made], np.int64),
            "captioner": np.array(made[0].captioner if made else ""),
        },
    )
    return made


def _path(folder: Path, what: dict[str, Any], captions: Sequence[str]) -> Path:
    key = json.dumps(
        {**what, "format": 2, "captions": list(captions)}, sort_keys=True, ensure_ascii=True
    )
    return folder / f"{hashlib.sha256(key.encode()).hexdigest()[:24]}.npz"


def _replace(path: Path, arrays: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(".part")
    with temporary.open("wb") as file:
        np.savez_compressed(file, **arrays)
    temporary.replace(path)


def _write(path: Path, trajectories: Sequence[Trajectory]) -> None:
    arrays: dict[str, Any] = {}
    for name in _ARRAYS:
        parts = [np.asarray(getattr(t, name)) for t in trajectories]
        arrays[name] = np.concatenate([np.zeros(0), *parts])
        arrays[f"{name}_lengths"] = np.array([len(part) for part in parts], np.int64)
    auxiliaries = [t.auxiliary for t in trajectories if t.auxiliary is not None]
    if auxiliaries and len(auxiliaries) == len(trajectories):  # one scorer: all or none have it
        for name in _SECOND:
            arrays[f"second_{name}"] = np.concatenate(
                [getattr(auxiliary, name) for auxiliary in auxiliaries]
            )
    arrays["truncated"] = np.array([t.truncated for t in trajectories], np.bool_)
    texts = json.dumps([t.captions for t in trajectories])
    arrays["captions"] = np.frombuffer(texts.encode(), np.uint8)
    _replace(path, arrays)


def _read(path: Path, captions: Sequence[str]) -> list[Trajectory] | None:
    try:
        with np.load(path, allow_pickle=False) as arrays:
            parts = {
                name: np.split(arrays[name], np.cumsum(arrays[f"{name}_lengths"])[:-1])
                for name in _ARRAYS
            }
            truncated = arrays["truncated"].tolist()
            texts = json.loads(arrays["captions"].tobytes())
            auxiliaries = _auxiliary_scores(arrays, len(captions))
    except (OSError, ValueError, KeyError, zipfile.BadZipFile):
        return None
    return [
        Trajectory(
            Caption.parse(caption),
            parts["scores"][i].astype(np.float32),
            parts["similarities"][i].astype(np.float32),
            tuple(parts["removed"][i].astype(int).tolist()),
            parts["first_step_scores"][i].astype(np.float32),
            truncated[i],
            None if texts[i] is None else tuple(texts[i]),
            auxiliaries[i],
        )
        for i, caption in enumerate(captions)
    ]


def _auxiliary_scores(arrays: Any, count: int) -> list[AuxiliaryScores | None]:
    """The auxiliary scores, whose arrays have the same lengths as those of s; None if absent."""
    if "second_scores" not in arrays:
        return [None] * count
    parts = [
        np.split(
            arrays[f"second_{name}"].astype(np.float32), np.cumsum(arrays[f"{name}_lengths"])[:-1]
        )
        for name in _SECOND
    ]
    return [AuxiliaryScores(*parts_of_pair) for parts_of_pair in zip(*parts, strict=True)]
