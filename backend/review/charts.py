"""What the charts show: the plane of probability of error against concreteness or specificity, the
map of pictures, and the state of the review.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from itertools import pairwise
from statistics import median

import numpy as np
from sqlalchemy.orm import Session

from backend.engine.picture_map import Point, drawn_region, parse_region, region_text
from backend.engine.statistics.calibration import (
    BinaryVerdict,
    calibration,
    errors_left_by_decided,
    precision_of_flagged,
    suspects_hit,
    thresholds,
)
from backend.engine.statistics.stopping import remaining_errors
from backend.errors import SettingsError
from backend.jobs.errors_left import ErrorsLeft, estimate_left
from backend.jobs.notices import notices_of, set_aside
from backend.jobs.reports import SAMPLED
from backend.measures import ABSTRACT_THRESHOLD, MEASURES
from backend.review.queue_form import from_fields
from backend.review.views import (
    ExpectedErrors,
    MapView,
    PlaneView,
    ProgressView,
    RegionView,
    Retraining,
    SuspectsHit,
    ThresholdView,
    Whole,
)
from backend.store import Store
from backend.verdict_texts import about_caption
from db.decisions import ENRICHED, RIGHT_OR_WRONG, is_wrong
from db.queries import (
    classifier_queries,
    dataset_queries,
    map_queries,
    pair_queries,
    plot_queries,
    queue_queries,
    run_queries,
    word_mark_queries,
)
from db.queries.queue_queries import QueueFilter, Range

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


def whole_of(session: Session, dataset_id: int) -> Whole | None:
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
    return Whole(source, pairs, remaining if remaining and remaining.is_enough else None)


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


#: How pictures are laid out: alike ones near each other, or by two numbers: the chance of error
#: across, and upwards how concrete or how specific the caption is.
ALIKE, LAYOUTS = "alike", ("alike", "icc", "specificity")


def map_of(store: Store, dataset_id: int, layout: str = ALIKE) -> MapView | None:
    """Every pair with a position in the layout, as arrays; None if there is none: the map has not
    been drawn, or nothing has been scored or measured."""
    run_id = 0
    with store.reading() as session:
        if layout == ALIKE:
            run = run_queries.latest_run(session, dataset_id, "map")
            if run is None:
                return None
            run_id, rows = run.id, list(map_queries.points(session, dataset_id))
        else:
            rows = list(plot_queries.by_scores(session, dataset_id, layout))
    if not rows:
        return None
    pairs, xs, ys, p_errors, iccs, judgements = zip(*rows, strict=True)
    heights = np.array(ys, np.float32)
    return MapView(
        run_id,
        np.array(pairs, np.int32),
        np.array(xs, np.float32),
        np.exp(heights) if layout == "specificity" else heights,
        np.array(p_errors, np.float32),
        np.array(iccs, np.float32),
        np.array([about_caption(judgement) for judgement in judgements]),
        layout,
    )


def region_of(run_id: int, line: Sequence[Point]) -> str:
    """The region inside a line drawn on the map of that run, as a queue field.
    Raises SettingsError."""
    try:
        return region_text(drawn_region(run_id, line))
    except ValueError as problem:
        raise SettingsError(
            "That line encloses no picture. Draw around some pictures."
        ) from problem


def check_region(store: Store, dataset_id: int, text: str) -> None:
    """Raises SettingsError if a region was drawn on a map other than the dataset's newest: its
    positions now belong to other pictures."""
    try:
        run_id = parse_region(text).run_id
    except ValueError:
        return  # the fields are checked where they are read
    run = store.read(run_queries.latest_run, dataset_id, "map")
    if run is None or run.id != run_id:
        raise SettingsError(
            "This region belongs to another map: the map has been drawn again, or it is another "
            "dataset's. Draw the region again on the Map page."
        )


def plane_of(store: Store, dataset_id: int) -> PlaneView:
    """The regions and thresholds of a dataset."""
    with store.reading() as session:
        points = list(plot_queries.decided_points(session, dataset_id))
        wrong = [
            (p, is_wrong(decision))
            for p, _, _, decision in points
            if decision in RIGHT_OR_WRONG and p is not None
        ]
        # Least concrete first: the score is how abstract a caption is.
        abstract = [
            (1 - icc, decision == "abstract")
            for _, icc, _, decision in points
            if decision != "unsure" and icc is not None
        ]
        # Least specific first. An accepted enrichment confirms that the caption was generic.
        generic = [
            (-log, decision == ENRICHED)
            for _, _, log, decision in points
            if decision in ("correct", ENRICHED) and log is not None
        ]

        def beyond(*ranges: Range) -> int:
            filter = QueueFilter(dataset_id, review="unreviewed", ranges=ranges)
            return queue_queries.count(session, filter)

        measured = any(True for _ in plot_queries.by_scores(session, dataset_id, "specificity"))

        def generic_below(log: float) -> int:
            fields = {"order": "specificity", "specificity_to": f"{log:.4f}"}
            return beyond(*from_fields(dataset_id, fields).ranges)

        return PlaneView(
            measured=measured,
            regions=tuple(
                RegionView(
                    name, meaning, fields,
                    beyond(*from_fields(dataset_id, fields).ranges),
                )
                for name, meaning, fields in _regions(measured)
            ),
            wrong=tuple(
                ThresholdView(**vars(t), waiting=beyond(Range("p_error", t.at, None)))
                for t in thresholds(wrong)
            ),
            abstract=tuple(
                ThresholdView(**vars(t), waiting=beyond(Range("icc", None, t.at)))
                for t in (replace(t, at=1 - t.at) for t in thresholds(abstract))
            ),
            generic=tuple(
                ThresholdView(**vars(t), waiting=generic_below(t.at))
                for t in (replace(t, at=-t.at) for t in thresholds(generic))
            ),
        )  # fmt: skip


def _regions(has_specificity: bool) -> list[tuple[str, str, dict[str, str]]]:
    """(name, description, queue fields), each excluding the ones before: for a wrong or an
    abstract caption, specificity is meaningless."""
    right = {"p_error_to": "0.5"}
    concrete = {**right, "icc_from": f"{ABSTRACT_THRESHOLD:g}"}
    line = f"{MEASURES['specificity'].line:.4f}"
    regions = [
        ("wrong", "fix or remove it", {"p_error_from": "0.5"}),
        ("abstract", "remove or tag it", {**right, "icc_to": f"{ABSTRACT_THRESHOLD:g}",
                                           "order": "icc"}),
    ]  # fmt: skip
    if not has_specificity:
        return [*regions, ("good", "nothing to do", concrete)]
    return [
        *regions,
        ("generic", "say more", {**concrete, "specificity_to": line, "order": "specificity"}),
        ("good", "nothing to do", {**concrete, "specificity_from": line}),
    ]
