"""How each explorer of `exploring.KINDS` starts."""

from collections.abc import Callable

from backend.engine.captions import Caption
from backend.engine.scoring.protocol import BoolArray, TokenReader
from backend.engine.trajectories.elimination import eliminate
from backend.engine.trajectories.exploring import Explorer, Exploring
from backend.engine.trajectories.gcd import (
    fast_greedy_coordinate_descent,
    greedy_coordinate_descent,
)

#: (caption, words_read, reader, tokens that may replace another, settings).
StartExplorer = Callable[[Caption, int, TokenReader, BoolArray, Exploring], Explorer]

EXPLORERS: dict[str, StartExplorer] = {
    "elimination": eliminate,
    "gcd": greedy_coordinate_descent,
    "fast-gcd": fast_greedy_coordinate_descent,
}
