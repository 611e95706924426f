"""Trajectories, stored packed: of captions, and of their noisy copies so that training resumes.
In the same row, a captioner's expectations of the caption's words: a word takes 8 bytes, and its
alternatives about as much again, compressed.

A copy is identified by its pair and its text: noise with the same seed gives the same copies.
"""

import hashlib
import json
import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import (
    ColumnElement,
    Row,
    and_,
    bindparam,
    delete,
    exists,
    func,
    or_,
    select,
    update,
)
from sqlalchemy.orm import DeclarativeBase, Session, aliased

from db.blobs import (
    decode_floats,
    decode_integers,
    decode_texts,
    encode_floats,
    encode_integers,
    encode_texts,
)
from db.models import CopyTrajectory, Detection, Pair, Run, Trajectory
from db.queries.ranking_queries import p_error_of
from db.queries.run_queries import NEWEST_FIRST
from db.queries.statements import (
    any_of,
    chunks,
    in_dataset,
    outside_of,
    run,
    save_rows,
    set_columns,
    table_of,
)

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


@dataclass(frozen=True)
class TrajectoryRow:
    """The trajectory of one pair's caption, or of one of its claims, under one run.

    * `start`, `end`: the claim's characters in the caption; an `end` of None: the whole caption.
    * `scores`, `similarities`: s_0 … s_T and c_0 … c_T, shape [T + 1], float32.
    * `removed`: word indices in the order of removal, length T.
    * `first_step_scores`: shape [words read]; the score without word i.
    * `captions`: x_1 … x_T if they do not follow from `removed`.
    * `auxiliary`: the auxiliary score, if any, of x_0 … x_T and of x_0 without word i.
    * `expectation`: a captioner's expectations of the words of x_0; read with the trajectory, saved
      by `save_expectations`.
    * `whole`: False if only the first step is known.
    """

    pair_id: int
    scores: FloatArray
    similarities: FloatArray
    removed: tuple[int, ...]
    first_step_scores: FloatArray
    truncated: bool = False
    captions: tuple[str, ...] | None = None
    auxiliary: tuple[FloatArray, FloatArray] | None = None
    expectation: ExpectationRow | None = None
    whole: bool = True
    start: int = 0
    end: int | None = None


#: What the tables of captions and of copies have in common.
VALUES = (
    "scores", "similarities", "removed", "first_step_scores", "truncated", "captions",
    "second_scores", "second_first_step_scores", "whole",
)  # fmt: skip
_COLUMNS, _COPY_COLUMNS = (
    [getattr(table, name) for name in ("pair_id", *VALUES, "expectation", "captioner")]
    for table in (Trajectory, CopyTrajectory)
)
_COLUMNS += [Trajectory.start, Trajectory.end]


_PAIR = bindparam("pair_id")
_other = aliased(Trajectory)
_newest_run = (
    select(Run.id)
    .join(_other, Run.id == _other.run_id)
    .where(_other.pair_id == _PAIR)
    .order_by(*NEWEST_FIRST)
    .limit(1)
)
_NEWEST = (
    select(*_COLUMNS)
    .where(Trajectory.run_id == _newest_run.scalar_subquery(), Trajectory.pair_id == _PAIR)
    .order_by(Trajectory.start)
)
_OF_RUN = (
    select(*_COLUMNS)
    .where(Trajectory.run_id == bindparam("run_id"), Trajectory.pair_id.in_(any_of("pair_ids")))
    .order_by(Trajectory.pair_id, Trajectory.start)
)


def save_trajectories(session: Session, run_id: int, batch: Sequence[TrajectoryRow]) -> None:
    """Save trajectories, of captions or of all claims of each, and set the numbers of their pairs:
    the lowest s_0 and the largest gain of the claims, the words read of all.

    Idempotent: existing rows are overwritten, but a whole trajectory never by a first step; those
    of claims that the caption is no longer divided into are deleted. Every trajectory needs at
    least s_0, and scores must be finite; otherwise raises ValueError and writes nothing.
    """
    check_finite(batch)
    by_pair: dict[int, list[TrajectoryRow]] = {}
    for row in batch:
        by_pair.setdefault(row.pair_id, []).append(row)
    _delete_others(session, run_id, by_pair)
    save_rows(
        session,
        Trajectory,
        ("pair_id", "run_id", "start"),
        [
            {"pair_id": row.pair_id, "run_id": run_id, "start": row.start, "end": row.end}
            | pack_row(row)
            for row in batch
        ],
        only_where=lambda new: or_(new.whole, Trajectory.whole.is_(False)),
    )
    numbers = {pair_id: numbers_of(rows) for pair_id, rows in by_pair.items()}
    set_columns(
        session,
        {
            pair_id: {
                "s_0": numbers[pair_id][0],
                "gain": numbers[pair_id][1],
                "words_read": sum(len(row.first_step_scores) for row in rows),
                "truncated": any(row.truncated for row in rows),
            }
            for pair_id, rows in by_pair.items()
        },
    )


