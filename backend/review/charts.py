"""What the charts show of the state of the review."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from itertools import pairwise
from statistics import median

from sqlalchemy.orm import Session

from backend.engine.statistics.calibration import (
    BinaryVerdict,
    calibration,
    errors_left_by_decided,
    precision_of_flagged,
    suspects_hit,
)
from backend.engine.statistics.stopping import remaining_errors
from backend.jobs.dataset_reports import SAMPLED
from backend.jobs.errors_left import ErrorsLeft, estimate_left
from backend.jobs.notices import notices_of, set_aside
from backend.review.views import (
    ExpectedErrors,
    ProgressView,
    Retraining,
    SampledDataset,
    SuspectsHit,
)
from backend.store import Store
from db.decisions import RIGHT_OR_WRONG, is_wrong
from db.queries import (
    classifier_queries,
    dataset_queries,
    pair_queries,
    plot_queries,
    run_queries,
    word_mark_queries,
)

#: The share of the errors that are left which a curator is told to look for.
MOST_ERRORS = 0.9
#: Verdicts whose pace is measured, and how many pauses between them that takes; a longer pause is a
#: break, in seconds. Before that a verdict takes so many seconds, and never less than `FASTEST`.
PACE_OF, FEWEST_PAUSES, BREAK, SECONDS_A_PAIR, FASTEST = 100, 5, 120.0, 4.0, 1.0


def progress_of(store: Store, dataset_id: int) -> ProgressView:
    """Statistics of the verdicts so far, about the dataset and the detector."""
    with store.reading() as session:
        counts = pair_queries.counts(session, dataset_id)
        pace = plot_queries.pace(session, dataset_id)
        decisions = [
            BinaryVerdict(p_error, is_wrong(decision))
            for p_error, _, _, decision in plot_queries.decided_points(session, dataset_id)
            if decision in RIGHT_OR_WRONG
        ]
        classifiers = classifier_queries.list_classifiers(session, dataset_id)
        left = errors_left(session, dataset_id, counts.total - counts.reviewed)
        by_split = left.trusts_the_model and not counts.reviewed
        chances = plot_queries.chances(session, dataset_id) if by_split else []
        left_by_decided = _left_by_decided(session, dataset_id, left)
        whole = whole_of(session, dataset_id)
        hit = suspects_hit(word_mark_queries.marked_and_suspect(session, dataset_id))
    precision, flagged_count = precision_of_flagged(decisions)
    return ProgressView(
        total=counts.total,
        reviewed=counts.reviewed,
        errors_found=counts.errors_found,
        by_decision=counts.by_decision,
        pace=tuple(pace),
        precision_of_flagged=precision,
        flagged=flagged_count,
        left=left,
        left_by_decided=tuple(left_by_decided),
        calibration=tuple(calibration(decisions)),
        retrainings=tuple(
            Retraining(
                row.name,
                row.created_at,
                row.active,
                row.report.get("verdict_auc_before"),
                row.report.get("verdict_auc_after"),
            )
            for row in reversed(classifiers)
        ),
        suspects_hit=SuspectsHit(*hit) if hit is not None else None,
        expected=expected_errors(chances),
        whole=whole,
        notices=notices_of(store, dataset_id),
    )


def whole_of(session: Session, dataset_id: int) -> SampledDataset | None:
    """The estimate for all pairs that the dataset was drawn from at random; None if it was not.
    Errors that were found in other datasets of these pairs do not remain."""
    sampling_run = run_queries.latest_run(session, dataset_id, SAMPLED)
    if sampling_run is None:
        return None
    source = dataset_queries.get_dataset(session, dataset_id).source
    wrong_ids: set[str] = set()
    for dataset in dataset_queries.list_datasets(session):
        if dataset.source == source:
            wrong_ids |= plot_queries.wrong_ids(session, dataset.id)
    pairs = int(sampling_run.parameters["pairs"])
    audit = plot_queries.review_progress(session, dataset_id, whole=True)
    remaining = remaining_errors(None, pairs, audit.sample, audit.wrong_in_sample, len(wrong_ids))
    return SampledDataset(source, pairs, remaining if remaining and remaining.is_enough else None)


def errors_left(session: Session, dataset_id: int, undecided_count: int) -> ErrorsLeft:
    """What to tell a curator who wonders whether to go on; `undecided_count` pairs have no
    verdict."""
    left = estimate_left(session, dataset_id, undecided_count)
    without = set_aside(session, dataset_id)
    by_chance = plot_queries.undecided_by_chance(session, dataset_id, without)
    scored_count = sum(count for count, _ in by_chance)
    set_aside_count = plot_queries.count_undecided(session, dataset_id, without) if without else 0
    left = replace(left, set_aside=set_aside_count)
    if not scored_count or dataset_queries.get_dataset(session, dataset_id).is_unfamiliar:
        return left
    expected_count = sum(errors for _, errors in by_chance)
    pairs, likely = 0, 0.0
    for count, errors in by_chance:
        if likely >= MOST_ERRORS * expected_count:
            break
        pairs, likely = pairs + count, likely + errors
    seconds = pairs * seconds_a_pair(plot_queries.latest_verdicts(session, dataset_id, PACE_OF))
    return replace(
        left, expected=expected_count, pairs=pairs, seconds=seconds,
        unscored=undecided_count - scored_count - set_aside_count,
    )  # fmt: skip


def _left_by_decided(
    session: Session, dataset_id: int, left: ErrorsLeft
) -> list[tuple[int, float]]:
    """What was left after each decision: with what has been found since then, or, as far as the
    model alone knows, with the chances of the pairs that were undecided then."""
    if left.errors is None:
        return []
    decided = plot_queries.decided_points(session, dataset_id, with_rules=True)
    if left.trusts_the_model:
        errors = [p_error or 0.0 for p_error, *_ in decided]
    else:
        errors = [float(is_wrong(decision)) for *_, decision in decided]
    return errors_left_by_decided(errors, left.errors)


def seconds_a_pair(given_at: Sequence[datetime]) -> float:
    """The median time between verdicts, without breaks. `given_at`: the newest first.

    >>> seconds_a_pair([])
    4.0
    """
    pauses = [(after - before).total_seconds() for after, before in pairwise(given_at)]
    work = [pause for pause in pauses if pause <= BREAK]
    return max(median(work), FASTEST) if len(work) >= FEWEST_PAUSES else SECONDS_A_PAIR


def expected_errors(chances: Sequence[plot_queries.Chances]) -> tuple[ExpectedErrors, ...]:
    """What the chances of error add up to, by split."""
    splits = []
    for name in dict.fromkeys(row.split for row in chances):
        rows = [row for row in chances if row.split == name]
        pairs, errors = sum(row.pairs for row in rows), sum(row.expected for row in rows)
        tenths = [0] * 10
        for row in rows:
            tenths[row.tenth] = row.pairs
        splits.append(ExpectedErrors(name, pairs, errors, tuple(tenths)))
    return tuple(splits)
