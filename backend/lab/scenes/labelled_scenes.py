"""New scenes with captions, half of them wrong, with ground truth, to evaluate models on."""

import random
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from backend.lab.scenes.grammar import Description, describe
from backend.lab.scenes.noise import BalancedNoise, noun_swap, random_swap
from backend.lab.scenes.world import Scene, make_scene

#: The embedded model of each scorer.
DIRECTORIES = {"blip-itm": "scenes-blip-itm", "blip-itc": "scenes-blip-itm", "clip": "scenes-clip"}
#: Does not overlap with the seeds of training, the demo and the training curves.
SEED = 3_000_000_000
_UNFAMILIAR_SEED = 4_000_000_000
PICTURE_SIZE = 192


@dataclass(frozen=True)
class LabelledScenes:
    """Pairs with ground truth: `originals` are the true captions, `changed` the indices of the
    changed words, `kinds` what a fine-grained error changed ("" if there is none)."""

    scenes: list[Scene]
    captions: list[str]
    originals: list[str]
    wrong: NDArray[np.bool_]
    changed: list[frozenset[int]]
    kinds: list[str]


def labelled_scenes(count: int, noise: str, seed: int, unfamiliar: bool = False) -> LabelledScenes:
    """`count` new scenes with one caption each; every second caption is wrong.

    `noise`: random, noun or fine-grained; `unfamiliar`: scenes that are out of distribution.
    """
    rng = random.Random((_UNFAMILIAR_SEED if unfamiliar else SEED) + 1_000_000 * seed)
    described: list[tuple[Scene, Description]] = []
    for _ in range(count):
        scene = make_scene(rng, unfamiliar)
        described.append((scene, describe(scene, rng)))
    balanced_noise = BalancedNoise()
    captions, wrong, changed, kinds = [], [], [], []
    for index, (scene, description) in enumerate(described):
        words: frozenset[int] = frozenset()
        text, is_wrong, kind = description.text, False, ""
        if index % 2:
            if noise == "fine-grained":
                false = balanced_noise(description, scene, rng)
                if false is not None:
                    text, words, is_wrong = false.description.text, false.changed, True
                    kind = false.kind
            else:
                swap = random_swap if noise == "random" else noun_swap
                text, is_wrong = swap(index, described, rng).text, True
        captions.append(text)
        wrong.append(is_wrong)
        changed.append(words)
        kinds.append(kind)
    return LabelledScenes(
        [scene for scene, _ in described],
        captions,
        [description.text for _, description in described],
        np.array(wrong, np.bool_),
        changed,
        kinds,
    )
