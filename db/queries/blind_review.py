"""Blind second opinions: a verdict is hidden from those who may still be asked for their own.

With an overlap, a fixed share of a dataset's pairs is judged by several people, who must not
influence each other. Until such a pair has all its opinions, whoever has given none sees it as
undecided. Rows are masked, not filters: a query that shows a verdict, or selects by one, takes it
from `verdict_seen`. The reader belongs to the session; without one (the command line, a job)
nothing is hidden.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any, TypeVar

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Text,
    and_,
    case,
    cast,
    exists,
    false,
    func,
    or_,
    select,
    true,
)
from sqlalchemy.orm import Session, aliased

from db.authors import DUPLICATE, LABELS, RULE
from db.decisions import DUPLICATE_DROPPED, ENRICHED, NEW_CAPTION
from db.measures import MEASURES
from db.models import Dataset, Opinion, Pair
from db.queries.number_columns import number_column
from db.queries.statements import chunks, run

#: A reader who has judged nothing: sees only what everybody may.
NOBODY = ""
#: The columns of a verdict.
VERDICT = ("decision", "corrected_caption", "decided_by", "decided_at", "enriches", "note")
_AT_ONCE = 1000
#: Statements that are kept of one function: a queue may be filtered in any way.
_MOST_BUILT = 200
_READER, _OVERLAPS = "reader", "overlaps"
_OVERLAPPING = select(Dataset.id, Dataset.overlap_share, Dataset.overlap_people).where(
    Dataset.overlap_share > 0
)
#: What a function that `built_once` decorates returns.
Built = TypeVar("Built")


@dataclass(frozen=True)
class SeenVerdict:
    """The verdict in effect as the reader sees it, as columns; all NULL, "" or false if it is
    hidden. `is_undecided`: also if it is hidden."""

    is_undecided: ColumnElement[bool]
    decision: ColumnElement[Any]
    corrected_caption: ColumnElement[Any]
    decided_by: ColumnElement[Any]
    decided_at: ColumnElement[Any]
    enriches: ColumnElement[Any]
    note: ColumnElement[Any]


def set_reader(session: Session, reader: str | None) -> None:
    """Read as this curator from now on. None: an operator, who sees everything."""
    session.info[_READER] = reader


def reader_of(session: Session) -> str | None:
    """As set by `set_reader`."""
    reader: str | None = session.info.get(_READER)
    return reader


def verdict_seen(session: Session, dataset_id: int | None = None) -> SeenVerdict:
    """The columns to select and to compare. `dataset_id`: of the pairs, if it is the same for all;
    the conditions are shorter then."""
    is_hidden = _verdicts_hidden(session, dataset_id)
    if is_hidden is None:
        return SeenVerdict(Pair.decision.is_(None), *(getattr(Pair, name) for name in VERDICT))
    return SeenVerdict(
        or_(Pair.decision.is_(None), is_hidden),
        case((~is_hidden, Pair.decision)),
        case((~is_hidden, Pair.corrected_caption)),
        case((~is_hidden, Pair.decided_by)),
        case((~is_hidden, Pair.decided_at)),
        case((~is_hidden, Pair.enriches), else_=false()),
        case((~is_hidden, Pair.note), else_=""),
    )


def pair_columns(
    session: Session, fields: Iterable[str], dataset_id: int | None = None
) -> tuple[ColumnElement[Any], ...]:
    """The columns of pairs with these names, measures among them, and the verdict's as the reader
    sees it. "numbers" stands for all measures."""
    verdict = verdict_seen(session, dataset_id)
    kind = cast(Pair.extra["caption_field"].as_string(), Text)
    special = {"pair_id": Pair.id.label("pair_id"), "caption_field": kind.label("caption_field")}
    special |= {name: getattr(verdict, name).label(name) for name in VERDICT}

    def column(name: str) -> ColumnElement[Any]:
        if name in MEASURES:
            return number_column(name)
        return special[name] if name in special else getattr(Pair, name)

    each = (name for field in fields for name in (MEASURES if field == "numbers" else (field,)))
    return tuple(column(name) for name in each)


def built_once(
    build: Callable[..., Built],
) -> Callable[..., Built]:
    """For a function of a session, a dataset (None: any) and further hashable values that builds
    statements: while the reader sees everything, they depend on the further values alone, on the
    measures that there are and on the kind of database, and are built once. The dataset is a
    `bindparam` in them."""
    statements: dict[Hashable, Built] = {}

    @wraps(build)
    def built(session: Session, dataset_id: int | None, *values: Hashable) -> Built:
        if _verdicts_hidden(session, dataset_id) is not None:
            return build(session, dataset_id, *values)
        key = (values, tuple(MEASURES), session.get_bind().dialect.name)
        if key not in statements:
            if len(statements) >= _MOST_BUILT:
                statements.clear()
            statements[key] = build(session, dataset_id, *values)
        return statements[key]

    return built


def sees_all(session: Session, dataset_id: int) -> bool:
    """Whether nothing about the dataset is hidden from the reader: others see the same."""
    return _verdicts_hidden(session, dataset_id) is None


def may_know(session: Session, dataset_id: int | None = None) -> ColumnElement[bool]:
    """Condition: the reader may know what others said about the pair."""
    is_hidden = _verdicts_hidden(session, dataset_id)
    return true() if is_hidden is None else ~is_hidden


def may_know_pair(session: Session, pair_id: int) -> bool:
    """Whether the reader may know what others said about this pair."""
    return not hidden_pairs(session, [pair_id])


def hidden_pairs(session: Session, pair_ids: Sequence[int]) -> set[int]:
    """Those of the pairs about which the reader may not know what others said."""
    is_hidden = _verdicts_hidden(session)
    if is_hidden is None:
        return set()
    return {
        pair_id
        for part in chunks(pair_ids, _AT_ONCE)
        for pair_id in session.scalars(select(Pair.id).where(Pair.id.in_(part), is_hidden))
    }


def _verdicts_hidden(session: Session, dataset_id: int | None = None) -> ColumnElement[bool] | None:
    """The opposite of `may_know`; None: the reader may know everything."""
    reader = reader_of(session)
    if reader is None:
        return None
    overlaps = [row for row in _overlaps(session) if dataset_id in (None, row[0])]
    if not overlaps:
        return None
    opinion = aliased(Opinion)
    own = or_(opinion.author == reader, _is_label_of(opinion, reader))
    has_judged = exists().where(opinion.pair_id == Pair.id, own)
    opinions = (
        select(func.count(opinion.author))
        .where(opinion.pair_id == Pair.id, opinion.settles.is_(False))
        .scalar_subquery()
    )
    conditions = (
        and_(
            Pair.dataset_id == number,
            _is_shared(share),
            opinions < people,
        )
        for number, share, people in overlaps
    )
    return and_(or_(*conditions), ~has_judged)


def _is_label_of(opinion: type[Opinion], reader: str) -> ColumnElement[bool]:
    """Condition: the opinion was read from a file of labels that names this reader, who has judged
    the pair elsewhere and is no second person."""
    # As `person_of` reads it: behind the first slash, letter by letter (LIKE ignores case).
    file_length = func.length(opinion.author) - len(reader)
    return and_(
        opinion.author.startswith(LABELS, autoescape=True),
        func.substr(opinion.author, file_length + 1) == reader,
        func.substr(opinion.author, file_length, 1) == "/",
        func.substr(opinion.author, 1, file_length - 1).not_like("%/%"),
    )


def _is_shared(share: float) -> ColumnElement[bool]:
    """Condition: the pair is among this share of its dataset's."""
    # The product exceeds an INTEGER from pair 271,177 on.
    return cast(Pair.id, BigInteger) * 7919 % 10_000 < round(share * 10_000)


