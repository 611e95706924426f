"""The state of a review, assembled for the Progress page and the command line."""

import math
from collections.abc import Sequence

from backend.engine.statistics.calibration import (
    Decided,
    calibration,
    errors_found,
    precision_of_flagged,
    suspects_hit,
)
from backend.engine.statistics.stopping import remaining_errors
from backend.review.views import ExpectedErrors, ProgressView, Retraining, SuspectsHit
from backend.store import Store
from backend.verdicts import RIGHT_OR_WRONG, is_wrong
from db.queries import classifiers as classifier_queries
from db.queries import pairs as pair_queries
from db.queries import progress as progress_queries
from db.queries import word_marks as word_mark_queries


def progress_of(store: Store, dataset_id: int) -> ProgressView:
    """Statistics of the verdicts so far, about the dataset and the detector."""
    with store.reading() as session:
        counts = pair_queries.counts(session, dataset_id)
        pace = progress_queries.pace(session, dataset_id)
        reached = progress_queries.reached(session, dataset_id)
        decided = [
            Decided(p_error, is_wrong(decision))
            for p_error, decision in progress_queries.decided(session, dataset_id)
            if decision in RIGHT_OR_WRONG
        ]
        trained = classifier_queries.list_classifiers(session, dataset_id)
        chances = progress_queries.chances(session, dataset_id)
        hit = suspects_hit(word_mark_queries.marked_and_suspect(session, dataset_id))
    precision, flagged = precision_of_flagged(decided)
    return ProgressView(
        total=counts.total,
        reviewed=counts.reviewed,
        errors_found=counts.errors_found,
        by_decision=counts.by_decision,
        pace=tuple((day.author, day.day, day.verdicts) for day in pace),
        precision_of_flagged=precision,
        flagged=flagged,
        remaining=remaining_errors(
            reached.point, reached.below, reached.sample, reached.wrong_in_sample,
            reached.errors_found, undecided=counts.total - counts.reviewed,
        ),
        calibration=tuple(calibration(decided)),
        errors_by_decided=tuple(errors_found(decided)),
        retrainings=tuple(
            Retraining(
                row.name, row.created_at, row.active, row.report.get("verdict_auc_before"),
                row.report.get("verdict_auc_after"),
            )
            for row in reversed(trained)
        ),
        suspects_hit=SuspectsHit(*hit) if hit is not None else None,
        expected=expected_errors(chances),
    )  # fmt: skip


#: Standard deviations on both sides of a 95 % interval.
_INTERVAL = 1.96


def expected_errors(chances: Sequence[progress_queries.Chances]) -> tuple[ExpectedErrors, ...]:
    """What the chances of error add up to, by split. The interval takes pairs as independent: it
    holds as far as the chances are calibrated."""
    splits = []
    for name in dict.fromkeys(row.split for row in chances):
        rows = [row for row in chances if row.split == name]
        pairs, errors = sum(row.pairs for row in rows), sum(row.expected for row in rows)
        spread = _INTERVAL * math.sqrt(sum(row.variance for row in rows))
        tenths = [0] * 10
        for row in rows:
            tenths[row.tenth] = row.pairs
        splits.append(
            ExpectedErrors(
                name, pairs, errors, max(0.0, errors - spread), min(pairs, errors + spread),
                tuple(tenths),
            )
        )  # fmt: skip
    return tuple(splits)