def numbers_of(rows: Sequence[TrajectoryRow]) -> tuple[float, float]:
    """s_0 and gain of a pair from the trajectories of its claims: the lowest and the largest."""
    return min(float(row.scores[0]) for row in rows), max(gain_of(row) for row in rows)


def gain_of(row: TrajectoryRow) -> float:
    """max s_t - s_0, at least 0."""
    return float(np.max(row.scores)) - float(row.scores[0])


def _delete_others(
    session: Session, run_id: int, by_pair: Mapping[int, Sequence[TrajectoryRow]]
) -> None:
    """Delete the trajectories under the run of other pieces of these captions."""
    for part in chunks(sorted(by_pair), 500):
        stored_pieces = session.execute(
            select(Trajectory.pair_id, Trajectory.start, Trajectory.end).where(
                Trajectory.run_id == run_id, Trajectory.pair_id.in_(part)
            )
        )
        for pair_id, start, end in stored_pieces.all():
            if (start, end) not in {(row.start, row.end) for row in by_pair[pair_id]}:
                session.execute(
                    delete(Trajectory).where(
                        Trajectory.run_id == run_id,
                        Trajectory.pair_id == pair_id,
                        Trajectory.start == start,
                    )
                )


def forget_scores(session: Session, run_id: int, pair_ids: Sequence[int]) -> None:
    """Delete the trajectories of these pairs under the run, and what was concluded from them."""
    unknown = dict.fromkeys(("s_0", "gain", "p_error_even", "p_error_odd", "icc", "vague_claims"))
    for part in chunks(sorted(pair_ids), 500):
        of_run = (Trajectory.run_id == run_id, Trajectory.pair_id.in_(part))
        session.execute(delete(Trajectory).where(*of_run))
        session.execute(delete(Detection).where(Detection.pair_id.in_(part)))
        set_columns(session, dict.fromkeys(part, unknown))


def get_trajectories(
    session: Session, pair_id: int, run_id: int | None = None
) -> list[TrajectoryRow]:
    """The trajectories of a pair's caption under `run_id`, by default the latest run that has any:
    one, or one for each claim in order; [] if there is none."""
    if run_id is not None:
        return trajectories_of(session, run_id, [pair_id]).get(pair_id, [])
    rows = run(session, _NEWEST, pair_id=pair_id)
    return [unpack_row(row, row.start, row.end) for row in rows]


def trajectories_of(
    session: Session, run_id: int, pair_ids: Sequence[int]
) -> dict[int, list[TrajectoryRow]]:
    """The trajectories under the run by pair, those of claims in their order; pairs without any
    are left out."""
    by_pair: dict[int, list[TrajectoryRow]] = {}
    for row in run(session, _OF_RUN, run_id=run_id, pair_ids=pair_ids):
        by_pair.setdefault(row.pair_id, []).append(unpack_row(row, row.start, row.end))
    return by_pair


def draw_scored(
    session: Session,
    run_id: int,
    dataset_id: int,
    size: int,
    without: Sequence[tuple[int, int]] = (),
) -> list[int]:
    """At most `size` pairs with a trajectory under the run, in import order: all scored pairs of
    randomly drawn pictures. `without`: none with an id from the first to the last.

    A picture with more than `size` pairs is only drawn, in part, if it is the first one.
    """
    conditions = (
        in_dataset(dataset_id),
        exists().where(Trajectory.pair_id == Pair.id, Trajectory.run_id == run_id),
        outside_of(without),
    )
    in_turn = session.execute(
        select(Pair.image_path).where(*conditions).order_by(Pair.random_key, Pair.id).limit(size)
    ).scalars()
    pairs_of: dict[str, list[int]] = {name: [] for name in in_turn}
    for part in chunks(list(pairs_of), 1000):
        rows = session.execute(
            select(Pair.image_path, Pair.id)
            .where(*conditions, Pair.image_path.in_(part))
            .order_by(Pair.id)
        )
        for name, pair_id in rows:
            pairs_of[name].append(pair_id)
    sample: list[int] = []
    for ids in pairs_of.values():
        if len(sample) + len(ids) <= size:
            sample += ids
        elif not sample:
            sample = ids[:size]
            break
    return sorted(sample)


