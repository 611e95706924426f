"""The map as curators see it: its points, and a region drawn on it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from backend.errors import SettingsError
from backend.features.picture_map import queries
from backend.features.picture_map.regions import Point, drawn_region, region_text
from backend.store import Store
from backend.verdict_texts import about_caption
from db.queries import run_queries


@dataclass(frozen=True)
class MapView:
    """Pairs in a layout, one element each: positions in the unit square, p and ICC (NaN: unknown),
    and what the verdict says about the caption. `run_id`: of the map; 0 in other layouts."""

    run_id: int
    pairs: NDArray[np.int32]
    x: NDArray[np.float32]
    y: NDArray[np.float32]
    p_error: NDArray[np.float32]
    icc: NDArray[np.float32]
    verdicts: NDArray[np.str_]
    layout: str = "alike"


#: How pictures are laid out: alike ones near each other, or by two numbers: the chance of error
#: across, and upwards how concrete or how specific the caption is.
ALIKE = "alike"


def map_of(store: Store, dataset_id: int, layout: str = ALIKE) -> MapView | None:
    """Every pair with a position in the layout, as arrays; None if there is none: the map has not
    been drawn, or nothing has been scored or measured."""
    run_id = 0
    with store.reading() as session:
        if layout == ALIKE:
            run = run_queries.latest_run(session, dataset_id, "map")
            if run is None:
                return None
            run_id, rows = run.id, list(queries.points(session, dataset_id))
        else:
            rows = list(queries.by_scores(session, dataset_id, layout))
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
