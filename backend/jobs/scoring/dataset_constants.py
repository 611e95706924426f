"""The constant parts of a dataset's captions that scoring leaves out: found or stated when it is
scored, and remembered with it.

A dataset that was scored before stays as it is until it is scored again.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from sqlalchemy.orm import Session

from backend.datasets.caption_writers import COLUMNS
from backend.engine.constants.constant_search import find_constants, stated_constants
from backend.engine.constants.judging import ARTICLES
from backend.engine.constants.part import ConstantPart, spans_in, words_stated
from backend.errors import NotFound
from backend.store import Store
from db.queries import dataset_queries, pair_queries, signal_queries
from db.queries.dataset_queries import DatasetRow

#: Among what a dataset remembers; not there where no caption has a constant part.
CONSTANTS = "constants"
_AT_ONCE = 5000


@dataclass(frozen=True)
class ConstantChoice:
    """Parts that a person states, whether others are looked for, and the texts of those that are
    judged nevertheless. `may_lack`: no caption has to have what is stated, which is no part of what
    is remembered."""

    stated: tuple[str, ...] = ()
    are_searched: bool = True
    judged: tuple[str, ...] = ()
    may_lack: bool = False

    def to_json(self, parts: Iterable[ConstantPart]) -> dict[str, Any]:
        """What is remembered, with the parts that it yields."""
        return {
            "stated": list(self.stated),
            "are_searched": self.are_searched,
            "judged": list(self.judged),
            "parts": [part.to_json() for part in parts],
        }

    def leaves_out(self, part: ConstantPart) -> bool:
        """Whether models will not read a part that was found or stated before."""
        if part.text in self.judged:
            return False
        is_stated = any(words_stated(text) == part.words for text in self.stated)
        return is_stated or part.is_left_out or part.is_stated

    def switch(self, part: ConstantPart, is_left_out: bool) -> "ConstantChoice":
        """The choice in which this part is left out, or judged."""
        others = tuple(text for text in self.judged if text != part.text)
        if not is_left_out:
            return replace(self, judged=(*others, part.text))
        choice = replace(self, judged=others)
        return (
            choice if choice.leaves_out(part) else replace(choice, stated=(*self.stated, part.text))
        )


def choose_constants(
    store: Store, dataset: DatasetRow, choice: ConstantChoice | None
) -> tuple[ConstantChoice, tuple[ConstantPart, ...]]:
    """The choice, by default that of the last scoring, and the parts that it yields. Raises
    SettingsError for a stated part that stands in no caption."""
    choice = choice or choice_in(dataset.models)
    captions = partial(captions_and_writers, store, dataset.id)
    parts = list(stated_constants(choice.stated, captions, choice.may_lack))
    if choice.are_searched:
        total = store.read(pair_queries.count_captions, dataset.id)
        parts += [part for part in find_constants(captions, total) if not _consists_of(part, parts)]
    return choice, tuple(
        replace(part, is_left_out=False, is_stated=True) if part.text in choice.judged else part
        for part in parts
    )


def count_suspected(
    store: Store, dataset: DatasetRow, parts: Iterable[ConstantPart]
) -> tuple[int, ...]:
    """In how many captions one of each part's words is most suspect now: what stands in most
    captions and is suspect in many would better be left out, if it is so of all pictures. 0 for
    what is left out, for parts of one writer, and where the model does not know the pictures."""

    def number(part: ConstantPart) -> int:
        if part.is_left_out or part.writer or dataset.is_unfamiliar:
            return 0
        with store.reading() as session:
            return sum(
                part.expression.search(caption) is not None
                for caption in signal_queries.captions_suspect_for(session, dataset.id, part.words)
            )

    return tuple(map(number, parts))


def _consists_of(part: ConstantPart, stated: Iterable[ConstantPart]) -> bool:
    """Whether nothing but articles is left of a part without those that are stated."""
    text = part.text
    for start, end, _ in spans_in(text, stated):
        text = text[:start] + " " * (end - start) + text[end:]
    return ARTICLES.issuperset(text.split())


def constants_before(store: Store, dataset_id: int) -> tuple[ConstantPart, ...]:
    """The constant parts that were known when the dataset was scored last."""
    return constants_in(store.read(dataset_queries.get_dataset, dataset_id).models)


def constants_in(models: Mapping[str, Any]) -> tuple[ConstantPart, ...]:
    """Of what a dataset remembers."""
    return tuple(map(ConstantPart.from_stored, models.get(CONSTANTS, {}).get("parts", ())))


def choice_in(models: Mapping[str, Any]) -> ConstantChoice:
    """Of what a dataset remembers."""
    stored_choice = models.get(CONSTANTS, {})
    return ConstantChoice(
        tuple(stored_choice.get("stated", ())),
        stored_choice.get("are_searched", True),
        tuple(stored_choice.get("judged", ())),
    )


def switch_constant(session: Session, dataset_id: int, text: str, is_left_out: bool) -> None:
    """Leave a constant part out, or judge it, from the next scoring on. Raises NotFound."""
    models = dataset_queries.get_dataset(session, dataset_id).models
    parts = constants_in(models)
    part = next((part for part in parts if part.text == text), None)
    if part is None:
        raise NotFound(f"There is no constant part “{text[:200]}” in this dataset.")
    choice = choice_in(models).switch(part, is_left_out)
    remember_constants(session, dataset_id, choice, parts)


def remember_constants(
    session: Session, dataset_id: int, choice: ConstantChoice, parts: tuple[ConstantPart, ...]
) -> None:
    """For later scoring, for edited captions and for the pages."""
    models = dict(dataset_queries.get_dataset(session, dataset_id).models)
    models.pop(CONSTANTS, None)
    dataset_queries.remember_models(session, dataset_id, models | to_remember(choice, parts))


def to_remember(choice: ConstantChoice, parts: tuple[ConstantPart, ...]) -> dict[str, Any]:
    """What a dataset remembers of them; {} where nothing was found and nobody has chosen."""
    return {CONSTANTS: choice.to_json(parts)} if parts or choice != ConstantChoice() else {}


def captions_and_writers(store: Store, dataset_id: int) -> Iterator[tuple[str, str]]:
    """Every caption with its writer, "" if nobody says."""
    after = 0
    while rows := store.read(
        pair_queries.captions_with_column, dataset_id, COLUMNS[0], after, _AT_ONCE
    ):
        yield from ((row.caption, row.value) for row in rows)
        after = rows[-1].id