def is_all_judged(session: Session, run_id: int) -> bool:
    """Whether every trajectory of the run has a detection computed from it."""
    waiting = exists().where(
        Trajectory.run_id == run_id,
        ~exists().where(Detection.pair_id == Trajectory.pair_id, Detection.run_id == run_id),
    )
    return not session.execute(select(waiting)).scalar_one()


def count_first_steps(session: Session, run_id: int) -> int:
    """Number of pairs with a trajectory of the run of which only the first step is known."""
    lacking = select(func.count(Trajectory.pair_id.distinct())).where(
        Trajectory.run_id == run_id, Trajectory.whole.is_(False)
    )
    return int(session.execute(lacking).scalar_one())


def lacking_steps(
    session: Session,
    run_id: int,
    dataset_id: int,
    *,
    top: int | None = None,
    above: float | None = None,
    among: Sequence[int] | None = None,
) -> Iterator[tuple[int, str]]:
    """(id, image's path) of pairs of whose trajectory under the run only the first step is known,
    ordered by path. Streamed.

    Only those among the `top` pairs with the highest p_error, with p_error of at least `above`,
    or `among` the given ids; by default all.
    """
    p_error = p_error_of(session, dataset_id)
    is_lacking = exists().where(
        Trajectory.pair_id == Pair.id, Trajectory.run_id == run_id, Trajectory.whole.is_(False)
    )
    query = select(Pair.id, Pair.image_path).where(is_lacking)
    if top is not None:
        top_ids = (
            select(Pair.id)
            .where(in_dataset(dataset_id), p_error.is_not(None))
            .order_by(p_error.desc(), Pair.id)
            .limit(top)
        )
        query = query.where(Pair.id.in_(top_ids))
    if above is not None:
        query = query.where(p_error >= above)
    if among is not None:
        query = query.where(Pair.id.in_(among))
    else:
        query = query.where(Pair.hidden.is_(False))
    statement = query.order_by(Pair.image_path, Pair.id).execution_options(yield_per=10_000)
    for row in session.execute(statement):
        yield int(row[0]), str(row[1])


def check_finite(batch: Sequence[TrajectoryRow]) -> None:
    """Raise ValueError if the scores of a trajectory are empty or not finite."""
    for trajectory in batch:
        if not len(trajectory.scores) or not np.isfinite(trajectory.scores).all():
            raise ValueError(f"the scores of pair {trajectory.pair_id} are empty or not finite")


def pack_row(trajectory: TrajectoryRow) -> dict[str, Any]:
    """Column values by name."""
    captions = trajectory.captions
    return {
        "scores": encode_floats(trajectory.scores),
        "similarities": encode_floats(trajectory.similarities),
        "removed": encode_integers(trajectory.removed),
        "first_step_scores": encode_floats(trajectory.first_step_scores),
        "truncated": trajectory.truncated,
        "captions": None if captions is None else encode_texts(captions),
        "second_scores": _pack(trajectory.auxiliary, 0),
        "second_first_step_scores": _pack(trajectory.auxiliary, 1),
        "whole": trajectory.whole,
    }


def _pack(auxiliary: tuple[FloatArray, FloatArray] | None, which: int) -> bytes | None:
    return None if auxiliary is None else encode_floats(auxiliary[which])


def unpack_row(row: Row[*tuple[Any, ...]], start: int = 0, end: int | None = None) -> TrajectoryRow:
    """The inverse of `pack_row`; the row also has `pair_id`, `expectation` and `captioner`."""
    auxiliary = None
    if row.second_scores is not None and row.second_first_step_scores is not None:
        auxiliary = (decode_floats(row.second_scores), decode_floats(row.second_first_step_scores))
    return TrajectoryRow(
        pair_id=row.pair_id,
        scores=decode_floats(row.scores),
        similarities=decode_floats(row.similarities),
        removed=decode_integers(row.removed),
        first_step_scores=decode_floats(row.first_step_scores),
        truncated=row.truncated,
        captions=None if row.captions is None else decode_texts(row.captions),
        auxiliary=auxiliary,
        expectation=unpack(row.expectation, row.captioner),
        whole=row.whole,
        start=start,
        end=end,
    )


#: A pair and the caption of one of its copies.
Copy = tuple[int, str]
_AT_ONCE = 500


def save_copies(
    session: Session, run_id: int, captions: Sequence[str], batch: Sequence[TrajectoryRow]
) -> None:
    """Save one trajectory for each caption; existing ones are not changed, except that a whole
    trajectory replaces a first step.

    Raises ValueError like `save_trajectories`.
    """
    check_finite(batch)
    rows = [
        {"run_id": run_id, "pair_id": row.pair_id, "caption": digest(text), **pack_row(row)}
        for text, row in zip(captions, batch, strict=True)
    ]
    save_rows(
        session,
        CopyTrajectory,
        ("run_id", "pair_id", "caption"),
        rows,
        only_where=lambda new: and_(new.whole, CopyTrajectory.whole.is_(False)),
    )


