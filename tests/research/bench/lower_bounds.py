"""The minimum that a run has to compute, counted from its queries alone.

Independent of the towers' own counters (`backend.engine.scoring.protocol`): sets of strings, no
tensors. `test_bound.py` compares the counters with it.
"""

from collections.abc import Sequence

from backend.engine.scoring.protocol import Tokens, Work
from research.bench.measure_scoring import Round


def matching_bound(rounds: Sequence[Round], patches: int) -> Work:
    """BLIP-ITM: an (image, text) of a round once, an image's keys and values once."""
    work = Work(images=len({image for requests in rounds for image, _ in requests}))
    places: set[tuple[int, int]] = set()
    for requests in rounds:
        for _, text in {(image, text) for image, texts in requests for text in texts}:
            _add_packed(work, places, (-1, *text, -2))
    work.projections = len(places)
    work.seen = work.tokens * patches
    work.seen_last = work.sequences * patches
    return work


def packed_bound(rounds: Sequence[Round]) -> Work:
    """BLIP-ITC: each distinct text of the whole run once."""
    work, places = Work(), set[tuple[int, int]]()
    for text in {text for requests in rounds for _, texts in requests for text in texts}:
        _add_packed(work, places, (-1, *text, -2))
    work.projections = len(places)
    return work


def causal_bound(rounds: Sequence[Round]) -> Work:
    """A causal tower: each distinct text once, and only those of its prefixes that are new."""
    work, places = Work(), set[tuple[int, int]]()
    known: set[tuple[int, ...]] = set()
    done: set[Tokens] = set()
    for requests in rounds:
        for text in {text for _, texts in requests for text in texts} - done:
            done.add(text)
            whole = (-1, *text, -2)
            work.sequences += 1
            work.attended_last += len(whole)
            for length in range(1, len(whole) + 1):
                if whole[:length] not in known:
                    known.add(whole[:length])
                    work.tokens += 1
                    work.attended += length
                    places.add((whole[length - 1], length))
    work.projections = len(places)
    return work


def _add_packed(work: Work, places: set[tuple[int, int]], whole: tuple[int, ...]) -> None:
    work.sequences += 1
    work.tokens += len(whole)
    work.attended += len(whole) ** 2
    work.attended_last += len(whole)
    places.update((token, index) for index, token in enumerate(whole))
