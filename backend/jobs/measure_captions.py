"""Compute a measure that is a function of caption and picture, as plug-ins bring them.

Numbers are committed batch by batch; pairs that have one are not measured again.
"""

import math
from functools import partial
from pathlib import Path
from typing import Any

from PIL import Image

from backend.datasets.safe_files.containers import locate
from backend.datasets.safe_files.images import load_image
from backend.errors import ImageError, SettingsError, TracedError, UnsafePath
from backend.jobs.scoring_reports import MeasureReport
from backend.measures import MEASURES, Compute, Measure
from backend.progress import Progress, no_progress
from backend.store import Store
from db.queries import dataset_queries, measure_queries, pair_queries
from db.queries.pair_queries import PairCaption

#: Pairs whose numbers are committed together.
BATCH = 64


def computed_measures() -> list[Measure]:
    """The measures that are computed here."""
    return [measure for measure in MEASURES.values() if measure.compute is not None]


def measure_captions(
    store: Store, dataset_id: int, progress: Progress = no_progress, *, measure: str
) -> MeasureReport:
    """Compute the `measure` of this name for all pairs with a caption that lack it. Pairs whose
    picture cannot be read, and those to which it gives None, are tried again next time. Raises
    SettingsError if there is no such measure, if it fails, or if it gives no number within its
    bounds."""
    definition = MEASURES.get(measure)
    if definition is None or definition.compute is None:
        names = ", ".join(each.name for each in computed_measures()) or "none is installed"
        raise SettingsError(f"There is no measure '{measure}' to compute; there are: {names}.")
    with store.reading() as session:
        root = Path(dataset_queries.get_dataset(session, dataset_id).root)
        total = pair_queries.count_captions(session, dataset_id)
        done = measure_queries.count_measured(session, dataset_id, measure)
    measured_count = without = unreadable = 0
    for batch in store.batches(
        lambda session, after: measure_queries.unmeasured_pairs(
            session, dataset_id, measure, after, BATCH
        ),
        lambda pair: pair.pair_id,
    ):
        numbers: dict[int, float] = {}
        for pair in batch:
            try:
                value = _number(definition, definition.compute, root, pair)
            except (ImageError, UnsafePath, OSError):
                unreadable += 1
                continue
            if value is None:
                without += 1
            else:
                numbers[pair.pair_id] = value
        store.write(measure_queries.save_numbers, dataset_id, measure, numbers)
        measured_count += len(numbers)
        progress(done + measured_count + without + unreadable, total, definition.title)
    return MeasureReport(dataset_id, measure, total, measured_count, without, unreadable)


def _open(root: Path, pair: PairCaption) -> Image.Image:
    return load_image(locate(root, pair.image_path))


def _number(measure: Measure, compute: Compute, root: Path, pair: PairCaption) -> float | None:
    """The measure's number of a pair. Raises SettingsError for one that nobody can use."""
    try:
        value = compute(pair.caption, partial(_open, root, pair))
    except (TracedError, OSError):
        raise
    except Exception as error:  # of whatever its author wrote
        raise SettingsError(
            f"The measure '{measure.name}' fails on pair {pair.pair_id}: "
            f"{type(error).__name__}: {error}. Repair its package."
        ) from error
    return checked_number(measure, value, f"pair {pair.pair_id}")


def checked_number(measure: Measure, value: Any, of: str) -> float | None:
    """The number that a measure gave. Raises SettingsError, which says `of` what, for one that
    nobody can use."""
    low = -math.inf if measure.low is None else measure.low
    high = math.inf if measure.high is None else measure.high
    try:
        number = None if value is None else float(value)
        fits = number is None or (math.isfinite(number) and low <= number <= high)
    except (TypeError, ValueError):
        number, fits = value, False
    if not fits:
        raise SettingsError(
            f"The measure '{measure.name}' gives {str(number)[:80]} for {of}: it must be a "
            f"finite number from {low:g} to {high:g}, or None. Repair its package."
        )
    return number
