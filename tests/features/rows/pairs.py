"""Datasets of drawn vectors: pictures, and captions that fit them, stand elsewhere or are wrong."""

import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType, SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from backend.engine.unit_vectors import unit
from backend.jobs.scoring.vectors import image_file, remember_images
from backend.store import Store
from db.queries import run_queries
from db.queries.pair_queries import NewPair
from tests.db.building import add_pairs, start_run

WIDTH = 48
#: The likeness of a caption to its picture is about 0.7.
NOISE = 1.0


class DrawnPairs:
    """`pictures` [rows, d] and the texts of their captions, each with a vector near its picture's;
    a wrong caption has any vector."""

    def __init__(
        self,
        rows: int,
        seed: int = 0,
        pictures: NDArray[Any] | None = None,
        noise: float = NOISE,
    ) -> None:
        self.rng = np.random.default_rng(seed)
        self.pictures = unit(self.rng.normal(size=(rows, WIDTH)) if pictures is None else pictures)
        errors = unit(self.rng.normal(size=(rows, WIDTH)))
        self.vector_of = {
            f"caption {row}": vector
            for row, vector in enumerate(unit(self.pictures + noise * errors))
        }
        self.captions = list(self.vector_of)

    def make_wrong(self, rows: Sequence[int]) -> None:
        for row in rows:
            self.captions[row] = f"wrong {row}"
            self.vector_of[f"wrong {row}"] = unit(self.rng.normal(size=(1, WIDTH)))[0]

    def move(self, order: Sequence[int]) -> None:
        """Row i gets the caption of row order[i]."""
        self.captions = [self.captions[row] for row in order]

    def encode(self, captions: Sequence[str]) -> NDArray[np.float32]:
        any_vector = unit(np.ones((1, WIDTH)))[0]
        return np.array([self.vector_of.get(text, any_vector) for text in captions], np.float32)


def store_pairs(
    store: Store,
    folder: Path,
    drawn: DrawnPairs,
    without: Sequence[int] = (),
    file: str = "a.csv",
    name: str = "drawn",
    renamed: Mapping[int, str] = MappingProxyType({}),
    numbers: Sequence[int] | None = None,
) -> tuple[Any, int, list[int]]:
    """A dataset of these pairs as scoring leaves it; `without`: rows whose picture has no vector;
    `renamed`: pictures with another name than that of their row; `numbers`: of the rows, None: from
    1. Returns the engine, the id of the dataset and those of its pairs."""
    numbers = numbers or range(1, len(drawn.captions) + 1)
    rows = [
        NewPair(
            f"{row}", renamed.get(row, f"{row}.png"), caption, source_file=file, source_row=number
        )
        for row, (caption, number) in enumerate(zip(drawn.captions, numbers, strict=True))
    ]
    dataset_id, ids = add_pairs(store.opened, name, rows)
    run_id = start_run(store.opened, dataset_id)
    info = SimpleNamespace(kind="clip", model="some/model", revision="1", compares_pairs=False)
    engine: Any = SimpleNamespace(
        lock=threading.Lock(),
        settings=SimpleNamespace(data_directory=folder),
        scorer=SimpleNamespace(info=info, text_embeddings=drawn.encode),
    )
    with_vector = [row for row in range(len(ids)) if row not in set(without)]
    remember_images(
        image_file(store, engine, store.read(run_queries.get_run, run_id)),
        [ids[row] for row in with_vector],
        drawn.pictures[with_vector],
    )
    return engine, dataset_id, ids
