"""Pairs with ground truth: drawn scenes, or a dataset with injected or recorded noise."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from backend.datasets.read_options import ReadOptions
from backend.datasets.reading.dataset_reader import read_dataset
from backend.datasets.reading.row_pairs import SourcePair
from backend.datasets.safe_files.images import check_image, load_image
from backend.engine.captions import Caption
from backend.engine.noise.fine_grained import FineGrainedNoise
from backend.engine.noise.injection import ImageCaption, inject
from backend.errors import DatasetFormatError, ImageError
from research.evaluation.metrics import Wrong
from research.noisy_dataset import image_root_of, noise_record
from research.scenes.caption_reading import claims_of
from research.scenes.grammar import Description, describe
from research.scenes.noise import BalancedNoise, noun_swap, random_swap
from research.scenes.renderer import PICTURE_SIZE, render
from research.scenes.truth import facts
from research.scenes.world import Scene, make_scene

#: The embedded model of each scorer.
DIRECTORIES = {"blip-itm": "scenes-blip-itm", "blip-itc": "scenes-blip-itm", "clip": "scenes-clip"}
#: Does not overlap with the seeds of training, the demo and the training curves.
SEED, _UNFAMILIAR_SEED = 3_000_000_000, 4_000_000_000
NOISES = ("random", "noun", "fine-grained")
#: Fine-grained errors by the rules that also make cold start's copies, not by the drawn world.
RULES = "rules"
#: All noises that can be made here. On datasets, fine-grained errors are made by rules anyway.
MADE = (*NOISES, RULES)
#: Noise that the dataset itself records, as written by the `noise` command.
RECORDED = "recorded"
#: Drawn worlds: the one that the embedded models were trained on, and one unseen in training.
SCENES, UNFAMILIAR_SCENES = "scenes", "unfamiliar-scenes"
_FEWEST = 10
#: Names of the part of a dataset on which hyperparameters are chosen.
_VALIDATION = ("val", "valid", "validation", "dev")


@dataclass(frozen=True)
class LabelledPairs:
    """`originals`: the captions before they were corrupted; `changed`: indices of the words that
    make a caption wrong, empty for a correct caption or if the whole caption is wrong; `kinds`:
    what a fine-grained error changed; `groups`: pairs of the same image share a number; `picture`:
    opens or draws the image of a pair; `is_true`: whether a caption is true of the image of a pair,
    None if unknown; `test`, `validation`: masks of the dataset's own test and validation splits,
    None if it has none; `ids`: in the dataset, empty for drawn `scenes`."""

    captions: list[str]
    originals: list[str]
    wrong: Wrong
    changed: list[frozenset[int]]
    kinds: list[str]
    groups: list[int]
    picture: Callable[[int], Image.Image]
    is_true: Callable[[int, str], bool] | None = None
    test: NDArray[np.bool_] | None = None
    ids: Sequence[str] = ()
    validation: NDArray[np.bool_] | None = None
    scenes: Sequence[Scene] = ()

    def __len__(self) -> int:
        return len(self.captions)


def from_scenes(count: int, noise: str, seed: int, unfamiliar: bool = False) -> LabelledPairs:
    """New scenes with one caption each; every second caption is wrong. Swaps stay within a half.

    `noise`: random, noun, fine-grained (false claims, as in the models' hard negatives) or rules
    (`backend.engine.noise`, independent of the scenes); `unfamiliar`: scenes that are out of
    distribution. The scenes depend on `count`, `seed` and `unfamiliar` only.
    """
    test = half_of(range(count), seed)
    rng = random.Random((_UNFAMILIAR_SEED if unfamiliar else SEED) + 1_000_000 * seed)
    pairs: list[tuple[Scene, Description]] = []
    for _ in range(count):
        scene = make_scene(rng, unfamiliar)
        pairs.append((scene, describe(scene, rng)))
    halves = {side: np.flatnonzero(test == side).tolist() for side in (False, True)}
    balanced_noise = BalancedNoise()
    rules = FineGrainedNoise(d.text for _, d in pairs) if noise == RULES else None
    captions, wrong, changed, kinds = [], [], [], []
    for index, (scene, description) in enumerate(pairs):
        words: frozenset[int] = frozenset()
        text, is_wrong, kind = description.text, False, ""
        if index % 2:
            if noise == "fine-grained":
                false = balanced_noise(description, scene, rng)
                if false is not None:
                    text, words, is_wrong = false.description.text, false.changed, True
                    kind = false.kind
            elif rules is not None:
                edit = rules.make(text, rng)
                if edit is not None and not _is_true_of(edit.text, scene):
                    text, is_wrong, kind = edit.text, True, edit.kinds[0]
                    words = _words_in(edit.text, edit.changed)
            else:
                swap = random_swap if noise == "random" else noun_swap
                text, is_wrong = swap(index, pairs, rng, halves[bool(test[index])]).text, True
        captions.append(text)
        wrong.append(is_wrong)
        changed.append(words)
        kinds.append(kind)
    scenes = [scene for scene, _ in pairs]
    return LabelledPairs(
        captions,
        [description.text for _, description in pairs],
        np.array(wrong, np.bool_),
        changed,
        kinds,
        list(range(count)),
        lambda index: render(scenes[index], PICTURE_SIZE),
        lambda index, caption: _is_true_of(caption, scenes[index]),
        scenes=scenes,
    )


def _is_true_of(caption: str, scene: Scene) -> bool:
    """Whether the caption can be parsed and all its claims are true of the scene."""
    claims = claims_of(caption)
    return claims is not None and claims <= facts(scene)


def _words_in(text: str, spans: Sequence[tuple[int, int]]) -> frozenset[int]:
    """Indices of the words that overlap the character spans."""
    words = Caption.parse(text).spans
    return frozenset(
        number
        for number, (start, end) in enumerate(words)
        if any(a < end and start < b for a, b in spans)
    )


def half_of(groups: Sequence[int], seed: int) -> NDArray[np.bool_]:
    """Mask of a random half of the images: all pairs of an image fall on the same side."""
    distinct = sorted(set(groups))
    permutation = np.random.default_rng((11, seed)).permutation(len(distinct))
    side = {group: bool(permutation[i] < len(distinct) // 2) for i, group in enumerate(distinct)}
    return np.array([side[group] for group in groups])


def from_dataset(
    path: Path, image_root: Path | None, count: int, noise: str, seed: int, rate: float = 0.5,
    test_count: int | None = None,
) -> LabelledPairs:  # fmt: skip
    """Sample `count` pairs of a dataset, one per image if there are enough images.

    If the dataset has a test split, `test_count` of them (default: half) are sampled from it. All
    captions are assumed
    correct and `rate` of them is corrupted, or, with the noise "recorded", the dataset's own labels
    are used. If a dataset records errors, other noise is injected into the captions before these
    errors. Swaps stay within the training or test half. Raises DatasetFormatError if there are too
    few usable pairs or labels are missing.
    """
    pairs = _usable_pairs(path, image_root or image_root_of(path))
    rng = np.random.default_rng(seed)
    held_out = [pair for pair in pairs if (pair.split or "").lower() == "test"]
    others = [pair for pair in pairs if (pair.split or "").lower() != "test"]
    has_split = len(held_out) >= _FEWEST and len(others) >= _FEWEST
    if has_split:
        half = _draw(held_out, count // 2 if test_count is None else test_count, rng)
        selection = [*half, *_draw(others, count - len(half), rng)]
    else:
        selection = _draw(pairs, count, rng)
    if len(selection) < _FEWEST:
        raise DatasetFormatError(
            f"'{path.name}' has {len(selection)} usable pairs; more than {_FEWEST} are needed."
        )
    numbers = {path: i for i, path in enumerate(dict.fromkeys(p.image_path for p in selection))}
    groups = [numbers[p.image_path] for p in selection]
    test = np.arange(len(selection)) < len(half) if has_split else None
    validation = np.array([(p.split or "").lower() in _VALIDATION for p in selection], np.bool_)
    if noise == RECORDED:
        samples = _as_recorded(path, selection)
    else:
        sides = half_of(groups, seed) if test is None else test
        samples = _inject(selection, noise, seed, rate, sides)
    return LabelledPairs(
        [sample.caption for sample in samples],
        [sample.original for sample in samples],
        np.array([sample.wrong for sample in samples], np.bool_),
        [_words_in(sample.caption, sample.spans) for sample in samples],
        [sample.kind for sample in samples],
        groups,
        lambda index: load_image(selection[index].image_path),
        test=test,
        ids=[pair.id for pair in selection],
        validation=validation if validation.sum() >= 2 * _FEWEST else None,
    )


def _draw(pairs: Sequence[SourcePair], count: int, rng: np.random.Generator) -> list[SourcePair]:
    """Sample one pair per image first, then further pairs of the same images; skips pairs whose
    image cannot be opened."""
    first: dict[Path, SourcePair] = {}
    rest = []
    for i in rng.permutation(len(pairs)):
        if first.setdefault(pairs[i].image_path, pairs[i]) is not pairs[i]:
            rest.append(pairs[i])
    sample: list[SourcePair] = []
    for pair in [*first.values(), *rest]:
        if len(sample) == count:
            break
        try:
            check_image(pair.image_path)
        except (ImageError, OSError):
            continue
        sample.append(pair)
    return sample


@dataclass(frozen=True)
class _LabelledFile:
    caption: str
    original: str
    wrong: bool
    kind: str = ""
    spans: Sequence[tuple[int, int]] = ()


def _inject(
    pairs: Sequence[SourcePair], noise: str, seed: int, rate: float, test: NDArray[np.bool_]
) -> list[_LabelledFile]:
    """Captions are swapped within each half only. Edits need no other caption, and are balanced to
    the words of all of them."""
    fine = noise in ("fine-grained", RULES)
    kind = "fine_grained" if fine else noise
    samples = [_LabelledFile(text, text, False) for text in map(_before_errors, pairs)]
    parts = [np.arange(len(pairs))] if fine else [np.flatnonzero(~test), np.flatnonzero(test)]
    pair_count, error_count = len(pairs), round(rate * len(pairs))
    for rows in (part.tolist() for part in parts if len(part)):
        count = round(error_count * len(rows) / pair_count)
        pair_count, error_count = pair_count - len(rows), error_count - count
        captions = [ImageCaption(str(pairs[row].image_path), samples[row].caption) for row in rows]
        for row, noisy in zip(rows, inject(captions, count / len(rows), [kind], seed), strict=True):
            if noisy is not None:
                samples[row] = _LabelledFile(
                    noisy.text, noisy.original, True,
                    noisy.kinds[0] if fine else "", noisy.changed if fine else (),
                )  # fmt: skip
    return samples


def _before_errors(pair: SourcePair) -> str:
    """The caption before an error that the dataset records; otherwise the caption."""
    record = noise_record(pair)
    if record is None or not record["wrong"]:
        return pair.caption
    return str(pair.extra.get("original_caption") or pair.caption)


def _as_recorded(path: Path, pairs: Sequence[SourcePair]) -> list[_LabelledFile]:
    samples = []
    for pair in pairs:
        record = noise_record(pair)
        if record is None:
            raise DatasetFormatError(
                f"'{path.name}' does not say which captions are wrong ({pair.file}, row "
                f"{pair.row}). Make a noisy copy first: python app.py noise {path.name} FOLDER"
            )
        fine = record["wrong"] and record.get("kind") == "fine_grained"
        samples.append(
            _LabelledFile(
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
    return list(read_dataset(path, ReadOptions(image_root=image_root), image_check="exists"))
