"""Pairs in the order of their source, their captions, and what of them a rule may change."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from sqlalchemy import func, select, update
from sqlalchemy.orm import Session

from db.authors import MOVED
from db.models import CorrectionAttempt, Pair, Suggestion
from db.queries.statements import chunks, in_dataset
from db.queries.suggestion_queries import OUTDATED

_AT_ONCE = 1000


def rows_of(session: Session, dataset_id: int) -> Iterator[tuple[int, str, int | None]]:
    """(id, file, row) of each pair of the source, in import order. Streamed."""
    query = (
        select(Pair.id, Pair.source_file, Pair.source_row)
        .where(in_dataset(dataset_id))
        .order_by(Pair.id)
        .execution_options(yield_per=10_000)
    )
    for row in session.execute(query):
        yield row[0], row[1], row[2]


class FirstRow(NamedTuple):
    pair_id: int
    source_file: str
    source_row: int | None
    image_path: str


def first_rows(session: Session, dataset_id: int, most: int) -> list[FirstRow]:
    """The first pairs of the source, in import order."""
    columns = (Pair.id, Pair.source_file, Pair.source_row, Pair.image_path)
    query = select(*columns).where(in_dataset(dataset_id)).order_by(Pair.id).limit(most)
    return [FirstRow(*row) for row in session.execute(query)]


def captions_of(session: Session, pair_ids: Sequence[int]) -> dict[int, str]:
    """The captions that these pairs have now: corrected or edited, or their own."""
    caption = func.coalesce(Pair.corrected_caption, Pair.caption)
    return {
        pair_id: text
        for part in chunks(pair_ids, _AT_ONCE)
        for pair_id, text in session.execute(
            select(Pair.id, caption).where(Pair.id.in_(part))
        ).tuples()
    }


def picture_names(session: Session, pair_ids: Sequence[int]) -> list[str]:
    """Where the source has the pictures of these pairs, in their order; "" for one that is gone."""
    path_of = {
        pair_id: path
        for part in chunks(pair_ids, _AT_ONCE)
        for pair_id, path in session.execute(
            select(Pair.id, Pair.image_path).where(Pair.id.in_(part))
        ).tuples()
    }
    return [path_of.get(pair_id, "") for pair_id in pair_ids]


class CaptionState(NamedTuple):
    """A pair's `caption` in its source, what it was edited to, and its verdict."""

    pair_id: int
    external_id: str
    caption: str
    corrected_caption: str | None
    version: int
    decision: str | None

    @property
    def own_text(self) -> str:
        """Its caption, edited or not. A correction by somebody who saw it beside another picture
        says what that one shows."""
        return self.corrected_caption or self.caption if self.decision is None else self.caption


def states_of(session: Session, pair_ids: Sequence[int]) -> dict[int, CaptionState]:
    """The states of these pairs, by id."""
    columns = (
        Pair.id, Pair.external_id, Pair.caption, Pair.corrected_caption, Pair.verdict_version,
        Pair.decision,
    )  # fmt: skip
    return {
        row[0]: CaptionState(*row)
        for part in chunks(pair_ids, _AT_ONCE)
        for row in session.execute(select(*columns).where(Pair.id.in_(part)))
    }


def count_moved(session: Session, dataset_id: int) -> int:
    """How many pairs have the caption of another row by a rule."""
    by_rule = Pair.decided_by.startswith(MOVED, autoescape=True)
    query = select(func.count()).where(in_dataset(dataset_id), by_rule)
    return session.execute(query).scalar_one()


def prepared_pairs(session: Session, pair_ids: Sequence[int], run_id: int) -> set[int]:
    """Those of the pairs whose corrections were prepared under this run, whether or not there are
    any. The others get theirs when they are opened."""
    return {
        pair_id
        for part in chunks(pair_ids, _AT_ONCE)
        for table in (Suggestion, CorrectionAttempt)
        for pair_id in session.execute(
            select(table.pair_id).where(table.pair_id.in_(part), table.run_id == run_id)
        ).scalars()
    }


def forget_kind(session: Session, run_id: int, kind: str) -> None:
    """Show none of the suggestions of this kind that were made under the run."""
    of_run = (Suggestion.run_id == run_id, Suggestion.kind == kind)
    session.execute(update(Suggestion).where(*of_run).values(kind=OUTDATED))
