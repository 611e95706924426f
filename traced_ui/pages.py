"""What a page of the program is, for its own pages and those that features and packages add."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import gradio as gr
from gradio.components import Component

from backend import plugins
from backend.workspace import Workspace
from traced_ui.messages import explain_on_page, note
from traced_ui.page_dataset import PageDataset

log = logging.getLogger(f"traced.{__name__}")

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

        >>> Page("review", "Review").path, Page("export", "Export").path
        ('', 'export')
        """
        return "" if self.name == "review" else self.name


class Room(NamedTuple):
    """Pages that are listed together below the bar. Its first page is the one it opens with."""

    title: str
    pages: tuple[Page, ...]


@dataclass(frozen=True)
class AddedPage:
    """A page of a feature or a package, at the address of its name.

    `room`: the title of the room that it is listed in, after the room's own pages, or "" for the
    corner; `build`: as for our own pages; `styles`: a style sheet, which all pages load;
    `is_first`: it stands before the room's own pages, and the room opens with it; `earlier`:
    addresses that it had, and what they are now.
    """

    page: Page
    room: str
    build: Build
    styles: Path | None = None
    is_first: bool = False
    earlier: Mapping[str, str] = field(default_factory=dict)


#: Where parts can be: on Add data, below what an import has found; at the end of Learn from my
#: verdicts; below the answer of Try one picture; below the choices of Export.
PLACES = ("import", "learn", "try", "export")


class Choices(NamedTuple):
    """Choices of an export. `fields`: the components in which they are entered; `read(dataset_id,
    *values)`: from what is entered in them, fields of `ExportChoice` by their names."""

    fields: Sequence[Any]
    read: Callable[..., Mapping[str, Any]]


@dataclass(frozen=True)
class PagePart:
    """What a feature or a package puts into a place of one of our pages.

    `place`: one of `PLACES`; `build(workspace, dataset, above)`: builds its components, and draws
    them; `above`: the component of the page that it belongs to: an import's report, what was
    learnt, how many pairs are exported, or an answer, which is followed by the components of what
    was tried: picture, caption and model. On Export, it returns `Choices`.
    """

    place: str
    build: Callable[..., Choices | None]

    def __post_init__(self) -> None:
        if self.place not in PLACES:
            raise ValueError(f"There is no place '{self.place}': {', '.join(PLACES)}.")


def build_parts(
    place: str, workspace: Workspace, dataset: PageDataset, above: gr.HTML, *inputs: Component
) -> list[Choices]:
    """Build the parts of a place; one that cannot be built says so there. `inputs`, and what is
    returned: see `PagePart`."""
    built = [
        build_or_say("part", lambda build=part.build: build(workspace, dataset, above, *inputs))
        for part in plugins.load("parts", PagePart)
        if part.place == place
    ]
    return [each for each in built if isinstance(each, Choices)]


def build_or_say(what: str, build: Callable[[], Any]) -> Any:
    """What `build` returns; if it fails, its error stands in its place, and None is returned.
    `what`: a page or a part."""
    try:
        return build()
    except Exception as problem:  # of whatever its author wrote
        log.exception("an added %s cannot be built", what)
        gr.HTML(note(f"This {what} cannot be shown. {explain_on_page(problem)}", "error"))
        return None
