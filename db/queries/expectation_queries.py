"""A captioner's expectations of a caption's words, packed in the row of the caption's trajectory.

A word takes 8 bytes, and its alternatives about as much again, compressed. They are read together
with the trajectory (`queries/trajectories.py`), without a statement of their own.
"""

import json
import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import ColumnElement, bindparam, func, select, update
from sqlalchemy.orm import Session

from db.blobs import decode_floats, encode_floats
from db.models import CopyTrajectory, Trajectory
from db.queries.statements import table_of

FloatArray = NDArray[np.float32]
_DIGITS = 3


@dataclass(frozen=True)
class ExpectationRow:
    """`log_p`, `distance`: of each word that was read, shape [words], float32; `alternatives`: for
    each word the most probable words with their probabilities, rounded to three digits, or empty;
    `captioner`: identity of the captioner."""

    log_p: FloatArray
    distance: FloatArray
    alternatives: tuple[tuple[tuple[str, float], ...], ...]
    captioner: str


def count_unexpected(session: Session, run_id: int, captioner: str) -> int:
    """How many pairs `unexpected` would return in total."""
    query = select(func.count()).where(*_unread(run_id, captioner))
    return int(session.execute(query).scalar_one())


def unexpected(session: Session, run_id: int, captioner: str, after: int, limit: int) -> list[int]:
    """The next pairs after `after` whose trajectory under the run has no expectations of this
    captioner, in import order."""
    unread = session.execute(
        select(Trajectory.pair_id)
        .where(*_unread(run_id, captioner), Trajectory.pair_id > after)
        .order_by(Trajectory.pair_id)
        .limit(limit)
    )
    return list(unread.scalars())


def _unread(run_id: int, captioner: str) -> tuple[ColumnElement[bool], ...]:
    unread = Trajectory.captioner.is_(None) | (Trajectory.captioner != captioner)
    return Trajectory.run_id == run_id, unread


def save_expectations(session: Session, run_id: int, rows: Mapping[int, ExpectationRow]) -> None:
    """Save expectations with the trajectories of a run, by pair; replaces those of another
    captioner. Raises ValueError, with nothing written, if a number is not finite."""
    if not rows:
        return
    table = table_of(Trajectory)
    _check(rows)
    session.connection().execute(
        update(table)
        .where(table.c.run_id == run_id, table.c.pair_id == bindparam("pair"))
        .values(expectation=bindparam("packed"), captioner=bindparam("who")),
        [{"pair": pair, **_values(row)} for pair, row in sorted(rows.items())],
    )


def save_copy_expectations(
    session: Session, run_id: int, rows: Mapping[tuple[int, bytes], ExpectationRow]
) -> None:
    """Like `save_expectations`, for noisy copies, by pair and digest of the caption."""
    if not rows:
        return
    table = table_of(CopyTrajectory)
    _check(rows)
    session.connection().execute(
        update(table)
        .where(
            table.c.run_id == run_id,
            table.c.pair_id == bindparam("pair"),
            table.c.caption == bindparam("digest"),
        )
        .values(expectation=bindparam("packed"), captioner=bindparam("who")),
        [
            {"pair": pair, "digest": digest, **_values(row)}
            for (pair, digest), row in sorted(rows.items())
        ],
    )


def _check(rows: Mapping[int, ExpectationRow] | Mapping[tuple[int, bytes], ExpectationRow]) -> None:
    for key, row in rows.items():
        if len(row.log_p) != len(row.distance):
            raise ValueError(f"expectations of {key} differ in length")
        if not (np.isfinite(row.log_p).all() and np.isfinite(row.distance).all()):
            raise ValueError(f"the expectations of {key} are not finite")


def _values(row: ExpectationRow) -> dict[str, bytes | str]:
    return {"packed": pack(row), "who": row.captioner}


def pack(row: ExpectationRow) -> bytes:
    """Pack as word count, numbers, and alternatives as compressed JSON, if there are any."""
    packed = b""
    if any(row.alternatives):
        rounded = [[[word, round(p, _DIGITS)] for word, p in words] for words in row.alternatives]
        packed = zlib.compress(json.dumps(rounded, separators=(",", ":")).encode("ascii"), 9)
    numbers = encode_floats(np.concatenate([row.log_p, row.distance]))
    return struct.pack("<H", len(row.log_p)) + numbers + packed


def unpack(blob: bytes | None, captioner: str | None) -> ExpectationRow | None:
    """The inverse of `pack`; None if nothing is stored."""
    if blob is None or captioner is None:
        return None
    (count,) = struct.unpack_from("<H", blob)
    end = 2 + 8 * count
    numbers = decode_floats(blob[2:end])
    word_lists = json.loads(zlib.decompress(blob[end:])) if len(blob) > end else []
    alternatives = tuple(tuple((str(w), float(p)) for w, p in words) for words in word_lists)
    return ExpectationRow(numbers[:count], numbers[count:], alternatives, captioner)
