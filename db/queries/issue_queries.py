"""What is known about pictures: issues, with the marks and tags of a pair."""

from sqlalchemy import String, bindparam, cast, literal, null, select, union_all
from sqlalchemy.orm import Session

from db.models import Pair, PairTag, PictureIssue, WordMark
from db.queries.blind_review import may_know_pair, reader_of
from db.queries.statements import run

_PAIR = bindparam("pair_id")
_MARKS, _ISSUES, _TAGS = (
    select(WordMark.start, WordMark.end, cast(null(), String)).where(WordMark.pair_id == _PAIR),
    select(literal(0), literal(0), PictureIssue.issue).where(PictureIssue.pair_id == _PAIR),
    select(literal(1), literal(0), PairTag.name).where(PairTag.pair_id == _PAIR),
)
_ALL = union_all(_MARKS, _ISSUES, _TAGS)
_WITH_OWN_MARKS = union_all(_MARKS.where(WordMark.author == bindparam("reader")), _ISSUES, _TAGS)


def marks_issues_and_tags(
    session: Session, pair_id: int
) -> tuple[list[tuple[int, int]], tuple[str, ...], tuple[str, ...]]:
    """All in one statement: the words that curators marked as wrong (characters start, end; in
    caption order), the issues of the pair's picture, and the pair's tags."""
    if may_know_pair(session, pair_id):
        rows = run(session, _ALL, pair_id=pair_id).all()
    else:
        reader = reader_of(session)
        rows = run(session, _WITH_OWN_MARKS, pair_id=pair_id, reader=reader).all()
    words = sorted({(int(start), int(end)) for start, end, text in rows if text is None})
    texts = sorted((int(kind), str(text)) for kind, _, text in rows if text is not None)
    return (
        words,
        tuple(text for kind, text in texts if kind == 0),
        tuple(text for kind, text in texts if kind == 1),
    )


def all_issues(session: Session, dataset_id: int) -> dict[int, tuple[str, ...]]:
    """The issues of all pairs of the dataset whose picture has any."""
    issues: dict[int, list[str]] = {}
    rows = session.execute(
        select(PictureIssue.pair_id, PictureIssue.issue)
        .join(Pair, Pair.id == PictureIssue.pair_id)
        .where(Pair.dataset_id == dataset_id)
        .order_by(PictureIssue.pair_id, PictureIssue.issue)
    )
    for pair_id, issue in rows:
        issues.setdefault(pair_id, []).append(issue)
    return {pair_id: tuple(names) for pair_id, names in issues.items()}
