"""One verdict for all pairs of a queue, given as a rule: nobody looks at the pairs one by one.

The verdicts name the rule as their author (`db/authors.py`) and the queue in their note, which
exports contain. They are written `AT_ONCE` pairs a transaction under one batch id, so that one undo
takes all of them back, and a rule that was interrupted goes on where it stopped.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from time import sleep

from sqlalchemy.orm import Session

from backend.features.rules import queries
from backend.progress import Progress, no_progress
from backend.review.queue_form import as_query
from backend.review.verdicts import PAUSE
from backend.store import Store
from db.authors import queue_author
from db.decisions import ABOUT_CAPTION
from db.queries import hold_queries, queue_queries, verdict_queries
from db.queries.blind_review import hidden_pairs
from db.queries.queue_filter import QueueFilter, QueueRow
from db.queries.undo_queries import AT_ONCE
from db.queries.verdict_queries import NewVerdict

#: Pairs of a preview, drawn at random.
SHOWN = 20


@dataclass(frozen=True)
class RulePreview:
    """`number`: the pairs of the queue that would get the verdict, and some of them (`sample`).
    Left alone: those `claimed` (others hold them), and those that have a verdict (`decided`)."""

    number: int
    claimed: int
    decided: int
    sample: tuple[QueueRow, ...]


@dataclass(frozen=True)
class RuleReport:
    """`given`: the pairs that have got the verdict; `claimed`: others held them;
    `left_alone`: they had a verdict already, no caption to judge, or were changed meanwhile."""

    decision: str
    given: int
    claimed: int
    left_alone: int


def preview(store: Store, filter: QueueFilter, curator: str, replaces: bool) -> RulePreview:
    """What one verdict by `curator` for all pairs of the queue would reach. `replaces`: pairs that
    have another verdict get this one."""
    scope = _covered_pairs(filter, replaces)
    free = replace(scope, reader=curator)
    listed_pairs = free.among
    with store.reading() as session:
        number = queue_queries.count(session, free)
        with_held = queue_queries.count(session, scope)
        total = queue_queries.count(session, replace(filter, reader=None))
        # A list of pairs has an order of its own.
        most = SHOWN if listed_pairs is None else len(listed_pairs)
        rows = queue_queries.page(session, replace(free, order="random"), None, most).rows
    sample = sorted(rows, key=lambda row: row.random_key)[:SHOWN]
    return RulePreview(number, with_held - number, total - with_held, tuple(sample))


def decide_all(
    store: Store,
    filter: QueueFilter,
    fields: Mapping[str, str],
    decision: str,
    *,
    curator: str,
    batch: str,
    replaces: bool = False,
    progress: Progress = no_progress,
) -> RuleReport:
    """Give all pairs of the queue with these fields the verdict, in transactions of AT_ONCE pairs.
    Called again with the same batch id, it goes on; no pair gets the verdict twice."""
    author, scope = queue_author(curator), _covered_pairs(filter, replaces)
    words = f"rule: {as_query({**fields, 'order': ''}) or 'review=unreviewed'}"
    with store.reading() as session:
        given_count = verdict_queries.count_batch(session, author, batch)
        total = queue_queries.count(session, scope) + (0 if replaces else given_count)
    held_count = left_alone = 0
    after = None
    while True:
        sleep(PAUSE)
        page = store.read(queue_queries.page, scope, after, AT_ONCE)
        ids = [row.pair_id for row in page.rows]
        with store.writing() as session:
            before = queries.pairs_of_batch(session, ids, author, batch)
            held_ids = hold_queries.held_by_others(session, ids, curator) - before
            settled_ids = _settled_pairs(session, ids, decision, replaces)
            if decision in ABOUT_CAPTION:
                settled_ids |= {row.pair_id for row in page.rows if not row.caption}
            settled_ids -= held_ids | before
            verdicts = [
                NewVerdict(row.pair_id, row.verdict_version, decision, note=words)
                for row in page.rows
                if row.pair_id not in before | held_ids | settled_ids
            ]
            outcome = verdict_queries.add_all(session, verdicts, author=author, batch=batch)
        given_count += len(outcome.written)
        held_count += len(held_ids)
        left_alone += len(settled_ids) + len(outcome.passed_over)
        progress(given_count + held_count + left_alone, total, "Deciding")
        after = page.next_cursor
        if after is None:
            return RuleReport(decision, given_count, held_count, left_alone)


def _covered_pairs(filter: QueueFilter, replaces: bool) -> QueueFilter:
    """The pairs that the verdict may reach, in an order that no verdict changes."""
    plain = replace(filter, order="position", descending=False, reader=None)
    if replaces or filter.review == "unreviewed":
        return plain
    return (
        replace(plain, review="unreviewed") if filter.review == "all" else replace(plain, among=())
    )


def _settled_pairs(session: Session, ids: list[int], decision: str, replaces: bool) -> set[int]:
    """Those of the pairs that keep their verdict. Nobody replaces one that they may not know."""
    decisions = queries.decisions_of(session, ids)
    if not replaces:
        return set(decisions)
    same_ids = {pair_id for pair_id, now in decisions.items() if now == decision}
    return same_ids | (hidden_pairs(session, ids) & decisions.keys())
