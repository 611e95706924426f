"""Noise of several kinds into a share of a dataset."""

import random
from collections.abc import Callable, Iterable, Sequence

from backend.noise.fine_grained import FineGrainedNoise
from backend.noise.noisy_caption import NoisyCaption
from backend.noise.swaps import ImageCaption, Swapper

#: The three kinds of TRACED §4.2.
KINDS = ("random", "noun", "fine_grained")

Maker = Callable[[int, random.Random], NoisyCaption | None]


def inject(
    pairs: Iterable[ImageCaption],
    rate: float,
    kinds: Sequence[str] = KINDS,
    seed: int = 0,
    balance: FineGrainedNoise | None = None,
) -> list[NoisyCaption | None]:
    """One entry a pair: its noisy caption, or None where the caption stays as it is.

    round(rate · pairs) pairs are drawn and the kinds dealt to them in turn. A pair that does not
    allow its kind (no noun is shared, no rule applies) gets another; one that allows none is passed
    over and the next takes its place. `balance` is a fine-grained source made from a larger part of
    the dataset; without it, one is made from `pairs`.

    Raises ValueError for a rate outside [0, 1] or an unknown kind.
    """
    pairs = list(pairs)
    if not 0 <= rate <= 1:
        raise ValueError(f"The noise rate must lie between 0 and 1, not {rate}.")
    unknown = [kind for kind in kinds if kind not in KINDS]
    if unknown or not kinds:
        raise ValueError(f"Unknown kinds of noise {unknown}. There are: {', '.join(KINDS)}.")
    generator = random.Random(seed)
    makers = _makers(pairs, kinds, balance)
    order = list(range(len(pairs)))
    generator.shuffle(order)
    noisy: list[NoisyCaption | None] = [None] * len(pairs)
    wanted = round(rate * len(pairs))
    made = 0
    for index in order:
        if made == wanted:
            break
        turn = made % len(kinds)
        for kind in [*kinds[turn:], *kinds[:turn]]:
            found = makers[kind](index, generator)
            if found is not None:
                noisy[index] = found
                made += 1
                break
    return noisy


def _makers(
    pairs: list[ImageCaption], kinds: Sequence[str], balance: FineGrainedNoise | None
) -> dict[str, Maker]:
    makers: dict[str, Maker] = {}
    if "random" in kinds or "noun" in kinds:
        swapper = Swapper(pairs)
        makers["random"] = swapper.random
        makers["noun"] = swapper.noun
    if "fine_grained" in kinds:
        source = balance or FineGrainedNoise(pair.caption for pair in pairs)
        makers["fine_grained"] = lambda index, generator: source.make(
            pairs[index].caption, generator
        )
    return makers
