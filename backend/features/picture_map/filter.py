"""The filter `map` of queues: pairs whose picture is in a region drawn on the map."""

from sqlalchemy import ColumnElement
from sqlalchemy.orm import Session

from backend.errors import SettingsError
from backend.features.picture_map.queries import is_inside
from backend.features.picture_map.regions import Region, parse_region
from backend.review.added_filters import ALIKE, AddedFilter
from db.queries import run_queries


def in_region(text: str) -> ColumnElement[bool]:
    """Condition: the picture of the pair is in the region. Raises SettingsError."""
    return is_inside(_region(text).corners)


def check_region(session: Session, dataset_id: int, text: str) -> None:
    """Raises SettingsError if a region was drawn on a map other than the dataset's newest: its
    positions now belong to other pictures."""
    run = run_queries.latest_run(session, dataset_id, "map")
    if run is None or run.id != _region(text).run_id:
        raise SettingsError(
            "This region belongs to another map: the map has been drawn again, or it is another "
            "dataset's. Draw the region again on the Map page."
        )


def _region(text: str) -> Region:
    try:
        return parse_region(text)
    except ValueError as problem:
        raise SettingsError(f"{problem}. Draw one on the Map page.") from problem


FILTER = AddedFilter("map", "a region of the map", in_region, topic=ALIKE, check=check_region)
