"""`rule`: one verdict for all pairs of a queue."""

from typing import TYPE_CHECKING, Any

from backend.operations.operation import Operation
from backend.options import Options
from backend.progress import Progress

if TYPE_CHECKING:
    from backend.operations.context import Context


class RuleOptions(Options):
    """Give all pairs of a queue one verdict, by a rule; see `backend.review.queue_rules`."""

    queue: str
    """As in its address after the ?."""
    decision: str
    """The verdict."""
    curator: str
    """Who decided so."""
    batch: str
    """The name of the step, which one undo takes back."""
    replaces: bool = False
    """Also pairs that have another verdict."""


def run(context: "Context", dataset_id: int, options: RuleOptions, progress: Progress) -> Any:
    return context.review.decide_all(dataset_id, progress=progress, **dict(options))


RULE = Operation(
    "rule",
    "Deciding",
    RuleOptions,
    run,
    uses=("rules of {dataset}",),
    is_started_by_kind=False,
    activity="Deciding all pairs of a queue of",
)
