"""`rule`: one verdict for all pairs of a queue."""

from typing import TYPE_CHECKING, Any

from backend.operations.operation import Operation
from backend.options import Options
from backend.progress import Progress

if TYPE_CHECKING:
    from backend.operations.context import Context


class RuleOptions(Options):
    """Give all pairs of a queue one verdict, by a rule."""

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
    from backend.features.rules.deciding import decide_all
    from backend.review.queue_form import from_text

    fields = from_text(options.queue)
    return decide_all(
        context.store, context.review.filter_of(dataset_id, fields), fields, options.decision,
        curator=options.curator, batch=options.batch, replaces=options.replaces, progress=progress,
    )  # fmt: skip


RULE = Operation(
    "rule",
    "Deciding",
    RuleOptions,
    run,
    uses=("rules of {dataset}",),
    is_started_by_kind=False,
    activity="Deciding all pairs of a queue of",
)
