"""A rule as a curator gives it: a preview, then the verdicts, for no more pairs than that."""

import uuid

from backend.errors import QueueChanged, SettingsError
from backend.features.rules import deciding
from backend.features.rules.deciding import RulePreview, RuleReport
from backend.jobs.job_view import JobView
from backend.review.queue_form import from_text
from backend.workspace import Workspace
from db.decisions import DECISIONS
from db.queries.undo_queries import AT_ONCE


def preview_rule(
    workspace: Workspace, dataset_id: int, queue: str, curator: str, replaces: bool = False
) -> RulePreview:
    """See `deciding.preview`. `queue`: as in its URL."""
    filter = workspace.review.filter_of(dataset_id, from_text(queue))
    return deciding.preview(workspace.store, filter, curator, replaces)


def give_rule(
    workspace: Workspace,
    dataset_id: int,
    queue: str,
    decision: str,
    number: int,
    curator: str,
    replaces: bool = False,
    request_id: str | None = None,
) -> RuleReport | JobView:
    """One verdict for all pairs of a queue; for more than AT_ONCE pairs it is a background job.

    `number`: what the preview said. Raises QueueChanged, with nothing written, if more pairs match
    now. A second call with the same `request_id` gives no pair the verdict again."""
    if decision not in DECISIONS or decision == "correction":
        raise SettingsError(f"'{decision[:40]}' cannot be given to many pairs at once.")
    matching = preview_rule(workspace, dataset_id, queue, curator, replaces).number
    if matching > number:
        raise QueueChanged(
            f"{matching:,} pairs match now, not {number:,}: nothing was decided. Look at the "
            "preview again."
        )
    arguments = {
        "queue": queue, "decision": decision, "curator": curator, "replaces": replaces,
        "batch": request_id or uuid.uuid4().hex,
    }  # fmt: skip
    if matching > AT_ONCE:
        return workspace.jobs.job(workspace.jobs.start("rule", dataset_id, **arguments))
    return workspace.jobs.run("rule", dataset_id, **arguments)
