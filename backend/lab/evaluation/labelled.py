"""Pairs with ground truth: drawn scenes, or a dataset with injected or recorded noise."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from backend.datasets.images import check_image, load_image
from backend.datasets.reading import SourcePair, read_dataset
from backend.engine.captions import Caption
from backend.engine.noise import ImageCaption, inject
from backend.errors import DatasetFormatError, ImageError
from backend.lab.evaluation.metrics import Wrong
from backend.lab.noisy_dataset import recorded
from backend.lab.scenes.caption_reading import claims_of
from backend.lab.scenes.labelled_scenes import PICTURE_SIZE, labelled_scenes
from backend.lab.scenes.renderer import render
from backend.lab.scenes.truth import facts

NOISES = ("random", "noun", "fine-grained")
#: Noise that the dataset itself records, as written by the `noise` command.
RECORDED = "recorded"
#: Drawn worlds: the one that the embedded models were trained on, and one unseen in training.
SCENES, UNFAMILIAR_SCENES = "scenes", "unfamiliar-scenes"
_FEWEST = 10


@dataclass(frozen=True)
class LabelledPairs:
    """`originals`: the captions before they were corrupted; `changed`: indices of the words that
    make a caption wrong, empty for a correct caption or if the whole caption is wrong; `kinds`:
    what a fine-grained error changed; `groups`: pairs of the same image share a number; `picture`:
    opens or draws the image of a pair; `is_true`: whether a caption is true of the image of a pair,
    None if unknown; `test`: mask of the dataset's own test split, None if it has none."""

    captions: list[str]
    originals: list[str]
    wrong: Wrong
    changed: list[frozenset[int]]
    kinds: list[str]
    groups: list[int]
    picture: Callable[[int], Image.Image]
    is_true: Callable[[int, str], bool] | None = None
    test: NDArray[np.bool_] | None = None

    def __len__(self) -> int:
        return len(self.captions)


def from_scenes(count: int, noise: str, seed: int, unfamiliar: bool = False) -> LabelledPairs:
    """Scenes unseen in training; every second caption is wrong."""
    made = labelled_scenes(count, noise, seed, unfamiliar)

    def is_true(index: int, caption: str) -> bool:
        claims = claims_of(caption)
        return claims is not None and claims <= facts(made.scenes[index])

    return LabelledPairs(
        made.captions,
        made.originals,
        made.wrong,
        made.changed,
        made.kinds,
        list(range(count)),
        lambda index: render(made.scenes[index], PICTURE_SIZE),
        is_true,
    )


def from_dataset(
    path: Path, image_root: Path | None, count: int, noise: str, seed: int, rate: float = 0.5
) -> LabelledPairs:
    """Sample `count` pairs of a dataset, one per image if there are enough images.

    If the dataset has a test split, half of them are sampled from it. All captions are assumed
    correct and `rate` of them is corrupted, or, with the noise "recorded", the dataset's own labels
    are used. Raises DatasetFormatError if there are too few usable pairs or labels are missing.
    """
    pairs = _usable_pairs(path, image_root)
    rng = np.random.default_rng(seed)
    held_out = [pair for pair in pairs if (pair.split or "").lower() == "test"]
    others = [pair for pair in pairs if (pair.split or "").lower() != "test"]
    has_split = len(held_out) >= _FEWEST and len(others) >= _FEWEST
    if has_split:
        half = _drawn(held_out, count // 2, rng)
        chosen = [*half, *_drawn(others, count - len(half), rng)]
    else:
        chosen = _drawn(pairs, count, rng)
    if len(chosen) < _FEWEST:
        raise DatasetFormatError(
            f"'{path.name}' has {len(chosen)} usable pairs; more than {_FEWEST} are needed."
        )
    samples = (
        _as_recorded(path, chosen) if noise == RECORDED else _injected(chosen, noise, seed, rate)
    )
    numbers = {path: i for i, path in enumerate(dict.fromkeys(p.image_path for p in chosen))}
    return LabelledPairs(
        [sample.caption for sample in samples],
        [sample.original for sample in samples],
        np.array([sample.wrong for sample in samples], np.bool_),
        [_words_in(sample.caption, sample.spans) for sample in samples],
        [sample.kind for sample in samples],
        [numbers[p.image_path] for p in chosen],
        lambda index: load_image(chosen[index].image_path),
        test=np.arange(len(chosen)) < len(half) if has_split else None,
    )


def _drawn(pairs: Sequence[SourcePair], count: int, rng: np.random.Generator) -> list[SourcePair]:
    """Sample one pair per image first, then further pairs of the same images; skips pairs whose
    image cannot be opened."""
    first: dict[Path, SourcePair] = {}
    rest = []
    for i in rng.permutation(len(pairs)):
        if first.setdefault(pairs[i].image_path, pairs[i]) is not pairs[i]:
            rest.append(pairs[i])
    chosen: list[SourcePair] = []
    for pair in [*first.values(), *rest]:
        if len(chosen) == count:
            break
        try:
            check_image(pair.image_path)
        except (ImageError, OSError):
            continue
        chosen.append(pair)
    return chosen


@dataclass(frozen=True)
class _Labelled:
    """A caption with its label."""

    caption: str
    original: str
    wrong: bool
    kind: str = ""
    spans: Sequence[tuple[int, int]] = ()


def _injected(pairs: Sequence[SourcePair], noise: str, seed: int, rate: float) -> list[_Labelled]:
    asked = [ImageCaption(str(pair.image_path), pair.caption) for pair in pairs]
    fine = noise == "fine-grained"
    return [
        _Labelled(pair.caption, pair.caption, False)
        if noisy is None
        else _Labelled(
            noisy.text, pair.caption, True,
            noisy.kinds[0] if fine else "", noisy.changed if fine else (),
        )
        for pair, noisy in zip(pairs, inject(asked, rate, [noise.replace("-", "_")], seed),
                             strict=True)
    ]  # fmt: skip


def _as_recorded(path: Path, pairs: Sequence[SourcePair]) -> list[_Labelled]:
    samples = []
    for pair in pairs:
        record = recorded(pair)
        if record is None:
            raise DatasetFormatError(
                f"'{path.name}' does not say which captions are wrong ({pair.file}, row "
                f"{pair.row}). Make a noisy copy first: python app.py noise {path.name} FOLDER"
            )
        fine = record["wrong"] and record.get("kind") == "fine_grained"
        samples.append(
            _Labelled(
                pair.caption,
                str(pair.extra.get("original_caption") or pair.caption),
                record["wrong"],
                str(record["kinds"][0]) if fine else "",
                [(int(a), int(b)) for a, b in record["changed"]] if fine else (),
            )
        )
    return samples


@cache
def _usable_pairs(path: Path, image_root: Path | None) -> list[SourcePair]:
    """All pairs, cached because every seed, noise and scorer samples from them. No image is opened
    yet: COCO has 123,000 of them, and a run samples a few hundred."""
    return list(read_dataset(path, image_root=image_root, open_images=False))


def _words_in(text: str, spans: Sequence[tuple[int, int]]) -> frozenset[int]:
    words = Caption.parse(text).spans
    return frozenset(
        number
        for number, (start, end) in enumerate(words)
        if any(a < end and start < b for a, b in spans)
    )
