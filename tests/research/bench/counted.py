"""Operations of scoring, over those of one plain score: `python -m tests.research.bench.counted`

No model is run: operations follow from the queries of an explorer (`lower_bounds.py`, which
the engine's counters are checked against). Scores are random, captions those of `bench`, the
dimensions those of BLIP base at 384 pixels and CLIP ViT-B/32.
"""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from backend.engine.captions import Caption
from backend.engine.scoring.protocol import FloatArray, ImageState, ScorerInfo, Tokens
from backend.engine.scoring.work import Work
from backend.engine.trajectories.driver import run_trajectories
from backend.engine.trajectories.exploring import Exploring
from research.bench.caption_lengths import HashReader, make_captions
from research.bench.measure_scoring import explorer_name
from research.bench.operations import Shape, operations
from research.bench.recorder import Round
from tests.research.bench.lower_bounds import causal_bound, matching_bound, packed_bound

#: Text towers; image towers as layers, width, inner width, patches, values per patch.
TEXT = {
    "blip-itm": Shape(12, 768, 3072, 768, 577, 2),
    "blip-itc": Shape(12, 768, 3072, out=256),
    "clip": Shape(12, 512, 2048, out=512),
}
PICTURE = {
    "blip-itm": (12, 768, 3072, 576, 768),
    "blip-itc": (12, 768, 3072, 576, 768),
    "clip": (12, 768, 3072, 49, 3072),
}
WAYS = [Exploring(), Exploring(whole=False), *(Exploring(lazy=m) for m in (1, 2, 3, 4))]


@dataclass
class RandomScorer:
    """Scores that depend on the text alone, and a record of the queries."""

    info: ScorerInfo
    reader: HashReader
    rounds: list[Round] = field(default_factory=list)
    embedded: list[Round] = field(default_factory=list)
    live: int = 48
    work: Work = field(default_factory=Work)
    embedding_work: Work = field(default_factory=Work)

    def open_session(self) -> "RandomScorer":
        return self

    def image_embeddings(self, states: Sequence[ImageState]) -> FloatArray:
        return np.ones((len(states), 1), np.float32)

    def score(self, requests: Sequence[tuple[ImageState, Sequence[Tokens]]]) -> list[FloatArray]:
        self.rounds.append([(state, tuple(texts)) for state, texts in requests])
        return [
            np.array([zlib.crc32(repr(text).encode()) / 2**32 for text in texts], np.float32)
            for _, texts in requests
        ]

    def embed(self, texts: Sequence[Tokens]) -> FloatArray:
        self.embedded.append([(0, tuple(texts))])
        return np.ones((len(texts), 1), np.float32)


def overhead(kind: str, exploring: Exploring, words: tuple[int, int], pairs: int = 13) -> float:
    """Operations of the whole job over those of encoding each image and scoring its caption."""
    auxiliary = "ITC" if kind == "blip-itm" else ""
    info = ScorerInfo(kind, "random scores", "0", "cpu", "", auxiliary=auxiliary)
    scorer: Any = RandomScorer(info, HashReader(30_524, 77, None))
    captions = [Caption.parse(text) for text in make_captions(pairs, words)]
    dict(run_trajectories(scorer, list(enumerate(captions)), exploring))
    first = scorer.rounds[:1]  # of all pairs, x_0
    extra = 0
    if kind == "blip-itm":
        text = replace(TEXT[kind], patch_width=0, out=256)
        extra = operations(packed_bound(scorer.embedded), text)
    picture = pairs * picture_operations(kind)
    needed, once = (
        operations(bound(kind, rounds), TEXT[kind]) for rounds in (scorer.rounds, first)
    )
    return (needed + extra + picture) / (once + picture)


def bound(kind: str, rounds: Sequence[Round]) -> Work:
    if kind == "blip-itm":
        return matching_bound(rounds, TEXT[kind].patches)
    return packed_bound(rounds) if kind == "blip-itc" else causal_bound(rounds)


def picture_operations(kind: str) -> int:
    layers, width, inner, patches, values = PICTURE[kind]
    tokens = patches + 1
    a_layer = tokens * (8 * width**2 + 4 * width * inner) + 4 * width * tokens**2
    return layers * a_layer + 2 * patches * values * width


def main() -> None:
    ranges = [(8, 20), (8, 12), (13, 20), (21, 40)]
    print("| scorer | steps |", " | ".join(f"{low}–{high} words" for low, high in ranges), "|")
    print("|---|---|" + "---|" * len(ranges))
    for kind in TEXT:
        for way in WAYS:
            cells = [f"{overhead(kind, way, words):.2f}" for words in ranges]
            print(f"| {kind} | {explorer_name(way)} |", " | ".join(cells), "|")


if __name__ == "__main__":
    main()
