"""Suggestions: corrected or enriched captions, with their scores before and after."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import blake2b
from typing import Any

from sqlalchemy import ColumnElement, Select, bindparam, or_, select
from sqlalchemy.orm import Session

from db.column_types import now
from db.models import CorrectionAttempt, Pair, Suggestion, Verdict
from db.queries.blind_review import verdict_seen
from db.queries.statements import (
    check_number,
    check_text,
    columns_of,
    find_record,
    read_records,
    save_rows,
)

#: The kind of a suggestion about a picture that was replaced, kept for the verdict that took it.
OUTDATED = "outdated"
#: The kind of a row that proposes no text: the pair's own caption fits another picture better.
ELSEWHERE = "elsewhere"


@dataclass(frozen=True)
class NewSuggestion:
    """`s_*`: the scorer's units, higher is better; `p_*`: probability of error, lower is better,
    None without a classifier."""

    pair_id: int
    proposer: str
    caption: str
    s_before: float
    s_after: float
    p_before: float | None = None
    p_after: float | None = None
    run_id: int | None = None
    similarity: float | None = None
    provenance: dict[str, Any] | None = None
    kind: str = "correction"


@dataclass(frozen=True, kw_only=True)
class SuggestionRow(NewSuggestion):
    id: int
    created_at: datetime


_COLUMNS = columns_of(Suggestion, SuggestionRow)
_OF_PAIR = select(*_COLUMNS).where(Suggestion.pair_id == bindparam("pair_id"))


@dataclass(frozen=True)
class Attempt:
    """`outcome`: offered, no better, unchanged, refused, unreadable."""

    pair_id: int
    proposer: str
    run_id: int
    outcome: str
    detail: str = ""


def save_suggestions(session: Session, batch: Sequence[NewSuggestion]) -> None:
    """Save suggestions; the same caption by the same proposer keeps its id and gets the new
    scores."""
    for suggestion in batch:
        check_text(suggestion.caption, f"A suggestion for pair {suggestion.pair_id}")
        for name in ("s_before", "s_after", "p_before", "p_after", "similarity"):
            check_number(getattr(suggestion, name), f"{name} of a suggestion")
    rows = []
    for suggestion in batch:
        digest = blake2b(suggestion.caption.encode("utf-8"), digest_size=16).digest()
        rows.append(vars(suggestion) | {"caption_digest": digest, "created_at": now()})
    key = ("pair_id", "proposer", "caption_digest")
    save_rows(session, Suggestion, key, rows, except_for=("caption", "created_at"))


def list_suggestions(
    session: Session, pair_id: int, run_id: int | None = None, kind: str | None = "correction"
) -> list[SuggestionRow]:
    """The suggestions for a pair, of this kind (None: of any): corrections, highest `s_after`
    first, then enrichments in the order of `_by_worth`.

    `run_id`: only those scored under that run, or under none: scores of different runs are not
    comparable.
    """
    suggestions = [
        row
        for row in read_records(session, SuggestionRow, _OF_PAIR, pair_id=pair_id)
        if (row.kind == kind if kind is not None else row.kind != OUTDATED)
        and (run_id is None or row.run_id in (run_id, None))
    ]
    return sorted(suggestions, key=lambda row: (row.kind == "boost", *_by_worth(row)))


def find_suggestion(session: Session, suggestion_id: int) -> SuggestionRow | None:
    """The suggestion with this id, if there is one."""
    query = select(*_COLUMNS).where(Suggestion.id == suggestion_id)
    return find_record(session, SuggestionRow, query)


def _of_run(run_id: int | None) -> list[ColumnElement[bool]]:
    if run_id is None:
        return []
    return [or_(Suggestion.run_id == run_id, Suggestion.run_id.is_(None))]


def _by_worth(suggestion: SuggestionRow) -> tuple[float, float, int]:
    """The order of enrichments: largest worth first (gain in specificity minus the cost of words
    from no source); those without a worth, stored by earlier versions, come last. Corrections have
    none.
    """
    worth = (suggestion.provenance or {}).get("worth")
    if suggestion.kind != "boost" or not isinstance(worth, int | float):
        worth = -math.inf
    return -worth, -suggestion.s_after, suggestion.id


def open_enrichments(
    session: Session, pair_ids: Sequence[int], run_id: int | None
) -> dict[int, SuggestionRow]:
    """The best suggested enrichment of each pair, which its page shows first, by pair.
    `run_id`: as in `list_suggestions`."""
    query = select(*_COLUMNS).where(
        Suggestion.pair_id.in_(pair_ids), Suggestion.kind == "boost", *_of_run(run_id)
    )
    enrichments: dict[int, SuggestionRow] = {}
    for row in sorted(read_records(session, SuggestionRow, query), key=_by_worth):
        enrichments.setdefault(row.pair_id, row)
    return enrichments


def open_corrections(
    session: Session, pair_ids: Sequence[int], run_id: int | None
) -> dict[int, list[SuggestionRow]]:
    """The suggested corrections of each pair, highest `s_after` first; pairs without one are left
    out. `run_id`: as in `list_suggestions`."""
    query = select(*_COLUMNS).where(
        Suggestion.pair_id.in_(pair_ids), Suggestion.kind == "correction", *_of_run(run_id)
    )
    corrections: dict[int, list[SuggestionRow]] = {}
    for row in sorted(read_records(session, SuggestionRow, query), key=_by_worth):
        corrections.setdefault(row.pair_id, []).append(row)
    return corrections


def accepted_texts(session: Session, pair_ids: Sequence[int]) -> dict[int, tuple[str, str]]:
    """The proposer and the caption of the suggestion that the verdict in effect accepted, by
    pair."""
    rows = session.execute(
        _accepted_suggestions(Suggestion.proposer, Suggestion.caption).where(Pair.id.in_(pair_ids))
    )
    return {row.id: (row.proposer, row.caption) for row in rows}


def _accepted_suggestions(*columns: Any) -> Select[*tuple[Any, ...]]:
    """These columns of suggestions, and the pairs whose verdict in effect accepted them."""
    return (
        select(Pair.id, *columns)
        .join(Verdict, (Verdict.pair_id == Pair.id) & (Verdict.version == Pair.standing_version))
        .join(Suggestion, Suggestion.id == Verdict.suggestion_id)
    )


def accepted_enrichments(session: Session, pair_ids: Sequence[int]) -> dict[int, dict[str, Any]]:
    """The provenance of the enrichment that the verdict in effect accepted, by pair."""
    rows = session.execute(
        _accepted_suggestions(Suggestion.provenance).where(
            Pair.id.in_(pair_ids), verdict_seen(session).enriches
        )
    )
    return {row.id: row.provenance or {} for row in rows}


def save_attempt(session: Session, attempt: Attempt) -> None:
    """Save the outcome of an attempt; replaces that of an earlier one."""
    values = vars(attempt) | {"created_at": now(), "detail": attempt.detail[:255]}
    save_rows(session, CorrectionAttempt, ("pair_id", "proposer", "run_id"), [values])


def attempted_outcomes(
    session: Session, pair_ids: Sequence[int], proposer: str, run_id: int
) -> dict[int, str]:
    """Outcome by pair, of those that this proposer has attempted under this run."""
    rows = session.execute(
        select(CorrectionAttempt.pair_id, CorrectionAttempt.outcome).where(
            CorrectionAttempt.pair_id.in_(pair_ids),
            CorrectionAttempt.proposer == proposer,
            CorrectionAttempt.run_id == run_id,
        )
    )
    return {row.pair_id: row.outcome for row in rows}
