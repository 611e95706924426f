"""An edit of all captions of a queue, within a time for all of them."""

from collections.abc import Sequence
from time import monotonic

from sqlalchemy.orm import Session

from backend.engine.claims.claim import Claim
from backend.engine.claims.editing import without_all
from backend.engine.claims.scored_caption import is_vague
from backend.errors import SettingsError
from backend.features.bulk_edit.applying import BulkEdit, apply_edit
from backend.jobs.scoring.stored_rows import to_claim
from backend.progress import Progress, no_progress
from backend.review.caption_edits import Change, edit_captions, find_mend
from backend.review.views import EditView
from backend.store import Store
from db.queries import claim_queries, queue_queries
from db.queries.queue_filter import QueueFilter, QueueRow

#: Time limit for all captions of an edit, without the database's time. A typical expression takes
#: a few seconds for 100,000 captions.
MOST_SECONDS = 60.0


def edit_queue(
    store: Store,
    filter: QueueFilter,
    edit: BulkEdit,
    author: str | None = None,
    progress: Progress = no_progress,
    seconds: float | None = None,
    request_id: str | None = None,
) -> EditView:
    """Preview the edit on the pairs of a queue, or apply it: see `edit_captions`. Raises
    SettingsError for an edit that is invalid, and for one that takes more than `seconds` (default:
    MOST_SECONDS) for all captions together; nothing is written then."""
    limit, done = MOST_SECONDS if seconds is None else seconds, 0

    def count(looked_at: int, total: int, what: str) -> None:
        nonlocal done
        done = looked_at
        progress(looked_at, total, what)

    try:
        change = _change_of(store, edit, limit)
        return edit_captions(store, filter, change, author, count, request_id)
    except TimeoutError:
        total = store.read(queue_queries.count, filter)
        raise SettingsError(
            f"The edit takes more than {limit:g} s: it was stopped after {done:,} of {total:,} "
            "captions, and nothing was changed. Simplify the expression (avoid a repetition within "
            "a repetition), or narrow the queue with filters and edit it in several steps."
        ) from None


def _change_of(store: Store, edit: BulkEdit, limit: float) -> Change:
    """What the edit does to captions; TimeoutError where all calls take more than `limit` s."""
    mend = find_mend(edit.mend) if edit.mend else str
    is_plain = (edit.remove_vague or edit.mend) and not edit.changes_text
    duration = 0.0

    def change(rows: Sequence[QueueRow], texts: Sequence[str]) -> list[str]:
        nonlocal duration
        vague = store.read(_vague_claims, rows) if edit.remove_vague else {}
        began = monotonic()
        plain = [
            without_all(row.caption, vague.get(row.pair_id, ()), mend(text))
            for row, text in zip(rows, texts, strict=True)
        ]
        results = plain if is_plain else apply_edit(edit, plain, limit - duration)
        duration += monotonic() - began
        return results

    return change


def _vague_claims(session: Session, rows: Sequence[QueueRow]) -> dict[int, list[Claim]]:
    """The claims that describe nothing visible of captions that have several, by pair."""
    several = claim_queries.of_several(session, {row.pair_id: row.numbers for row in rows})
    return {
        pair_id: [to_claim(row) for row in claims if is_vague(row.icc)]
        for pair_id, claims in several.items()
    }
