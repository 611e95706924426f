"""Words that curators have marked as wrong; of one pair, with its tags."""

from collections.abc import Iterator

from sqlalchemy import String, bindparam, cast, delete, literal, null, select, union_all
from sqlalchemy.orm import Session

from db.blobs import decode_suspects
from db.column_types import now
from db.models import Detection, Pair, PairTag, WordMark
from db.queries.blind_review import may_know, may_know_pair, reader_of
from db.queries.statements import (
    in_dataset,
    insert_for,
    run,
)

Span = tuple[int, int]

_PAIR = bindparam("pair_id")
_MARKS, _TAGS = (
    select(WordMark.start, WordMark.end, cast(null(), String)).where(WordMark.pair_id == _PAIR),
    select(literal(0), literal(0), PairTag.name).where(PairTag.pair_id == _PAIR),
)
_ALL = union_all(_MARKS, _TAGS)
_WITH_OWN_MARKS = union_all(_MARKS.where(WordMark.author == bindparam("reader")), _TAGS)


def marks_and_tags(session: Session, pair_id: int) -> tuple[list[Span], tuple[str, ...]]:
    """Both in one statement: the words that curators marked as wrong (characters start, end; in
    caption order), and the pair's tags."""
    if may_know_pair(session, pair_id):
        rows = run(session, _ALL, pair_id=pair_id).all()
    else:
        reader = reader_of(session)
        rows = run(session, _WITH_OWN_MARKS, pair_id=pair_id, reader=reader).all()
    words = sorted({(int(start), int(end)) for start, end, text in rows if text is None})
    return words, tuple(sorted(str(text) for *_, text in rows if text is not None))


def toggle(session: Session, pair_id: int, start: int, end: int, author: str) -> bool:
    """Mark the word, or remove the mark; returns whether it is marked now."""
    key = (
        WordMark.pair_id == pair_id,
        WordMark.author == author,
        WordMark.start == start,
        WordMark.end == end,
    )
    if session.scalar(select(WordMark.id).where(*key)) is not None:
        session.execute(delete(WordMark).where(*key))
        return False
    session.execute(
        insert_for(session, WordMark)
        .values(pair_id=pair_id, start=start, end=end, author=author, created_at=now())
        .on_conflict_do_nothing()
    )
    return True


def marked_words(session: Session, dataset_id: int) -> dict[int, set[Span]]:
    """The words that anybody has marked, by pair."""
    rows = session.execute(
        select(WordMark.pair_id, WordMark.start, WordMark.end)
        .join(Pair, Pair.id == WordMark.pair_id)
        .where(in_dataset(dataset_id), may_know(session, dataset_id))
    )
    marks: dict[int, set[Span]] = {}
    for pair_id, start, end in rows:
        marks.setdefault(pair_id, set()).add((start, end))
    return marks


def marked_and_suspect(
    session: Session, dataset_id: int
) -> Iterator[tuple[set[Span], list[tuple[int, int, float]]]]:
    """For each pair with marks: the marked words, and all suspect words with their scores."""
    rows = session.execute(
        select(WordMark.pair_id, WordMark.start, WordMark.end, Detection.suspects)
        .join(Pair, Pair.id == WordMark.pair_id)
        .join(Detection, Detection.pair_id == WordMark.pair_id)
        .where(in_dataset(dataset_id), may_know(session, dataset_id))
        .order_by(WordMark.pair_id)
    )
    marks: dict[int, set[Span]] = {}
    suspects: dict[int, bytes] = {}
    for pair_id, start, end, blob in rows:
        marks.setdefault(pair_id, set()).add((start, end))
        suspects[pair_id] = blob
    for pair_id, spans in marks.items():
        yield spans, list(decode_suspects(suspects[pair_id]))
