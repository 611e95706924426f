"""A dataset as a plane: how likely wrong, how abstract; and where to draw the lines."""

from backend.progress.thresholds import thresholds
from backend.store import Store
from backend.views import WRONG, PlaneCell, PlanePoint, PlaneView, ThresholdView
from db.queries import plane as plane_queries
from db.queries import queue as queue_queries
from db.queries.queue import QueueFilter, Range

#: Cells a side, and pairs that are drawn one by one.
CELLS, POINTS = 40, 2000
#: Verdicts that say right or wrong; *abstract* and *unsure* say nothing about that.
_SAYS = ("correct", *WRONG)


def plane_of(store: Store, dataset_id: int) -> PlaneView:
    with store.reading() as session:
        cells = plane_queries.grid(session, dataset_id, CELLS)
        points = plane_queries.sample(session, dataset_id, POINTS)
        said = list(plane_queries.decided(session, dataset_id))
        wrong = [
            (p, decision in WRONG) for p, _, decision in said if decision in _SAYS and p is not None
        ]
        # Least concrete first: the score is how abstract a caption is.
        abstract = [
            (1 - icc, decision == "abstract")
            for _, icc, decision in said
            if decision != "unsure" and icc is not None
        ]

        def beyond(range_: Range) -> int:
            filter = QueueFilter(dataset_id, review="unreviewed", ranges=(range_,))
            return queue_queries.count(session, filter)

        return PlaneView(
            cells=tuple(PlaneCell(c.p_error, c.icc, c.pairs, c.undecided) for c in cells),
            size=CELLS,
            points=tuple(PlanePoint(*point) for point in points),
            wrong=tuple(
                ThresholdView(
                    t.wanted, t.at, t.precision, t.low, t.high, t.decided, t.found,
                    beyond(Range("p_error", t.at, None)),
                )
                for t in thresholds(wrong)
            ),
            abstract=tuple(
                ThresholdView(
                    t.wanted, 1 - t.at, t.precision, t.low, t.high, t.decided, t.found,
                    beyond(Range("icc", None, 1 - t.at)),
                )
                for t in thresholds(abstract)
            ),
        )  # fmt: skip
