"""What is to be known of a dataset as a whole before its captions are judged one by one. Features
and packages say it (`notices` in docs/extending.md); pages and commands show it."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from backend import plugins
from backend.errors import TracedError
from backend.progress import Progress

if TYPE_CHECKING:
    from backend.loaded_models import Engine
    from backend.store import Store

log = logging.getLogger(f"traced.{__name__}")


@dataclass(frozen=True)
class Notice:
    """`sentences`: what there is to say of a dataset now, quickly: it is asked at every act on the
    review page. `page`: the address of the page that says more, "" if none does. `look`: what looks
    for it after each scoring."""

    sentences: "Callable[[Store, int], Sequence[str]]"
    page: str = ""
    look: "Callable[[Store, Engine, int, Progress], object] | None" = None


@dataclass(frozen=True)
class Sentence:
    """`page`: as of a `Notice`."""

    text: str
    page: str = ""


def notices_of(store: "Store", dataset_id: int) -> tuple[Sentence, ...]:
    """What there is to say of the dataset."""
    return tuple(
        Sentence(text, notice.page)
        for notice in plugins.load("notices", Notice)
        for text in notice.sentences(store, dataset_id)
    )


def look_after_scoring(
    store: "Store", engine: "Engine", dataset_id: int, progress: Progress
) -> None:
    """Let each look anew. What one cannot look at is no reason for scoring to fail."""
    for notice in plugins.load("notices", Notice):
        if notice.look is not None:
            try:
                notice.look(store, engine, dataset_id, progress)
            except TracedError as problem:
                log.info("dataset %d: %s", dataset_id, problem)


def texts_of(notices: Sequence[Sentence]) -> tuple[str, ...]:
    """Their sentences alone."""
    return tuple(notice.text for notice in notices)
