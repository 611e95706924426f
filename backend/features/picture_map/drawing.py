"""The map of a dataset's pictures, from the vectors that scoring stored. It is written at the end:
a job that is stopped leaves the previous one in place."""

from backend.features.picture_map import queries
from backend.features.picture_map.layout import layout
from backend.features.picture_map.queries import PlaceRow
from backend.features.picture_map.report import MapReport
from backend.jobs.picture_vectors import pictures_of
from backend.loaded_models import Engine
from backend.progress import Progress, no_progress
from backend.store import Store


def draw_map(
    store: Store, engine: Engine, dataset_id: int, progress: Progress = no_progress
) -> MapReport:
    """Compute a position for every pair whose picture has a vector; replaces the previous map.
    Raises SettingsError if there are no vectors yet."""
    pictures = pictures_of(store, engine, dataset_id)
    places = layout(len(pictures.pairs), pictures.vectors, progress)
    rows = [
        PlaceRow(pair, float(x), float(y))
        for pairs, (x, y) in zip(pictures.pairs, places, strict=True)
        for pair in pairs
    ]
    with store.writing(large=True) as session:
        queries.replace_places(session, dataset_id, rows)
        run = pictures.record_run(session, "map")
    return MapReport(dataset_id, run.id, len(pictures.pairs), len(rows), pictures.without)
