"""Inject noise of several kinds into a share of a dataset."""

import random
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from backend.engine.noise.fine_grained import FineGrainedNoise
from backend.engine.noise.noisy_caption import NoisyCaption
from backend.engine.noise.swaps import ImageCaption, Swapper

#: The three kinds of TRACED §4.2.
KINDS = ("random", "noun", "fine_grained")

Maker = Callable[[int, random.Random], NoisyCaption | None]


class FineGrainedSource(Protocol):
    """Rules (`FineGrainedNoise`) or a language model (`LanguageModelNoise`)."""

    def make(self, text: str, generator: random.Random) -> NoisyCaption | None: ...


def inject(
    pairs: Iterable[ImageCaption],
    rate: float,
    kinds: Sequence[str] = KINDS,
    seed: int = 0,
    source: FineGrainedSource | None = None,
    tick: Callable[[int, int], None] | None = None,
) -> list[NoisyCaption | None]:
    """One entry per pair: its noisy caption, or None if the caption is unchanged.

    round(rate · pairs) pairs are sampled and the kinds assigned to them in turn. A pair that does
    not allow its kind (no shared noun, no applicable rule) gets another one; a pair that allows
    none is skipped and replaced by the next. `source` makes the fine-grained errors; by default,
    rules balanced to `pairs`. `tick`: called with (made, wanted) after each.

    Raises ValueError for a rate outside [0, 1] or an unknown kind.
    """
    pairs = list(pairs)
    if not 0 <= rate <= 1:
        raise ValueError(f"The noise rate must lie between 0 and 1, not {rate}.")
    unknown = [kind for kind in kinds if kind not in KINDS]
    if unknown or not kinds:
        raise ValueError(f"Unknown kinds of noise {unknown}. There are: {', '.join(KINDS)}.")
    generator = random.Random(seed)
    makers = _makers(pairs, kinds, source)
    order = list(range(len(pairs)))
    generator.shuffle(order)
    noisy: list[NoisyCaption | None] = [None] * len(pairs)
    wanted = round(rate * len(pairs))
    count = 0
    for index in order:
        if count == wanted:
            break
        turn = count % len(kinds)
        for kind in [*kinds[turn:], *kinds[:turn]]:
            changed = makers[kind](index, generator)
            if changed is not None:
                noisy[index] = changed
                count += 1
                if tick is not None:
                    tick(count, wanted)
                break
    return noisy


def _makers(
    pairs: list[ImageCaption], kinds: Sequence[str], source: FineGrainedSource | None
) -> dict[str, Maker]:
    makers: dict[str, Maker] = {}
    if "random" in kinds or "noun" in kinds:
        swapper = Swapper(pairs)
        makers["random"] = swapper.random
        makers["noun"] = swapper.noun
    if "fine_grained" in kinds:
        maker = source or FineGrainedNoise(pair.caption for pair in pairs)
        makers["fine_grained"] = lambda index, generator: maker.make(
            pairs[index].caption, generator
        )
    return makers
