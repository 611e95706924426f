"""What charts show: pairs by two scores at once, and the progress of a review: by curator, by day,
and along the queue."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Date,
    Select,
    and_,
    bindparam,
    case,
    cast,
    func,
    literal_column,
    or_,
    select,
    true,
)
from sqlalchemy.orm import Session, aliased

from db.decisions import NOT_ABOUT_CAPTION, WRONG
from db.models import Pair, Verdict
from db.queries.blind_review import SeenVerdict, built_once, by_a_person, judgement_of, verdict_seen
from db.queries.ranking_queries import column_of, p_error_of, ranking_of
from db.queries.statements import in_dataset, outside_of, run


def decided_points(
    session: Session, dataset_id: int, with_rules: bool = False
) -> Iterator[tuple[float | None, float | None, float | None, str]]:
    """(p_error, icc, specificity, judgement) of every pair that a person has decided, in the order
    of the decisions. Rules are excluded unless asked for: one that decides by the probability is no
    evidence about it."""
    verdict = verdict_seen(session, dataset_id)
    by_whom = true() if with_rules else by_a_person(verdict)
    rows = session.execute(
        select(p_error_of(session, dataset_id), Pair.icc, Pair.specificity, judgement_of(verdict))
        .where(in_dataset(dataset_id), ~verdict.is_undecided, by_whom)
        .order_by(Pair.decided_at, Pair.id)
        .execution_options(yield_per=2000)
    )
    for p_error, icc, specificity, decision in rows:
        yield p_error, icc, specificity, str(decision)


@dataclass(frozen=True)
class ReachedPoint:
    """`point`: the highest p_error of an undecided pair (None: no such pair); `below`: number of
    pairs at or below it or without a p_error; `errors_found`: known errors among those; `sample`:
    those decided without a gap in random-audit order, of which `wrong_in_sample` are errors. Pairs
    decided *unsure* are excluded from the sample: they carry no information."""

    point: float | None
    below: int
    errors_found: int
    sample: int
    wrong_in_sample: int


@dataclass(frozen=True)
class Chances:
    """Pairs of one split whose chance of error is in the same tenth (0 to 9): their number, and the
    sum of their chances."""

    split: str
    tenth: int
    pairs: int
    expected: float


def chances(session: Session, dataset_id: int) -> list[Chances]:
    """The chances of error of all scored pairs, by split and tenth; empty tenths are missing."""
    p = p_error_of(session, dataset_id)
    # A cast truncates on SQLite and rounds on PostgreSQL.
    tenth = case(*((p < n / 10, n - 1) for n in range(1, 10)), else_=9)
    split = func.coalesce(Pair.split, "")
    rows = session.execute(
        select(split, tenth, func.count(Pair.id), func.sum(p))
        .where(in_dataset(dataset_id), p.is_not(None))
        .group_by(literal_column("1"), literal_column("2"))
        .order_by(literal_column("1"), literal_column("2"))
    )
    return [Chances(name, at, pairs, total or 0.0) for name, at, pairs, total in rows]


def undecided_by_chance(
    session: Session, dataset_id: int, without: Sequence[tuple[int, int]] = ()
) -> list[tuple[int, float]]:
    """The scored pairs without a verdict in order of their chance of error, the most likely wrong
    first, by hundredths of it: (pairs, the sum of their chances). `without`: those with ids from
    the first to the last."""
    ranking = ranking_of(session, dataset_id) % 2
    query = _undecided_by_chance(session, dataset_id, ranking, tuple(without))
    rows = run(session, query, dataset_id=dataset_id)
    return [(pairs, errors or 0.0) for pairs, errors in rows]


@built_once
def _undecided_by_chance(
    session: Session, dataset_id: int | None, ranking: int, without: tuple[tuple[int, int], ...]
) -> Select[*tuple[Any, ...]]:
    p = column_of(ranking)
    is_open = verdict_seen(session, dataset_id).is_undecided
    hundredth = func.floor(p * 100)
    return (
        select(func.count(Pair.id), func.sum(p))
        .where(in_dataset(bindparam("dataset_id")), is_open, p.is_not(None), outside_of(without))
        .group_by(hundredth)
        .order_by(hundredth.desc())
    )


_LATEST_VERDICTS = (
    select(Verdict.created_at)
    .join(Pair, Pair.id == Verdict.pair_id)
    .where(Pair.dataset_id == bindparam("dataset_id"), Verdict.decision.is_not(None))
    .group_by(Verdict.created_at)
    .order_by(Verdict.created_at.desc())
    .limit(bindparam("at_most"))
)


def count_undecided(session: Session, dataset_id: int, among: Sequence[tuple[int, int]]) -> int:
    """How many pairs with an id from the first to the last of any of these have no verdict."""
    is_open = verdict_seen(session, dataset_id).is_undecided
    query = select(func.count(Pair.id)).where(in_dataset(dataset_id), is_open, ~outside_of(among))
    return session.execute(query).scalar_one()


def latest_verdicts(session: Session, dataset_id: int, count: int) -> list[datetime]:
    """When the newest verdicts were given, the newest first; those given together count once."""
    return list(run(session, _LATEST_VERDICTS, dataset_id=dataset_id, at_most=count).scalars())


def pace(session: Session, dataset_id: int) -> list[tuple[str, str, int]]:
    """(curator, ISO 8601 day, number of verdicts without undone ones), in order of days, in UTC."""
    if session.get_bind().dialect.name == "sqlite":
        day: ColumnElement[str] = func.date(Verdict.created_at)
    else:
        day = func.to_char(cast(func.timezone("UTC", Verdict.created_at), Date), "YYYY-MM-DD")
    later = aliased(Verdict)
    # Undos and redos of an act alternate: it is in effect if there are as many redos as undos.
    taken_back, given_again = (
        select(func.count(later.id))
        .where(later.pair_id == Verdict.pair_id, act == Verdict.version)
        .scalar_subquery()
        for act in (later.undoes, later.redoes)
    )
    # All labels of a pair's claims count once.
    unit = case((Verdict.claim.is_(None), Verdict.id), else_=-Verdict.pair_id)
    rows = session.execute(
        select(Verdict.author, day.label("day"), func.count(unit.distinct()))
        .join(Pair, Pair.id == Verdict.pair_id)
        .where(
            Pair.dataset_id == dataset_id,
            Verdict.decision.is_not(None),
            Verdict.undoes.is_(None),
            Verdict.redoes.is_(None),
            taken_back <= given_again,
        )
        .group_by(Verdict.author, day)
        .order_by(day, Verdict.author)
    )
    return [(author, str(when), int(count)) for author, when, count in rows]


def wrong_ids(session: Session, dataset_id: int) -> set[str]:
    """The external ids of the pairs that are decided to be wrong."""
    is_error = judgement_of(verdict_seen(session, dataset_id)).in_(WRONG)
    query = select(Pair.external_id).where(in_dataset(dataset_id), is_error)
    return set(session.scalars(query))


def review_progress(
    session: Session, dataset_id: int, whole: bool = False, split: str | None = None
) -> ReachedPoint:
    """How far the queue and the random audit are decided without a gap; `whole`: only the random
    audit counts, among all pairs; `split`: of the pairs in it, None: of all."""
    ranking = ranking_of(session, dataset_id) % 2
    values: dict[str, Any] = {"dataset_id": dataset_id, "split": split}
    is_of_split = split is not None
    ends = _ends_of_review(session, dataset_id, ranking, is_of_split)
    point, gap = run(session, ends, **values).one()
    point = None if whole else point
    counts = _counts_of_review(
        session, dataset_id, ranking, is_of_split, whole, point is not None, gap is not None
    )
    return ReachedPoint(point, *run(session, counts, **values, point=point, gap=gap).one())


def _in_part(is_of_split: bool) -> ColumnElement[bool]:
    """Condition: a pair of the dataset, and of the split if only that is meant."""
    of_split = Pair.split == bindparam("split") if is_of_split else true()
    return and_(in_dataset(bindparam("dataset_id")), of_split)


@built_once
def _ends_of_review(
    session: Session, dataset_id: int | None, ranking: int, is_of_split: bool
) -> Select[*tuple[Any, ...]]:
    """The highest chance of error and the lowest random key of the undecided pairs."""
    is_open = _in_part(is_of_split), verdict_seen(session, dataset_id).is_undecided
    ends = func.max(column_of(ranking)), func.min(Pair.random_key)
    return select(*(select(end).where(*is_open).scalar_subquery() for end in ends))


@built_once
def _counts_of_review(
    session: Session,
    dataset_id: int | None,
    ranking: int,
    is_of_split: bool,
    whole: bool,
    has_point: bool,
    has_gap: bool,
) -> Select[*tuple[Any, ...]]:
    """The counts of `ReachedPoint`, in its order."""
    verdict, p_error = verdict_seen(session, dataset_id), column_of(ranking)
    below = true() if whole else p_error.is_(None)
    if has_point:
        below = or_(below, p_error <= bindparam("point"))
    is_error = judgement_of(verdict).in_(WRONG)
    gap = bindparam("gap", type_=Pair.random_key.type) if has_gap else None
    in_audit = and_(*_in_audit(verdict, gap))
    counts = (true(), is_error, in_audit, and_(in_audit, is_error))
    return select(*(func.count(Pair.id).filter(condition) for condition in counts)).where(
        _in_part(is_of_split), below
    )


def _in_audit(
    verdict: SeenVerdict, gap: ColumnElement[float] | float | None
) -> list[ColumnElement[bool]]:
    """Conditions on pairs of the random audit: decided before the first gap in the random order,
    `gap`, in a way that says whether their caption was right."""
    is_about_caption = judgement_of(verdict).not_in(("unsure", *NOT_ABOUT_CAPTION))
    conditions = [~verdict.is_undecided, is_about_caption]
    return conditions if gap is None else [*conditions, Pair.random_key < gap]


def random_audit(session: Session, dataset_id: int) -> dict[int, bool]:
    """Whether each pair of the random audit was wrong, by its id; see `ReachedPoint`."""
    verdict, is_shown = verdict_seen(session, dataset_id), in_dataset(dataset_id)
    gap = session.scalar(select(func.min(Pair.random_key)).where(is_shown, verdict.is_undecided))
    rows = session.execute(
        select(Pair.id, judgement_of(verdict).in_(WRONG)).where(is_shown, *_in_audit(verdict, gap))
    )
    return {pair_id: bool(is_error) for pair_id, is_error in rows}
