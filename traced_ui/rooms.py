"""The rooms of the program and their pages, and the bar at the top from which all are reached."""

from typing import NamedTuple

from markupsafe import Markup

from traced_ui.templates import render


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


def rooms_html() -> Markup:
    """The program's name and its four rooms."""
    return render("header/rooms.html", rooms=ROOMS)


def corner_html() -> Markup:
    """Beside the dataset's name: its pages."""
    return render("header/corner.html", room=DATASET)


def tools_html() -> Markup:
    """At the right: the theme and the keys."""
    return render("header/tools.html")


def pages_html() -> Markup:
    """Below the bar: the pages of each room that has several; one list is shown at a time."""
    rooms = [room for room in (*ROOMS, DATASET) if len(room.pages) > 1]
    return render("header/pages.html", rooms=rooms)