def several_judge(session: Session, pair_ids: Sequence[int]) -> set[int]:
    """Those of the pairs that several people judge."""
    shares = [
        and_(Pair.dataset_id == number, _is_shared(share))
        for number, share, _ in _overlaps(session)
    ]
    if not shares:
        return set()
    return {
        pair_id
        for part in chunks(pair_ids, _AT_ONCE)
        for pair_id in session.scalars(select(Pair.id).where(Pair.id.in_(part), or_(*shares)))
    }


def _overlaps(session: Session) -> list[tuple[int, float, int]]:
    """(dataset, share, people) of the datasets with an overlap, queried once per session."""
    if _OVERLAPS not in session.info:
        session.info[_OVERLAPS] = list(run(session, _OVERLAPPING).tuples())
    return session.info[_OVERLAPS]


def by_a_person(verdict: SeenVerdict) -> ColumnElement[bool]:
    """Condition: the pair was not decided by a rule (see `db.authors`)."""
    return or_(verdict.decided_by.is_(None), ~verdict.decided_by.startswith(RULE, autoescape=True))


def judgement_of(verdict: SeenVerdict) -> ColumnElement[str | None]:
    """The `judgement` of a pair's verdict in effect, as an SQL expression."""
    is_copy = verdict.decided_by.startswith(DUPLICATE, autoescape=True)
    return case(
        (verdict.decision.is_not(None) & (Pair.caption == ""), NEW_CAPTION),
        (verdict.enriches & (verdict.decision == "correction"), ENRICHED),
        ((verdict.decision == "drop") & is_copy, DUPLICATE_DROPPED),
        else_=verdict.decision,
    )