def copies_of(session: Session, run_id: int, copies: Sequence[Copy]) -> dict[Copy, TrajectoryRow]:
    """The trajectory under the run of each copy that has one."""
    copy_of = {(pair_id, digest(text)): (pair_id, text) for pair_id, text in copies}
    rows_by_copy: dict[Copy, TrajectoryRow] = {}
    for pair_ids in chunks(sorted({pair_id for pair_id, _ in copy_of}), _AT_ONCE):
        rows = session.execute(
            select(CopyTrajectory.caption, *_COPY_COLUMNS).where(
                CopyTrajectory.run_id == run_id, CopyTrajectory.pair_id.in_(pair_ids)
            )
        )
        for row in rows:
            copy = copy_of.get((row.pair_id, row.caption))
            if copy is not None:
                rows_by_copy[copy] = unpack_row(row)
    return rows_by_copy


def digest(caption: str) -> bytes:
    """The digest that identifies a copy's caption."""
    return hashlib.sha256(caption.encode("utf-8", "surrogatepass")).digest()


def count_unexpected(session: Session, run_id: int, captioner: str) -> int:
    """How many pairs `without_expectation` would return in total."""
    query = select(func.count(Trajectory.pair_id.distinct())).where(*_unread(run_id, captioner))
    return int(session.execute(query).scalar_one())


def without_expectation(
    session: Session, run_id: int, captioner: str, after: int, limit: int
) -> list[int]:
    """The next pairs after `after` whose trajectory under the run has no expectations of this
    captioner, in import order."""
    unread = session.execute(
        select(Trajectory.pair_id)
        .distinct()
        .where(*_unread(run_id, captioner), Trajectory.pair_id > after)
        .order_by(Trajectory.pair_id)
        .limit(limit)
    )
    return list(unread.scalars())


def _unread(run_id: int, captioner: str) -> tuple[ColumnElement[bool], ...]:
    unread = Trajectory.captioner.is_(None) | (Trajectory.captioner != captioner)
    return Trajectory.run_id == run_id, unread


def save_expectations(
    session: Session, run_id: int, rows: Mapping[tuple[int, int], ExpectationRow]
) -> None:
    """Save expectations with the trajectories of a run, by pair and start of the claim; replaces
    those of another captioner. Raises ValueError, with nothing written, if a number is not
    finite."""
    _save_expectations(session, Trajectory, run_id, ("pair_id", "start"), rows)


def save_copy_expectations(
    session: Session, run_id: int, rows: Mapping[tuple[int, bytes], ExpectationRow]
) -> None:
    """Like `save_expectations`, for noisy copies, by pair and digest of the caption."""
    _save_expectations(session, CopyTrajectory, run_id, ("pair_id", "caption"), rows)


def _save_expectations(
    session: Session,
    model: type[DeclarativeBase],
    run_id: int,
    key_names: tuple[str, ...],
    rows: Mapping[Any, ExpectationRow],
) -> None:
    """`rows`: by the values of these columns."""
    for key, row in rows.items():
        if len(row.log_p) != len(row.distance):
            raise ValueError(f"expectations of {key} differ in length")
        if not (np.isfinite(row.log_p).all() and np.isfinite(row.distance).all()):
            raise ValueError(f"the expectations of {key} are not finite")
    if not rows:
        return
    table = table_of(model)
    of_key = [table.c[name] == bindparam(f"its_{name}") for name in key_names]
    session.connection().execute(
        update(table)
        .where(table.c.run_id == run_id, *of_key)
        .values(expectation=bindparam("packed"), captioner=bindparam("who")),
        [
            dict(zip((f"its_{name}" for name in key_names), key, strict=True))
            | {"packed": pack(row), "who": row.captioner}
            for key, row in sorted(rows.items())
        ],
    )


def pack(row: ExpectationRow) -> bytes:
    """Pack as word count, numbers, and alternatives as compressed JSON, if there are any."""
    blob = b""
    if any(row.alternatives):
        alternatives = [
            [[word, round(p, _DIGITS)] for word, p in words] for words in row.alternatives
        ]
        blob = zlib.compress(json.dumps(alternatives, separators=(",", ":")).encode("ascii"), 9)
    numbers = encode_floats(np.concatenate([row.log_p, row.distance]))
    return struct.pack("<H", len(row.log_p)) + numbers + blob


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
