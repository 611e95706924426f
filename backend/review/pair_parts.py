"""What features and packages add beside a pair on the review page (`pair_parts` in
docs/extending.md): here what is read of it, in `traced_ui.pair_places` what is drawn.

A group of its own beside `parts`, whose members build components: a pair is also read where nothing
is drawn, and Gradio is not imported there.
"""

import logging
import re
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path

from pydantic import BaseModel
from sqlalchemy.orm import Session

from backend import plugins
from backend.review.views import ModelOpinion, PairView, PhraseSupport, Suggestions, VerdictOfPair
from backend.settings import Settings
from db.queries.dataset_queries import DatasetRow
from db.queries.pair_queries import PairRow

log = logging.getLogger(f"traced.{__name__}")

#: Where parts can be: beside the picture, below what is suggested; over the picture's lower edge;
#: below the chart, in the tab *Looks like*; below the chart, in a tab of its own; among the labels
#: above the caption.
PLACES = ("picture", "over", "alike", "tab", "labels")
#: Fields of a pair in the API, and of the records that it is made of.
TAKEN = frozenset(("id", "etag", "sampling", "captions_of_picture", "writer", "new_writer")).union(
    field.name
    for record in (PairView, VerdictOfPair, ModelOpinion, Suggestions, PhraseSupport)
    for field in fields(record)
)


@dataclass(frozen=True)
class PairPart:
    """What a feature or a package adds beside a pair.

    `place`: one of `PLACES`. `read(session, pair)`: what there is to say of the pair, by one
    statement at most and by none where `pair` tells that there is nothing; None: nothing is drawn.
    `takes_dataset`: it is called with the pair's dataset, a `DatasetRow`, and the settings as well.
    `template`: draws it; it is given the `record`, and the `view` of the pair. `title`: of its tab.
    `styles`: a style sheet, which all pages load.
    `api`: reads the record into the field `name` of a pair in the API, which is null without one.
    """

    name: str
    place: str
    read: Callable[..., object | None]
    template: Path
    title: str = ""
    styles: Path | None = None
    api: type[BaseModel] | None = None
    takes_dataset: bool = False

    def __post_init__(self) -> None:
        if self.place not in PLACES:
            raise ValueError(f"There is no place '{self.place}': {', '.join(PLACES)}.")
        if not re.fullmatch("[a-z][a-z0-9_]*", self.name) or self.name in TAKEN:
            raise ValueError(f"'{self.name}' cannot be the name of a field of a pair.")


def load_pair_parts() -> tuple[PairPart, ...]:
    """All of them; one with another's name is left out and named."""
    names: set[str] = set()

    def join(part: PairPart) -> None:
        if part.name in names:
            raise ValueError(f"There is a part '{part.name}' already.")
        names.add(part.name)

    return plugins.load("pair_parts", PairPart, join)


def read_parts(
    session: Session, pair: PairRow, dataset: DatasetRow, settings: Settings
) -> dict[str, object]:
    """The records of the parts that have one, by name; of a part that fails, its error."""
    records: dict[str, object] = {}
    for part in load_pair_parts():
        try:
            record = part.read(session, pair, *([dataset, settings] if part.takes_dataset else []))
        except Exception as error:  # of whatever its author wrote
            session.rollback()  # PostgreSQL answers nothing else of a transaction that failed
            log.exception("the part '%s' of pair %d cannot be read", part.name, pair.id)
            record = error.with_traceback(None)
        if record is not None:
            records[part.name] = record
    return records
