"""Batch sizes that fit into memory, determined at run time rather than configured."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from backend.errors import ModelUnavailable

_LEAST = 64
#: The fraction of free memory that activations may take.
_SHARE = 0.25
#: Images in an image tower's first batch.
FIRST_IMAGES = 16


@dataclass(frozen=True)
class Pace:
    """The batches that keep a kind of device busy.

    * `tokens`: the most in a batch of texts;
    * `images`: the most in an image tower's batch;
    * `pairs`: the most in flight together;
    * `sessions`: how many sessions of so many pairs compute at the same time (`Overlapping`);
    * `pads`: whether one call over padded texts is faster than many calls without padding. On an
      accelerator the launch of a call costs more than its arithmetic.
    """

    tokens: int
    images: int
    pairs: int
    pads: bool
    sessions: int = 1


#: Larger batches do not speed up a CPU, where padding only costs time.
CPU = Pace(8192, FIRST_IMAGES, 48, pads=False)
#: Larger batches speed up an accelerator only a little.
ACCELERATOR = Pace(65_536, 512, 256, pads=True)
#: Of scorers that can (`Overlapping`): the card computes about as long as the processor prepares
#: its next call (BLIP-ITM on an H200).
CUDA = replace(ACCELERATOR, sessions=2)


def pace_of(device: str) -> Pace:
    """
    >>> pace_of("cuda:1").pairs
    256
    """
    return CPU if device.startswith("cpu") else ACCELERATOR


def card_memory() -> int:
    """Bytes of the first CUDA device's memory; 0 without one."""
    if not torch.cuda.is_available():
        return 0
    return int(torch.cuda.get_device_properties(0).total_memory)


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

    def __init__(self, bytes_a_token: int, device: str, pace: Pace | None = None) -> None:
        self.pace = pace or pace_of(device)
        share = _SHARE / self.pace.sessions
        fits = int(share * free_memory(device) / max(1, bytes_a_token))
        self.tokens = max(_LEAST, min(self.pace.tokens, fits))

    def each(self, lengths: Sequence[int], compute: Callable[[range], None]) -> None:
        """Call `compute` for consecutive ranges that cover all of `lengths`.

        Raises ModelUnavailable if not even a single text fits.
        """
        first = 0
        while first < len(lengths):
            part = next(parts(lengths, self.tokens, first))
            if not _had_memory(compute, part, "score a single caption"):
                self.tokens = max(1, sum(lengths[i] for i in part) // 2)
                continue
            first = part.stop


class ImageBatches:
    """Splits images into batches for an image tower. On an accelerator they grow to what fits,
    according to the memory that the previous batch used; out of memory halves them."""

    def __init__(self, device: str, pace: Pace | None = None) -> None:
        self._device = device
        self._most = (pace or pace_of(device)).images
        self.size = FIRST_IMAGES

    def each(self, count: int, compute: Callable[[range], None]) -> None:
        """Call `compute` for consecutive ranges that cover `count` images.

        Raises ModelUnavailable if not even a single image fits.
        """
        first = 0
        while first < count:
            part = range(first, min(count, first + self.size))
            before = start_measuring(self._device)
            if not _had_memory(compute, part, "encode a single picture"):
                self.size = self._most = len(part) // 2
                continue
            first = part.stop
            memory_taken = taken_since(self._device, before)
            if memory_taken > 0:
                fits = int(_SHARE * free_memory(self._device) * len(part) / memory_taken)
                self.size = max(1, min(self._most, fits))


def start_measuring(device: str) -> int:
    """Bytes allocated on the device now, from which `taken_since` measures; 0 if unknown."""
    if not device.startswith("cuda"):
        return 0
    torch.cuda.reset_peak_memory_stats(torch.device(device))
    return int(torch.cuda.memory_allocated(torch.device(device)))


def taken_since(device: str, before: int) -> int:
    """Peak of the bytes allocated since `start_measuring`, beyond those allocated before; 0
    if unknown."""
    if not device.startswith("cuda"):
        return 0
    return int(torch.cuda.max_memory_allocated(torch.device(device))) - before


def _release() -> None:
    """Return cached memory to the device, so that a smaller batch finds it."""
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def parts(lengths: Sequence[int], most: int, first: int = 0) -> Iterator[range]:
    """Consecutive ranges of at most `most` tokens, each of at least one text.

    >>> list(parts([3, 3, 3, 9, 1], 6))
    [range(0, 2), range(2, 3), range(3, 4), range(4, 5)]
    """
    start, tokens = first, 0
    for index in range(first, len(lengths)):
        if tokens and tokens + lengths[index] > most:
            yield range(start, index)
            start, tokens = index, 0
        tokens += lengths[index]
    if tokens or start < len(lengths):
        yield range(start, len(lengths))


def images_that_fit(bytes_an_image: int, device: str, most: int, sessions: int = 1) -> int:
    """How many images' states each of `sessions` may hold at a time, between 1 and `most`."""
    share = _SHARE / sessions
    return max(1, min(most, math.floor(share * free_memory(device) / max(1, bytes_an_image))))


def _had_memory(compute: Callable[[range], None], part: range, what: str) -> bool:
    """Compute a batch and return whether there was enough memory; if not, cached memory is
    released. Raises ModelUnavailable if the batch cannot be halved. `what`: what a batch of one
    does."""
    try:
        compute(part)
    except (torch.OutOfMemoryError, MemoryError, RuntimeError) as problem:
        if not _is_shortage(problem):
            raise
        if len(part) == 1:
            raise ModelUnavailable(
                f"There is not enough memory to {what} with this model. "
                "Choose a smaller model, or close other programs."
            ) from problem
        _release()
        return False
    return True


def _is_shortage(problem: BaseException) -> bool:
    return isinstance(problem, (torch.OutOfMemoryError, MemoryError)) or (
        "allocate memory" in str(problem) or "out of memory" in str(problem)
    )
