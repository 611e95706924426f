"""A dataset as a plane: probability of error against concreteness or specificity; thresholds."""

import math
from dataclasses import replace

from backend.engine.concreteness import ABSTRACT_THRESHOLD
from backend.engine.statistics.thresholds import thresholds
from backend.review.queue_form import from_fields
from backend.review.views import PlanePoint, PlaneView, RegionView, ThresholdView
from backend.store import Store
from backend.verdicts import ENRICHED, RIGHT_OR_WRONG, is_wrong
from db.queries import plane as plane_queries
from db.queries import queue as queue_queries
from db.queries.queue import QueueFilter, Range

#: Cells per side, and the number of pairs drawn as points.
CELLS, POINTS = 40, 2000


#: Captions with a log share below this are generic: their own picture gets a smaller share than all
#: similar ones together.
GENERIC_BELOW = math.log(0.5)


def plane_of(store: Store, dataset_id: int, up: str = "icc") -> PlaneView:
    """The plane of a dataset. `up`: the y axis, icc or specificity."""
    with store.reading() as session:
        cells = plane_queries.grid(session, dataset_id, CELLS, up)
        points = plane_queries.sample(session, dataset_id, POINTS)
        decided = list(plane_queries.decided(session, dataset_id))
        wrong = [
            (p, is_wrong(decision))
            for p, _, _, decision in decided
            if decision in RIGHT_OR_WRONG and p is not None
        ]
        # Least concrete first: the score is how abstract a caption is.
        abstract = [
            (1 - icc, decision == "abstract")
            for _, icc, _, decision in decided
            if decision != "unsure" and icc is not None
        ]
        # Least specific first. An accepted enrichment confirms that the caption was generic.
        generic = [
            (-log, decision == ENRICHED)
            for _, _, log, decision in decided
            if decision in ("correct", ENRICHED) and log is not None
        ]

        def beyond(*ranges: Range) -> int:
            filter = QueueFilter(dataset_id, review="unreviewed", ranges=ranges)
            return queue_queries.count(session, filter)

        measured = any(point[3] is not None for point in points)

        def generic_below(log: float) -> int:
            fields = {"order": "specificity", "specificity_to": f"{log:.4f}"}
            return beyond(*from_fields(dataset_id, fields).ranges)

        return PlaneView(
            cells=tuple(cells),
            size=CELLS,
            points=tuple(
                PlanePoint(
                    pair, p, icc, None if log is None else math.exp(log), support, decision
                )
                for pair, p, icc, log, support, decision in points
            ),
            up=up,
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


def _regions(measured: bool) -> list[tuple[str, str, dict[str, str]]]:
    """(name, description, queue fields), each excluding the ones before: for a wrong or an
    abstract caption, specificity is meaningless."""
    right = {"p_error_to": "0.5"}
    concrete = {**right, "icc_from": f"{ABSTRACT_THRESHOLD:g}"}
    line = f"{GENERIC_BELOW:.4f}"
    regions = [
        ("wrong", "fix or remove it", {"p_error_from": "0.5"}),
        ("abstract", "remove or tag it", {**right, "icc_to": f"{ABSTRACT_THRESHOLD:g}",
                                           "order": "icc"}),
    ]  # fmt: skip
    if not measured:
        return [*regions, ("good", "nothing to do", concrete)]
    return [
        *regions,
        ("generic", "say more", {**concrete, "specificity_to": line, "order": "specificity"}),
        ("good", "nothing to do", {**concrete, "specificity_from": line}),
    ]
