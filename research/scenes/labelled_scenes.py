"""New scenes with captions, half of them wrong, with ground truth, to evaluate models on."""

import random
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from backend.engine.captions import Caption
from backend.engine.noise.fine_grained import FineGrainedNoise
from research.scenes.caption_reading import claims_of
from research.scenes.grammar import Description, describe
from research.scenes.noise import BalancedNoise, noun_swap, random_swap
from research.scenes.truth import facts
from research.scenes.world import Scene, make_scene

#: The embedded model of each scorer.
DIRECTORIES = {"blip-itm": "scenes-blip-itm", "blip-itc": "scenes-blip-itm", "clip": "scenes-clip"}
#: Does not overlap with the seeds of training, the demo and the training curves.
SEED = 3_000_000_000
_UNFAMILIAR_SEED = 4_000_000_000
#: Fine-grained errors by the rules that also make cold start's copies, not by the drawn world.
RULES = "rules"


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


def labelled_scenes(
    count: int,
    noise: str,
    seed: int,
    unfamiliar: bool = False,
    test: NDArray[np.bool_] | None = None,
) -> LabelledScenes:
    """`count` new scenes with one caption each; every second caption is wrong.

    `noise`: random, noun, fine-grained (false claims, as in the models' hard negatives) or rules
    (`backend.engine.noise`, independent of the scenes); `unfamiliar`: scenes that are out
    of distribution; `test`: mask of the test half, swaps stay within a half. The scenes depend on
    `count`, `seed` and `unfamiliar` only.
    """
    rng = random.Random((_UNFAMILIAR_SEED if unfamiliar else SEED) + 1_000_000 * seed)
    described: list[tuple[Scene, Description]] = []
    for _ in range(count):
        scene = make_scene(rng, unfamiliar)
        described.append((scene, describe(scene, rng)))
    balanced_noise = BalancedNoise()
    rules = FineGrainedNoise(d.text for _, d in described) if noise == RULES else None
    halves = {side: [i for i in range(count) if test is not None and test[i] == side]
              for side in (False, True)}  # fmt: skip
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
            elif rules is not None:
                edited = rules.make(text, rng)
                if edited is not None and not is_true_of(edited.text, scene):
                    text, is_wrong, kind = edited.text, True, edited.kinds[0]
                    words = words_in(edited.text, edited.changed)
            else:
                swap = random_swap if noise == "random" else noun_swap
                among = None if test is None else halves[bool(test[index])]
                text, is_wrong = swap(index, described, rng, among).text, True
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


def is_true_of(caption: str, scene: Scene) -> bool:
    """Whether the caption can be parsed and all its claims are true of the scene."""
    claims = claims_of(caption)
    return claims is not None and claims <= facts(scene)


def words_in(text: str, spans: Sequence[tuple[int, int]]) -> frozenset[int]:
    """Indices of the words that overlap the character spans."""
    words = Caption.parse(text).spans
    return frozenset(
        number
        for number, (start, end) in enumerate(words)
        if any(a < end and start < b for a, b in spans)
    )
