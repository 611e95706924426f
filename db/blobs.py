"""Numbers packed into bytes, so that trajectories of a million pairs fit.

Floats are little-endian float32. Whole numbers are little-endian in the narrowest unsigned width
that fits the largest of them; the first byte is that width (1, 2 or 4 bytes per number):

>>> encode_integers([3, 0, 255]).hex()
'010300ff'
>>> encode_integers([3, 0, 256]).hex()
'02030000000001'
>>> decode_integers(encode_integers([3, 0, 256]))
(3, 0, 256)

An ordinary caption of a dozen words thus takes about 170 bytes for its whole trajectory.
"""

import json
import zlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

_WIDTHS: dict[int, str] = {1: "<u1", 2: "<u2", 4: "<u4"}

#: Suspect scores in [0, 1] are stored in steps of 1/255: finer than any shade a curator can see.
SCORE_STEPS = 255


def encode_floats(values: ArrayLike) -> bytes:
    """Shape [n], any float type, as 4n bytes. Values are rounded to float32."""
    return np.asarray(values, dtype="<f4").tobytes()


def decode_floats(blob: bytes) -> NDArray[np.float32]:
    """The inverse of `encode_floats`; a new, writable array of shape [n]."""
    return np.frombuffer(blob, dtype="<f4").astype(np.float32)


def encode_integers(values: Sequence[int]) -> bytes:
    """Whole numbers in [0, 2**32) as a width byte and the numbers."""
    if not values:
        return b"\x01"
    if min(values) < 0 or max(values) >= 2**32:
        raise ValueError("only whole numbers from 0 to 4294967295 can be packed")
    width = 1 if max(values) < 2**8 else 2 if max(values) < 2**16 else 4
    return bytes([width]) + np.asarray(values, dtype=_WIDTHS[width]).tobytes()


def decode_integers(blob: bytes) -> tuple[int, ...]:
    """The inverse of `encode_integers`."""
    return tuple(np.frombuffer(blob, dtype=_WIDTHS[blob[0]], offset=1).tolist())


def encode_texts(texts: Sequence[str]) -> bytes:
    """Compress texts that differ little from one to the next; any characters are allowed."""
    return zlib.compress(json.dumps(list(texts)).encode("ascii"), 9)


def decode_texts(blob: bytes) -> tuple[str, ...]:
    """The inverse of `encode_texts`."""
    return tuple(json.loads(zlib.decompress(blob)))


def encode_suspects(suspects: Sequence[tuple[int, int, float]]) -> bytes:
    """(start, end, score) triples; scores in [0, 1] are rounded to steps of 1/255."""
    flat: list[int] = []
    for start, end, score in suspects:
        if not 0.0 <= score <= 1.0:
            raise ValueError(f"a suspect score must lie in [0, 1], not {score}")
        flat += [start, end, round(score * SCORE_STEPS)]
    return encode_integers(flat)


def decode_suspects(blob: bytes) -> tuple[tuple[int, int, float], ...]:
    """The inverse of `encode_suspects`, with scores within 1/510 of the original ones."""
    flat = decode_integers(blob)
    return tuple((flat[i], flat[i + 1], flat[i + 2] / SCORE_STEPS) for i in range(0, len(flat), 3))
