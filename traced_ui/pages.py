"""What a page of the program is, for its own pages and those that features and packages add."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from backend.workspace import Workspace
from traced_ui.page_dataset import PageDataset

#: Builds the components of a page, and returns what draws it when it is opened: (function, inputs,
#: outputs), or None if it draws itself.
Build = Callable[[Workspace, PageDataset], tuple[Any, ...] | None]


class Page(NamedTuple):
    """`name`: in the code, and its address unless it is the first page, which has none."""

    name: str
    title: str

    @property
    def path(self) -> str:
        """Its address below the program's own; "" for Review.

        >>> Page("review", "Review").path, Page("try", "Try one picture").path
        ('', 'try')
        """
        return "" if self.name == "review" else self.name


class Room(NamedTuple):
    """Pages that are listed together below the bar. Its first page is the one it opens with."""

    title: str
    pages: tuple[Page, ...]


@dataclass(frozen=True)
class AddedPage:
    """A page of a feature or a package, at the address of its name.

    `room`: the title of the room that it is listed in, after the room's own pages; `build`: as for
    our own pages; `styles`: a style sheet, which all pages load.
    """

    page: Page
    room: str
    build: Build
    styles: Path | None = None
