"""The state of a review, put together for the Progress page and the command line."""

from backend.progress.figures import (
    Decided,
    calibration,
    errors_found,
    precision_of_flagged,
    suspects_hit,
)
from backend.progress.stopping import remaining_errors
from backend.store import Store
from backend.views import WRONG, ProgressView, Retraining, SuspectsHit
from db.queries import classifiers as classifier_queries
from db.queries import pairs as pair_queries
from db.queries import progress as progress_queries
from db.queries import word_marks as word_mark_queries

_SAYS = ("correct", *WRONG)


def progress_of(store: Store, dataset_id: int) -> ProgressView:
    """Everything that the verdicts so far say about the dataset and about the detector."""
    with store.reading() as session:
        counts = pair_queries.counts(session, dataset_id)
        pace = progress_queries.pace(session, dataset_id)
        reached = progress_queries.reached(session, dataset_id)
        said = [
            Decided(p_error, decision in WRONG)
            for p_error, decision in progress_queries.decided(session, dataset_id)
            if decision in _SAYS
        ]
        trained = classifier_queries.list_classifiers(session, dataset_id)
        hit = suspects_hit(word_mark_queries.marked_and_suspect(session, dataset_id))
    precision, flagged = precision_of_flagged(said)
    return ProgressView(
        total=counts.total,
        reviewed=counts.reviewed,
        errors_found=counts.errors_found,
        by_decision=counts.by_decision,
        pace=tuple((one.author, one.day, one.verdicts) for one in pace),
        precision_of_flagged=precision,
        flagged=flagged,
        remaining=remaining_errors(
            reached.point, reached.below, reached.sample, reached.wrong_in_sample, reached.found
        ),
        calibration=tuple(calibration(said)),
        found=tuple(errors_found(said)),
        retrainings=tuple(
            Retraining(
                row.name, row.created_at, row.active, row.report.get("verdict_auc_before"),
                row.report.get("verdict_auc_after"),
            )
            for row in reversed(trained)
        ),
        suspects_hit=SuspectsHit(*hit) if hit is not None else None,
    )  # fmt: skip
