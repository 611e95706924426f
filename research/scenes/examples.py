"""Training examples, drawn once and stored as arrays on disk.

Scene i depends only on `seed + i`, so several processes can draw the arrays reproducibly. (False
captions are balanced within a chunk, so they also depend on the number of workers.)
"""

import itertools
import json
import random
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from research.scenes.architecture import GRID, IMAGE_SIZE
from research.scenes.grammar import Description, describe
from research.scenes.noise import KINDS, BalancedNoise
from research.scenes.renderer import Region, render_with_regions
from research.scenes.truth import claims, every_atom, facts
from research.scenes.wordings import ENGLISH, Wording, wording_of
from research.scenes.world import (
    ACTIONS,
    COLOURS,
    NOUNS,
    SETTINGS,
    SIZES,
    WEATHERS,
    Scene,
    make_scene,
)

#: Number of classes of each patch target; class 0: no thing there.
PATCH_CLASSES = {
    "noun": len(NOUNS) + 1,
    "colour": len(COLOURS) + 1,
    "action": len(ACTIONS) + 2,
    "size": len(SIZES) + 1,
    "count": 4,
}
#: Number of classes of each target for the whole picture.
IMAGE_CLASSES = {"setting": len(SETTINGS), "weather": len(WEATHERS)}

_NOUN = {noun: i + 1 for i, noun in enumerate(NOUNS)}
_COLOUR = {colour: i + 1 for i, colour in enumerate(COLOURS)}
_ACTION = {action: i + 2 for i, action in enumerate(ACTIONS)}
_SIZE = {size: i + 1 for i, size in enumerate(SIZES)}


def patch_targets(scene: Scene, regions: list[Region]) -> NDArray[np.uint8]:
    """Class indices in the order of PATCH_CLASSES, shape [5, GRID * GRID].

    A patch belongs to the smallest box that covers its centre; every box also gets the patch at its
    own centre, even if it is smaller than a patch.
    """
    targets = np.zeros((5, GRID, GRID), np.uint8)
    middles = (np.arange(GRID) + 0.5) / GRID

    def area(region: Region) -> float:
        x0, y0, x1, y1 = region.box
        return (x1 - x0) * (y1 - y0)

    # Small boxes last: a held ball must not be overwritten by its holder's larger box.
    for region in sorted(regions, key=area, reverse=True):
        thing = scene.things[region.thing]
        x0, y0, x1, y1 = region.box
        columns, rows = (middles >= x0) & (middles <= x1), (middles >= y0) & (middles <= y1)
        columns[min(GRID - 1, int((x0 + x1) / 2 * GRID))] = True
        rows[min(GRID - 1, int((y0 + y1) / 2 * GRID))] = True
        targets[:, rows[:, None] & columns[None, :]] = np.array(
            [
                _NOUN[thing.noun],
                _COLOUR[thing.colour],
                _ACTION[thing.action] if thing.action else 1,
                _SIZE[thing.size],
                thing.count,
            ],
            np.uint8,
        )[:, None]
    return targets.reshape(5, -1)


CAPTIONS = 3  #: true captions per scene, each with a false one if possible
LONGEST = 24  #: maximum number of words per caption
_CLAIMS, _FACTS = 16, 112
#: Sampling weight of a caption by what its false twin changes: kinds that are rare or slow to learn
#: are sampled more often.
EMPHASIS = {
    "colour": 0.5, "noun": 1.0, "count": 2.0, "size": 2.0, "action": 3.0, "setting": 3.0,
    "weather": 4.0, "relation": 5.0, "negation": 5.0,
}  # fmt: skip
_ATOMS = {atom: i for i, atom in enumerate(every_atom())}
#: Padding for lists of atoms: one that is a fact of every scene, and one that no caption claims.
ALWAYS, NEVER = len(_ATOMS), len(_ATOMS) + 1

_SHAPES: dict[str, tuple[tuple[int, ...], type]] = {
    "pixels": ((IMAGE_SIZE, IMAGE_SIZE, 3), np.uint8),
    "patches": ((5, GRID * GRID), np.uint8),
    "surroundings": ((2,), np.uint8),
    "facts": ((_FACTS,), np.int16),
    "words": ((CAPTIONS, LONGEST), np.int16),
    "claims": ((CAPTIONS, _CLAIMS), np.int16),
    "false_words": ((CAPTIONS, LONGEST), np.int16),
    "false_changed": ((CAPTIONS, LONGEST), np.bool_),
    "false_kind": ((CAPTIONS,), np.int8),
}


