"""The map of a dataset as pages draw it, and its regions as queues."""

from collections.abc import Sequence

import numpy as np

from backend.engine.map_region import Point, drawn_region, parse_region, region_text
from backend.errors import SettingsError
from backend.review.views import MapView
from backend.store import Store
from backend.verdicts import about_caption
from db.queries import picture_map as queries
from db.queries import runs as run_queries


def map_of(store: Store, dataset_id: int) -> MapView | None:
    """Every pair with a position, as arrays; None if the map has not been computed."""
    with store.reading(scanning=True) as session:
        run = run_queries.latest_run(session, dataset_id, "map")
        rows = list(queries.points(session, dataset_id)) if run is not None else []
    if run is None or not rows:
        return None
    pairs, xs, ys, p_errors, iccs, judgements = zip(*rows, strict=True)
    return MapView(
        run.id,
        np.array(pairs, np.int32),
        np.array(xs, np.float32),
        np.array(ys, np.float32),
        np.array(p_errors, np.float32),
        np.array(iccs, np.float32),
        np.array([about_caption(judgement) for judgement in judgements]),
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
    with store.reading() as session:
        run = run_queries.latest_run(session, dataset_id, "map")
    if run is None or run.id != run_id:
        raise SettingsError(
            "This region belongs to another map: the map has been drawn again, or it is another "
            "dataset's. Draw the region again on the Map page."
        )
