"""Batch sizes that fit into memory, determined at run time rather than configured."""

import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import torch

from backend.errors import ModelUnavailable

#: Batches of more tokens do not speed up a CPU, and an accelerator only a little.
MOST_TOKENS = {"cpu": 8192}
_MOST_ELSEWHERE = 65_536
_LEAST = 64
#: The fraction of free memory that activations may take.
_SHARE = 0.25


def free_memory(device: str) -> int:
    """Bytes available on the device."""
    if device.startswith("cuda"):
        return int(torch.cuda.mem_get_info(torch.device(device))[0])
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 4 << 30  # unknown: assume a small machine


class TokenBudget:
    """Splits work into batches of at most `tokens` tokens; halves the limit on out-of-memory."""

    def __init__(self, bytes_a_token: int, device: str) -> None:
        fits = int(_SHARE * free_memory(device) / max(1, bytes_a_token))
        most = MOST_TOKENS.get(device.split(":")[0], _MOST_ELSEWHERE)
        self.tokens = max(_LEAST, min(most, fits))

    def each(self, lengths: Sequence[int], compute: Callable[[range], None]) -> None:
        """Call `compute` for consecutive ranges that cover all of `lengths`.

        Raises ModelUnavailable if not even a single text fits.
        """
        first = 0
        while first < len(lengths):
            part = next(parts(lengths, self.tokens, first))
            try:
                compute(part)
            except (torch.OutOfMemoryError, MemoryError, RuntimeError) as problem:
                if not _is_shortage(problem):
                    raise
                if len(part) == 1:
                    raise ModelUnavailable(
                        "There is not enough memory to score a single caption with this model. "
                        "Choose a smaller model, or close other programs."
                    ) from problem
                self.tokens = max(1, sum(lengths[i] for i in part) // 2)
                if torch.cuda.is_available():
                    torch.cuda.empty_cache()
                continue
            first = part.stop


def parts(lengths: Sequence[int], most: int, first: int = 0) -> Iterator[range]:
    """Consecutive ranges of at most `most` tokens, each of at least one text.

    >>> list(parts([3, 3, 3, 9, 1], 6))
    [range(0, 2), range(2, 3), range(3, 4), range(4, 5)]
    """
    start, held = first, 0
    for index in range(first, len(lengths)):
        if held and held + lengths[index] > most:
            yield range(start, index)
            start, held = index, 0
        held += lengths[index]
    if held or start < len(lengths):
        yield range(start, len(lengths))


def images_that_fit(bytes_an_image: int, device: str, most: int) -> int:
    """How many images' states may be held at a time, between 1 and `most`."""
    return max(1, min(most, math.floor(_SHARE * free_memory(device) / max(1, bytes_an_image))))


def _is_shortage(problem: BaseException) -> bool:
    return isinstance(problem, (torch.OutOfMemoryError, MemoryError)) or (
        "allocate memory" in str(problem) or "out of memory" in str(problem)
    )
