"""A change of all captions of a queue: one act, which applies to the text that each pair would be
exported with, and which one undo takes back.
"""

from collections import ChainMap
from collections.abc import Callable, Sequence

from backend import plugins
from backend.errors import SettingsError
from backend.progress import Progress, no_progress
from backend.review.views import EditedCaption, EditView
from backend.store import Store
from db.queries import edit_queries, queue_queries, request_queries
from db.queries.blind_review import hidden_pairs
from db.queries.edit_queries import Rewrite
from db.queries.queue_filter import QueueFilter, QueueRow
from db.texts import is_blank

#: Captions that are changed together.
_PAGE = 5000
#: Number of changed captions that a report lists.
_MOST_EXAMPLES = 20
#: Verdicts under which the text can be edited; with the others there is no text to keep.
_EDITABLE = (None, "correct", "correction")

#: The new texts of pairs, whose texts so far are given beside them.
Change = Callable[[Sequence[QueueRow], Sequence[str]], Sequence[str]]


def edit_captions(
    store: Store,
    filter: QueueFilter,
    change: Change,
    author: str | None = None,
    progress: Progress = no_progress,
    request_id: str | None = None,
) -> EditView:
    """Preview the change on the pairs of a queue; with an `author`, apply it in one transaction,
    which their next undo reverts. What `change` raises ends it, and nothing is written.
    `request_id`: see `request_queries.run_idempotent`."""
    looked_at = unchanged_count = left_alone = refused_count = unjudged = 0
    rewrites: list[Rewrite] = []
    examples: list[EditedCaption] = []
    after = None
    while True:
        with store.reading() as session:
            page = queue_queries.page(session, filter, after, _PAGE)
            secret = hidden_pairs(session, [row.pair_id for row in page.rows])
        rows = [row for row in page.rows if row.decision in _EDITABLE and row.pair_id not in secret]
        before = [row.corrected_caption or row.caption for row in rows]
        after_edit = change(rows, before)
        looked_at += len(page.rows)
        unjudged += len(secret)
        left_alone += len(page.rows) - len(rows) - len(secret)
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
    # A request that comes again finds nothing to change; it is told what it did.
    if author is not None and (rewrites or request_id is not None):
        with store.writing(large=True) as session:

            def rewritten() -> tuple[int, int]:
                report = edit_queries.rewrite(session, rewrites, author=author)
                return len(report.written), len(report.passed_over)

            outcome = request_queries.run_idempotent(session, author, request_id, rewritten)
        changed_count, passed_over = outcome or (changed_count, 0)
    return EditView(
        filter.dataset_id, looked_at, changed_count, unchanged_count, left_alone, refused_count,
        passed_over, tuple(examples), unjudged,
    )  # fmt: skip


def change_each(edit: Callable[[str], str]) -> Change:
    """What does the same to each caption."""
    return lambda _, texts: [edit(text) for text in texts]


def find_mend(name: str) -> Callable[[str], str]:
    """What mends the fault of this name, of those that features and packages can mend. Raises
    SettingsError for one that nothing mends."""
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
