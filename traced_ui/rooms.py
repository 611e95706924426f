"""The rooms of the program and their pages, each at its own address: ours, then those that features
and other packages add (group `pages`)."""

import re

from backend import plugins
from traced_ui.pages import AddedPage, Page, Room

REVIEW = Page("review", "Review")
_OURS = (
    Room("Review", (REVIEW,)),
    Room("Explore", ()),
    Room("Improve", (Page("progress", "Progress"), Page("retrain", "Learn from my verdicts"))),
    Room("Export", (Page("export", "Export"),)),
)
#: In the corner: what concerns the dataset as a whole.
_DATASET = Room(
    "Dataset",
    (
        Page("datasets", "Add data"), Page("guidelines", "Guidelines"), Page("models", "Model"),
        Page("team", "People"), Page("settings", "Settings"),
    ),
)  # fmt: skip
#: Where programs call: no page either.
API = "/api/v1"
#: Addresses that are no pages.
_RESERVED = ("api", "config", "gradio_api", "header", "healthy", "login", "pictures")


def _load_added() -> tuple[AddedPage, ...]:
    """The added pages; one whose room or address cannot be is left out, and `doctor` says why."""
    addresses = {page.name for room in (*_OURS, _DATASET) for page in room.pages}
    addresses |= set(_RESERVED)
    titles = {"", *(room.title for room in (*_OURS, _DATASET))}

    def join(extra: AddedPage) -> None:
        name = extra.page.name
        if not re.fullmatch(r"[a-z][a-z0-9-]*", name):
            raise ValueError(f"The address '{name}' is not of small letters, digits and hyphens.")
        if name in addresses:
            raise ValueError(f"The address '{name}' is another page's.")
        if extra.room not in titles:
            raise ValueError(
                f"There is no room '{extra.room}': {', '.join(sorted(titles - {''}))}."
            )
        addresses.add(name)

    return plugins.load("pages", AddedPage, join)


ADDED = {extra.page.name: extra for extra in _load_added()}


def _with_added(room: Room) -> Room:
    extra = [each for each in ADDED.values() if each.room == room.title]
    first, later = ([e.page for e in extra if e.is_first is is_first] for is_first in (True, False))
    return room._replace(pages=(*first, *room.pages, *later))


ROOMS = tuple(room for room in map(_with_added, _OURS) if room.pages)
DATASET = _with_added(_DATASET)
#: In the corner, in no room.
ALONE = tuple(extra.page for extra in ADDED.values() if not extra.room)
PAGES = (*(page for room in (*ROOMS, DATASET) for page in room.pages), *ALONE)
#: Addresses of pages, as in requests.
PATHS = frozenset(f"/{page.path}" for page in PAGES)
#: Where the pages of earlier versions are now, by their names (`/?tab=NAME`, `/NAME`).
EARLIER = {
    **{page.name: page.path for page in PAGES},
    **{name: address for each in ADDED.values() for name, address in each.earlier.items()},
}  # fmt: skip


def room_of(page: Page) -> Room | None:
    """The room of the page; None for one of `ALONE`."""
    return next((room for room in (*ROOMS, DATASET) if page in room.pages), None)
