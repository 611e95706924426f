"""Pairs whose truth is known: drawn scenes, or a dataset with noise of one kind injected."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from PIL import Image

from backend.captions import Caption
from backend.datasets.images import load_image
from backend.datasets.reading import SourcePair, read_dataset
from backend.errors import DatasetFormatError
from backend.evaluation.metrics import Wrong
from backend.noise import ImageCaption, inject
from backend.scenes.measure import PICTURE_SIZE, labelled_pairs
from backend.scenes.renderer import render

NOISES = ("random", "noun", "fine-grained")


@dataclass(frozen=True)
class LabelledPairs:
    """`changed`: numbers of the words that make a caption wrong, empty where that is all of them;
    `kinds`: what a fine-grained error changed; `groups`: pairs of one image share a number;
    `picture`: opens or draws the image of a pair."""

    captions: list[str]
    wrong: Wrong
    changed: list[frozenset[int]]
    kinds: list[str]
    groups: list[int]
    picture: Callable[[int], Image.Image]

    def __len__(self) -> int:
        return len(self.captions)


def from_scenes(count: int, noise: str, seed: int) -> LabelledPairs:
    """Scenes that no model has seen; every second caption is wrong."""
    made = labelled_pairs(count, noise, seed)
    return LabelledPairs(
        made.captions,
        made.wrong.astype(np.bool_),
        made.changed,
        made.kinds,
        list(range(count)),
        lambda index: render(made.scenes[index], PICTURE_SIZE),
    )


def from_dataset(
    path: Path, image_root: Path | None, count: int, noise: str, seed: int, rate: float = 0.5
) -> LabelledPairs:
    """`count` pairs of a dataset, taken for right, with noise in `rate` of them.

    Pairs are drawn by the seed, one an image as far as there are enough images.
    Raises DatasetFormatError if there are too few pairs for the noise.
    """
    pairs = _usable_pairs(path, image_root)
    lot = np.random.default_rng(seed)
    first: dict[Path, SourcePair] = {}
    rest = []
    for i in lot.permutation(len(pairs)):
        if first.setdefault(pairs[i].image_path, pairs[i]) is not pairs[i]:
            rest.append(pairs[i])
    chosen = [*first.values(), *rest][:count]
    if len(chosen) < 10:
        raise DatasetFormatError(f"'{path.name}' has {len(chosen)} usable pairs; 10 are too few.")
    asked = [ImageCaption(str(p.image_path), p.caption) for p in chosen]
    made = inject(asked, rate, [noise.replace("-", "_")], seed)
    wrong = np.array([one is not None for one in made])
    numbers = {path: i for i, path in enumerate(dict.fromkeys(p.image_path for p in chosen))}
    return LabelledPairs(
        [one.text if one is not None else p.caption for one, p in zip(made, chosen, strict=True)],
        wrong,
        [
            _words_in(one.text, one.changed) if one is not None and noise == "fine-grained"
            else frozenset()
            for one in made
        ],
        [one.kinds[0] if one is not None and noise == "fine-grained" else "" for one in made],
        [numbers[p.image_path] for p in chosen],
        lambda index: load_image(chosen[index].image_path),
    )  # fmt: skip


@cache
def _usable_pairs(path: Path, image_root: Path | None) -> list[SourcePair]:
    """Read once: every seed, noise and scorer draws from the same, and reading opens each image."""
    return list(read_dataset(path, image_root=image_root))


def _words_in(text: str, spans: Sequence[tuple[int, int]]) -> frozenset[int]:
    words = Caption.parse(text).spans
    return frozenset(
        number
        for number, (start, end) in enumerate(words)
        if any(a < end and start < b for a, b in spans)
    )