@dataclass(frozen=True)
class Examples:
    """Arrays over scenes; words are token ids padded with 0, all 0 if there is no false caption."""

    pixels: NDArray[np.uint8]
    patches: NDArray[np.uint8]
    surroundings: NDArray[np.uint8]
    facts: NDArray[np.int16]
    words: NDArray[np.int16]
    claims: NDArray[np.int16]
    false_words: NDArray[np.int16]
    false_changed: NDArray[np.bool_]
    false_kind: NDArray[np.int8]

    def __len__(self) -> int:
        return len(self.pixels)

    def true_of(self, scenes: NDArray[np.int64], captions: NDArray[np.int64]) -> NDArray[np.bool_]:
        """[i, j]: is caption j (scene j's caption number captions[j]) true of scene i?"""
        truths = np.zeros((len(scenes), len(_ATOMS) + 2), np.bool_)
        np.put_along_axis(truths, self.facts[scenes].astype(np.int64), True, axis=1)
        truths[:, ALWAYS] = True
        atoms = self.claims[scenes, captions].astype(np.int64)
        holds: NDArray[np.bool_] = np.all(truths[:, atoms], axis=-1)
        return holds


def open_examples(
    folder: Path, count: int, seed: int, workers: int = 2, wording: Wording = ENGLISH
) -> Examples:
    """The arrays in `folder`, which are drawn first unless they exist for this count and seed."""
    marker = folder / "made.json"
    identity: dict[str, int | str] = {"count": count, "seed": seed, "version": 1}
    if wording is not ENGLISH:
        identity["language"] = wording.code
    if not marker.exists() or json.loads(marker.read_text()) != identity:
        folder.mkdir(parents=True, exist_ok=True)
        for name, (shape, kind) in _SHAPES.items():
            np.lib.format.open_memmap(folder / f"{name}.npy", "w+", kind, (count, *shape)).flush()
        edges = np.linspace(0, count, 4 * workers + 1).astype(int).tolist()
        parts = list(itertools.pairwise(edges))
        with ProcessPoolExecutor(workers) as pool:
            for future in [pool.submit(_draw, folder, a, b, seed, wording.code) for a, b in parts]:
                future.result()
        marker.write_text(json.dumps(identity))
    return Examples(**{name: np.load(folder / f"{name}.npy", mmap_mode="r") for name in _SHAPES})


def _draw(folder: Path, first: int, last: int, seed: int, language: str) -> None:
    wording = wording_of(language)
    arrays = {name: np.load(folder / f"{name}.npy", mmap_mode="r+") for name in _SHAPES}
    noise = BalancedNoise()
    for i in range(first, last):
        rng = random.Random(seed + i)
        scene = make_scene(rng)
        # Drawn large and downscaled, like a dataset's pictures before a model sees them.
        image, regions = render_with_regions(scene, 2 * IMAGE_SIZE)
        small = image.resize((IMAGE_SIZE, IMAGE_SIZE), Image.Resampling.BICUBIC)
        arrays["pixels"][i] = np.asarray(small)
        arrays["patches"][i] = patch_targets(scene, regions)
        places = SETTINGS.index(scene.setting), WEATHERS.index(scene.weather)
        arrays["surroundings"][i] = np.array(places, np.uint8)
        arrays["facts"][i] = _pad([_ATOMS[a] for a in facts(scene)], _FACTS, NEVER)
        for k in range(CAPTIONS):
            description = short_description(scene, rng, wording)
            arrays["words"][i, k] = _pad(_tokens(description, wording), LONGEST, 0)
            atoms = [_ATOMS[atom] for atom in claims(description)]
            arrays["claims"][i, k] = _pad(atoms, _CLAIMS, ALWAYS)
            false = noise(description, scene, rng)
            if false is not None and is_short(false.description, wording):
                tokens = _tokens(false.description, wording)
                mask = wording.is_changed(description, false.description)
                arrays["false_words"][i, k] = _pad(tokens, LONGEST, 0)
                arrays["false_kind"][i, k] = KINDS.index(false.kind)
                arrays["false_changed"][i, k, np.flatnonzero(mask)] = True
    for array in arrays.values():
        array.flush()


def short_description(scene: Scene, rng: random.Random, wording: Wording) -> Description:
    """A true caption with at most `LONGEST` tokens."""
    while not is_short(description := describe(scene, rng), wording):
        pass
    return description


def is_short(description: Description, wording: Wording) -> bool:
    return len(_tokens(description, wording)) <= LONGEST


def _tokens(description: Description, wording: Wording) -> list[int]:
    return wording.token_numbers(wording.words(description))


def _pad(numbers: Sequence[int], length: int, filler: int) -> NDArray[np.int16]:
    if len(numbers) > length:
        raise ValueError(f"{len(numbers)} numbers do not fit into {length}.")
    return np.array([*numbers, *[filler] * (length - len(numbers))], np.int16)
