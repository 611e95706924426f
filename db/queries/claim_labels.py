"""What people say about single claims of a caption: that they are right, or wrong.

They are given by acts like verdicts (`claim_label_queries`) and stored with them, all labels that
are in effect in each act. A label names its claim by characters and by text, and counts
only for a caption that is divided at the same place and says the same there.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from db.models import Claim, Pair
from db.queries.blind_review import hidden_pairs, may_know, reader_of
from db.queries.statements import any_of, chunks, in_dataset, run

_AT_ONCE = 1000

#: The labels of a pair as its row and its acts have them: the fields of `ClaimLabel`; None: none.
LabelRecords = list[dict[str, Any]] | None


@dataclass(frozen=True)
class ClaimLabel:
    """The characters `start` to `end` of a caption, which said `text`, and whether that is right
    according to `author`."""

    start: int
    end: int
    text: str
    is_right: bool
    author: str


def labels_in(records: LabelRecords) -> list[ClaimLabel]:
    return [ClaimLabel(**label) for label in records or ()]


def to_store(labels: Sequence[ClaimLabel]) -> LabelRecords:
    """In the order of the caption."""
    return [vars(label) for label in sorted(labels, key=lambda label: label.start)] or None


def has_wrong(records: LabelRecords, author: str | None = None) -> bool:
    """Whether a claim is labelled wrong, by this author or by anybody."""
    labels = labels_in(records)
    return any(not label.is_right and author in (None, label.author) for label in labels)


def without_wrong(records: LabelRecords) -> LabelRecords:
    """The labels that stay once somebody has said that the whole caption is right."""
    return to_store([label for label in labels_in(records) if label.is_right])


_LABELS = select(Pair.id, Pair.caption, Pair.claim_labels).where(
    Pair.id.in_(any_of("pair_ids")), Pair.claim_labels.is_not(None)
)


def labels_of(session: Session, pair_ids: Sequence[int]) -> dict[int, list[ClaimLabel]]:
    """The labels in effect of each of these pairs, in the order of its caption, that its text still
    bears out; of what others said, only what the reader may know. Pairs without any are left
    out."""
    reader, by_pair = reader_of(session), dict[int, list[ClaimLabel]]()
    for part in chunks(pair_ids, _AT_ONCE):
        secret = hidden_pairs(session, part)
        for pair_id, caption, records in run(session, _LABELS, pair_ids=part):
            labels = [
                label
                for label in labels_in(records)
                if caption[label.start : label.end] == label.text
                and (pair_id not in secret or label.author == reader)
            ]
            if labels:
                by_pair[pair_id] = labels
    return by_pair


def claim_labels(session: Session, dataset_id: int) -> dict[tuple[int, int], bool]:
    """Whether a claim is right, by pair and start, of all claims that people have labelled and that
    the captions are still divided into; what is known of captions alone is not in it."""
    query = (
        select(Pair.id, Pair.caption, Pair.claim_labels)
        .where(in_dataset(dataset_id), Pair.claim_labels.is_not(None))
        .where(may_know(session, dataset_id))
        .order_by(Pair.id)
    )
    rows = session.execute(query).tuples().all()
    claims: set[tuple[int, int, int]] = set()
    for part in chunks([row[0] for row in rows], _AT_ONCE):
        spans = select(Claim.pair_id, Claim.start, Claim.end).where(Claim.pair_id.in_(part))
        claims.update(session.execute(spans).tuples())
    return {
        (pair_id, label.start): label.is_right
        for pair_id, caption, records in rows
        for label in labels_in(records)
        if (pair_id, label.start, label.end) in claims
        and caption[label.start : label.end] == label.text
    }
