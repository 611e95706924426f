"""The claims of captions that have several, and their newest numbers. A caption that is one claim
has no row here: its pair has the numbers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import bindparam, delete, func, select, update
from sqlalchemy.orm import Session

from db.measures import MEASURES, Numbers
from db.models import Claim, Pair
from db.queries.ranking_queries import check_probability
from db.queries.statements import (
    any_of,
    check_number,
    chunks,
    columns_of,
    in_dataset,
    read_records,
    save_rows,
    set_columns,
    table_of,
)

_AT_ONCE = 1000


@dataclass(frozen=True)
class ClaimRow:
    """The characters `start` to `end` of a caption; `kind`, `repeats`, `subject`: see
    `engine.claims.claim.Claim`; numbers as those of a pair, None until known."""

    pair_id: int
    start: int
    end: int
    kind: str
    repeats: bool = False
    subject: str = ""
    s_0: float | None = None
    gain: float | None = None
    icc: float | None = None
    p_error: float | None = None


_COLUMNS = columns_of(Claim, ClaimRow)
_CLAIMS = (
    select(*_COLUMNS)
    .where(Claim.pair_id.in_(any_of("pair_ids")))
    .order_by(Claim.pair_id, Claim.start)
)
_NUMBERS = tuple(name for name, measure in MEASURES.items() if measure.of_claims)


def save_claims(session: Session, claims: Mapping[int, Sequence[ClaimRow]]) -> None:
    """Store how the captions of these pairs are divided; [] for a caption that is one claim. Claims
    that were not there before have no numbers yet, and others keep theirs."""
    for part in chunks(sorted(claims), _AT_ONCE):
        starts = {(row.pair_id, row.start, row.end) for pair_id in part for row in claims[pair_id]}
        for earlier in claims_of(session, part).values():
            for row in earlier:
                if (row.pair_id, row.start, row.end) not in starts:
                    key = (Claim.pair_id == row.pair_id, Claim.start == row.start)
                    session.execute(delete(Claim).where(*key))
    rows = [vars(row) for each in claims.values() for row in each]
    save_rows(session, Claim, ("pair_id", "start"), rows, except_for=_NUMBERS)
    set_columns(
        session, {pair_id: {"claims": max(1, len(each))} for pair_id, each in claims.items()}
    )


def of_several(session: Session, pairs: Mapping[int, Numbers]) -> dict[int, list[ClaimRow]]:
    """As `claims_of`, by the numbers of the pairs: only captions of several claims are read."""
    several = [pair_id for pair_id, numbers in pairs.items() if (numbers["claims"] or 1) > 1]
    return claims_of(session, several) if several else {}


def claims_of(session: Session, pair_ids: Sequence[int]) -> dict[int, list[ClaimRow]]:
    """The claims of each of these pairs in the order of its caption; pairs whose caption is one
    claim are left out."""
    by_pair: dict[int, list[ClaimRow]] = {}
    for part in chunks(pair_ids, _AT_ONCE):
        for row in read_records(session, ClaimRow, _CLAIMS, pair_ids=part):
            by_pair.setdefault(row.pair_id, []).append(row)
    return by_pair


def save_numbers(session: Session, numbers: Mapping[tuple[int, int], Mapping[str, float]]) -> None:
    """Set numbers of claims, by pair and start and by the names of `ClaimRow`'s: the same ones of
    each. Raises ValueError for one that is not finite, or no probability."""
    if not numbers:
        return
    for (pair_id, start), values in numbers.items():
        for name, value in values.items():
            check_number(value, f"{name} of the claim at {start} of pair {pair_id}")
        check_probability(pair_id, values.get("p_error"))
    names = next(iter(numbers.values()))
    table = table_of(Claim)
    session.connection().execute(
        update(table)
        .where(table.c.pair_id == bindparam("pair"), table.c.start == bindparam("place"))
        .values({name: bindparam(f"new_{name}") for name in names}),
        [
            {"pair": pair_id, "place": start, **{f"new_{n}": value for n, value in values.items()}}
            for (pair_id, start), values in sorted(numbers.items())
        ],
    )


@dataclass(frozen=True)
class ClaimCounts:
    """Of a dataset whose captions were divided: captions of `several` claims, the claims of all
    captions, and those of several that are `vague`."""

    several: int
    claims: int
    vague: int


def count_claims(session: Session, dataset_id: int) -> ClaimCounts:
    several = func.count().filter(Pair.claims > 1)
    claims, vague = func.sum(Pair.claims), func.sum(Pair.vague_claims)
    row = session.execute(select(several, claims, vague).where(in_dataset(dataset_id))).one()
    return ClaimCounts(*(int(value or 0) for value in row))
