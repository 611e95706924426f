"""The rooms of the program and their pages, all reached from the bar at the top."""

from typing import NamedTuple


class Page(NamedTuple):
    """`name`: in addresses (`?tab=NAME`), which are kept."""

    name: str
    title: str


class Room(NamedTuple):
    """Its first page is the one it opens with."""

    title: str
    pages: tuple[Page, ...]


ROOMS = (
    Room("Review", (Page("review", "Review"),)),
    Room(
        "Explore",
        (Page("map", "Map"), Page("plane", "Wrong or vague?"), Page("duplicates", "Duplicates")),
    ),
    Room("Improve", (Page("progress", "Progress"), Page("retrain", "Learn from my verdicts"))),
    Room("Export", (Page("export", "Export"),)),
)
#: In the corner: what concerns the dataset as a whole.
DATASET = Room(
    "Dataset",
    (
        Page("datasets", "Add data"), Page("guidelines", "Guidelines"), Page("models", "Model"),
        Page("team", "People"), Page("settings", "Settings"),
    ),
)  # fmt: skip
PAGES = tuple(page for room in (*ROOMS, DATASET) for page in room.pages)
#: Those whose pages are listed below the bar, one list at a time.
WITH_PAGES = tuple(room for room in (*ROOMS, DATASET) if len(room.pages) > 1)
