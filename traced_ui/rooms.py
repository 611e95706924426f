"""The rooms of the program and their pages, each at its own address."""

from typing import NamedTuple


class Page(NamedTuple):
    """`name`: in the code, and its address unless it is the first page, which has none."""

    name: str
    title: str

    @property
    def path(self) -> str:
        """Its address below the program's own; "" for Review.

        >>> REVIEW.path, TRY.path
        ('', 'try')
        """
        return "" if self.name == "review" else self.name


class Room(NamedTuple):
    """Its first page is the one it opens with."""

    title: str
    pages: tuple[Page, ...]


REVIEW, TRY = Page("review", "Review"), Page("try", "Try one picture")
ROOMS = (
    Room("Review", (REVIEW,)),
    Room(
        "Explore",
        (Page("map", "Map"), Page("duplicates", "Duplicates")),
    ),
    Room(
        "Improve",
        (
            Page("progress", "Progress"), Page("retrain", "Learn from my verdicts"),
            Page("patterns", "Blind spots"),
        ),
    ),
    Room("Export", (Page("export", "Export"), Page("snapshots", "Snapshots"))),
)  # fmt: skip
#: In the corner: what concerns the dataset as a whole.
DATASET = Room(
    "Dataset",
    (
        Page("datasets", "Add data"), Page("guidelines", "Guidelines"), Page("models", "Model"),
        Page("team", "People"), Page("settings", "Settings"),
    ),
)  # fmt: skip
PAGES = (*(page for room in (*ROOMS, DATASET) for page in room.pages), TRY)
#: Addresses of pages, as in requests.
PATHS = frozenset(f"/{page.path}" for page in PAGES)
#: Where the pages of earlier versions are now, by their names (`/?tab=NAME`, `/NAME`).
EARLIER = {
    **{page.name: page.path for page in PAGES}, "playground": TRY.path, "plane": "map?layout=icc",
}  # fmt: skip


def room_of(page: Page) -> Room | None:
    """The room of the page; None for *Try one picture*."""
    return next((room for room in (*ROOMS, DATASET) if page in room.pages), None)
