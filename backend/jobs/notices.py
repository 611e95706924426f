"""What is to be known of a dataset as a whole before its captions are judged one by one. Features
and packages say it (`notices` in docs/extending.md); pages and commands show it."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from backend import plugins
from backend.errors import NotFound, TracedError
from backend.progress import Progress

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

    from backend.loaded_models import Engine
    from backend.store import Store

log = logging.getLogger(f"traced.{__name__}")


@dataclass(frozen=True)
class Sentence:
    """`text`: what is so; `advice`: what to do about it; `page`: as of a `Notice`."""

    text: str
    advice: str = ""
    page: str = ""

    def in_words(self) -> str:
        return f"{self.text} {self.advice}".rstrip()


@dataclass(frozen=True)
class Notice:
    """`sentences`: what there is to say of a dataset now, quickly: it is asked at every act on the
    review page. `page`: the address of the page that says more, "" if none does. `look`: what looks
    for it whenever pictures were scored, before a detector learns; `finish`: what is left to do
    once the pairs are ranked. `set_aside`: the pairs whose captions are not judged one by one until
    that is mended, as (first, last) of their ids: no detector learns from them, and no estimate
    counts them. `details`: what the API tells of it, at the page's address."""

    sentences: "Callable[[Store, int], Sequence[Sentence]]"
    page: str = ""
    look: "Callable[[Store, Engine, int, Progress], object] | None" = None
    finish: "Callable[[Store, Engine, int, Progress], object] | None" = None
    set_aside: "Callable[[Session, int], Sequence[tuple[int, int]]] | None" = None
    details: "Callable[[Store, int], Mapping[str, Any]] | None" = None


def notices_of(store: "Store", dataset_id: int) -> tuple[Sentence, ...]:
    """What there is to say of the dataset."""
    return tuple(
        replace(sentence, page=notice.page)
        for notice in plugins.load("notices", Notice)
        for sentence in notice.sentences(store, dataset_id)
    )


def look(store: "Store", engine: "Engine", dataset_id: int, progress: Progress) -> None:
    """Let each look anew."""
    for notice in plugins.load("notices", Notice):
        if notice.look is not None:
            _try(notice.look, store, engine, dataset_id, progress)


def finish(store: "Store", engine: "Engine", dataset_id: int, progress: Progress) -> None:
    """Let each do what it does with pairs that are ranked."""
    for notice in plugins.load("notices", Notice):
        if notice.finish is not None:
            _try(notice.finish, store, engine, dataset_id, progress)


def _try(
    step: "Callable[[Store, Engine, int, Progress], object]",
    store: "Store",
    engine: "Engine",
    dataset_id: int,
    progress: Progress,
) -> None:
    """What one cannot look at is no reason for scoring to fail."""
    try:
        step(store, engine, dataset_id, progress)
    except TracedError as problem:
        log.info("dataset %d: %s", dataset_id, problem)


def set_aside(session: "Session", dataset_id: int) -> list[tuple[int, int]]:
    """The pairs that are not judged one by one, as (first, last) of their ids."""
    return [
        ids
        for notice in plugins.load("notices", Notice)
        if notice.set_aside is not None
        for ids in notice.set_aside(session, dataset_id)
    ]


def details_of(store: "Store", dataset_id: int, page: str) -> "Mapping[str, Any]":
    """What the notice with this page tells. Raises NotFound if there is none."""
    for notice in plugins.load("notices", Notice):
        if notice.details is not None and notice.page == page:
            return notice.details(store, dataset_id)
    raise NotFound(f"Nothing is said of datasets under '{page[:60]}'.")


def texts_of(notices: Sequence[Sentence]) -> tuple[str, ...]:
    """Their sentences alone."""
    return tuple(notice.in_words() for notice in notices)
