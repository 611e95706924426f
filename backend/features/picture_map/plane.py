"""The layouts by numbers: the plane of the probability of error against concreteness or
specificity, its regions, and thresholds from verdicts."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from backend.features.picture_map import queries
from backend.features.picture_map.thresholds import Threshold, thresholds
from backend.measures import ABSTRACT_THRESHOLD, MEASURES
from backend.review.queue_form import from_fields
from backend.store import Store
from db.decisions import ENRICHED, RIGHT_OR_WRONG, is_wrong
from db.queries import plot_queries, queue_queries
from db.queries.queue_filter import QueueFilter, Range


@dataclass(frozen=True)
class RegionView:
    """A named region of the plane: its queue, and the number of undecided pairs in it."""

    name: str
    meaning: str
    fields: dict[str, str]
    waiting: int


@dataclass(frozen=True)
class ThresholdView(Threshold):
    """`at`: a probability of error (and above), or an ICC (and below); `waiting`: undecided pairs
    beyond it."""

    waiting: int


@dataclass(frozen=True)
class PlaneView:
    """`wrong`, `abstract`: thresholds chosen from verdicts, one for each attainable precision.
    `decided`: the pairs that they were chosen from, by the name of what they find."""

    wrong: tuple[ThresholdView, ...]
    abstract: tuple[ThresholdView, ...]
    #: `at`: the logarithm of the share; precise among accepted enrichments.
    generic: tuple[ThresholdView, ...] = ()
    regions: tuple[RegionView, ...] = ()
    #: Whether specificity has been measured.
    measured: bool = False
    decided: Mapping[str, int] = field(default_factory=dict)


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

        measured = any(True for _ in queries.by_scores(session, dataset_id, "specificity"))

        def generic_below(log: float) -> int:
            fields = {"order": "specificity", "specificity_to": f"{log:.4f}"}
            return beyond(*from_fields(dataset_id, fields).ranges)

        return PlaneView(
            measured=measured,
            decided={"wrong": len(wrong), "abstract": len(abstract), "generic": len(generic)},
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
        return [*regions, ("good", "check some at random", concrete)]
    return [
        *regions,
        ("generic", "say more", {**concrete, "specificity_to": line, "order": "specificity"}),
        ("good", "check some at random", {**concrete, "specificity_from": line}),
    ]
