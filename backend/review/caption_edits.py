"""An edit of all captions of a queue: one action, which applies to the text that each pair would be
exported with.
"""

from collections import ChainMap
from collections.abc import Callable, Sequence
from time import monotonic

from sqlalchemy.orm import Session

from backend import plugins
from backend.engine.bulk_edit import BulkEdit, apply_edit
from backend.engine.claims.claim import Claim
from backend.engine.claims.editing import without_all
from backend.engine.claims.scored_caption import is_vague
from backend.errors import SettingsError
from backend.jobs.scoring.stored_rows import to_claim
from backend.progress import Progress, no_progress
from backend.review.views import EditedCaption, EditView
from backend.store import Store
from db.queries import (
    claim_queries,
    queue_queries,
    request_queries,
    verdict_queries,
)
from db.queries.blind_review import hidden_pairs
from db.queries.queue_queries import QueueFilter, QueueRow
from db.queries.verdict_queries import Rewrite
from db.texts import is_blank

#: Captions that are edited together, by one process.
_PAGE = 5000
#: Time limit for all captions of an edit, without the database's time. A typical expression takes
#: a few seconds for 100,000 captions.
MOST_SECONDS = 60.0
#: Number of changed captions that a report lists.
_MOST_EXAMPLES = 20
#: Verdicts under which the text can be edited; with the others there is no text to keep.
_EDITABLE = (None, "correct", "correction")


def edit_captions(
    store: Store,
    filter: QueueFilter,
    edit: BulkEdit,
    author: str | None = None,
    progress: Progress = no_progress,
    seconds: float | None = None,
    request_id: str | None = None,
) -> EditView:
    """Preview the edit on the pairs of a queue; with an `author`, apply it in one transaction,
    which their next undo reverts. Raises SettingsError for an edit that is invalid, and for one
    that takes more than `seconds` (default: MOST_SECONDS) for all captions together; nothing is
    written then. `request_id`: see `request_queries.once`."""
    mend = _mend_of(edit.mend)
    limit, duration = MOST_SECONDS if seconds is None else seconds, 0.0
    dataset_id = filter.dataset_id
    looked_at = unchanged_count = left_alone = refused_count = 0
    rewrites: list[Rewrite] = []
    examples: list[EditedCaption] = []
    after = None
    while True:
        with store.reading() as session:
            page = queue_queries.page(session, filter, after, _PAGE)
            secret = hidden_pairs(session, [row.pair_id for row in page.rows])
            vague = _vague_claims(session, page.rows) if edit.remove_vague else {}
        rows = [row for row in page.rows if row.decision in _EDITABLE and row.pair_id not in secret]
        before = [row.corrected_caption or row.caption for row in rows]
        began = monotonic()
        plain = [
            without_all(row.caption, vague.get(row.pair_id, ()), mend(text))
            for row, text in zip(rows, before, strict=True)
        ]
        try:
            is_plain = (edit.remove_vague or edit.mend) and not edit.changes_text
            after_edit = plain if is_plain else apply_edit(edit, plain, limit - duration)
        except TimeoutError:
            raise _too_slow(store, filter, looked_at, limit) from None
        duration += monotonic() - began
        looked_at += len(page.rows)
        left_alone += len(page.rows) - len(rows)
        for row, old, new in zip(rows, before, after_edit, strict=True):
            is_correction = row.decision == "correction" and not row.enriches
            if new == old:
                unchanged_count += 1
            elif is_blank(new) or (is_correction and new == row.caption):
                refused_count += 1
            else:
                rewrites.append(Rewrite(row.pair_id, row.verdict_version, new))
                if len(examples) < _MOST_EXAMPLES:
                    examples.append(EditedCaption(row.pair_id, row.external_id, old, new))
        progress(looked_at, 0, "Editing")
        after = page.next_cursor
        if after is None:
            break
    changed_count, passed_over = len(rewrites), 0
    if author is not None and rewrites:
        with store.writing(large=True) as session:

            def rewritten() -> tuple[int, int]:
                report = verdict_queries.rewrite(session, rewrites, author=author)
                return len(report.written), len(report.passed_over)

            outcome = request_queries.once(session, author, request_id, rewritten)
        changed_count, passed_over = outcome or (changed_count, 0)
    return EditView(
        dataset_id, looked_at, changed_count, unchanged_count, left_alone, refused_count,
        passed_over, tuple(examples),
    )  # fmt: skip


def _mend_of(name: str) -> Callable[[str], str]:
    """What mends the fault of this name; of "", what leaves captions as they are. Raises
    SettingsError for one that nothing mends."""
    if not name:
        return str
    mends = ChainMap(*plugins.load("mends", dict))
    if name not in mends:
        names = ", ".join(mends) or "none"
        raise SettingsError(f"'{name}' cannot be mended; these can: {names}.")

    def mend(text: str) -> str:
        try:
            mended: object = mends[name](text)
            if not isinstance(mended, str):
                raise TypeError(f"it gives a {type(mended).__name__}")
            return mended
        except Exception as error:  # of whatever its author wrote
            raise SettingsError(
                f"'{name}' cannot mend “{text[:60]}”: {type(error).__name__}: {error}. Nothing was "
                "changed."
            ) from error

    return mend


def _vague_claims(session: Session, rows: Sequence[QueueRow]) -> dict[int, list[Claim]]:
    """The claims that describe nothing visible of captions that have several, by pair."""
    several = claim_queries.of_several(session, {row.pair_id: row.numbers for row in rows})
    return {
        pair_id: [to_claim(row) for row in claims if is_vague(row.icc)]
        for pair_id, claims in several.items()
    }


def _too_slow(store: Store, filter: QueueFilter, done: int, limit: float) -> SettingsError:
    total = store.read(queue_queries.count, filter)
    return SettingsError(
        f"The edit takes more than {limit:g} s: it was stopped after {done:,} of {total:,} "
        "captions, and nothing was changed. Simplify the expression (avoid a repetition within a "
        "repetition), or narrow the queue with filters and edit it in several steps."
    )
