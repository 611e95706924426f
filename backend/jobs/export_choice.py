"""What an export keeps, and what it does with one pair."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Annotated, Literal

from pydantic import Field, field_validator

from backend import plugins
from backend.options import NOT_TYPED, Options, switch, typed_names


@dataclass(frozen=True)
class Selection:
    """Some pairs of a dataset, and a description of them in words."""

    pair_ids: frozenset[int]
    words: str


#: Options that an export has beside those of its choice and of steps.
OF_EXPORT = ("out", "format", "queue", "view", "choice", "overwrite")
#: What its command has besides.
OF_COMMAND = (
    "dataset", "db", "as_json", "split", "together", "ids", "seed", "push_to_hub", "public", "yes",
    "dry_run",
)  # fmt: skip
#: What is together in a new split always: pairs of one picture.
PICTURE = "picture"


class NewSplits(Options):
    """Splits that an export makes, in place of the source's."""

    shares: Annotated[str, NOT_TYPED]
    """Shares of training, validation and test, or of training and test: '80/10/10', '90/10'."""
    seed: Annotated[int, NOT_TYPED] = Field(0, ge=0)
    """Of the draw."""
    together: Annotated[tuple[str, ...], NOT_TYPED] = (PICTURE,)
    """What is in one split: 'picture', always; pairs with the same value in a column of the source,
    by its name; what a feature knows, by its name."""

    @field_validator("shares")
    @classmethod
    def _are_shares(cls, value: str) -> str:
        if not is_shares(value) or not all(map(int, value.split("/"))):
            raise ValueError(
                f"'{value[:40]}' are no shares: name two or three whole numbers, such as 80/10/10 "
                "for training, validation and test."
            )
        return value

    @property
    def parts(self) -> tuple[int, ...]:
        return tuple(map(int, self.shares.split("/")))

    @property
    def names(self) -> tuple[str, ...]:
        return ("train", "test") if len(self.parts) == 2 else ("train", "validation", "test")

    def in_words(self) -> str:
        together = ", ".join(dict.fromkeys((PICTURE, *self.together)))
        return (
            f"made anew, {self.shares} ({', '.join(self.names)}), seed {self.seed}; in one split: "
            f"{together}"
        )


def is_shares(text: str) -> bool:
    """Whether a text is meant as shares of splits, not as the name of one.

    >>> is_shares("80/10/10"), is_shares("train"), is_shares("2014")
    (True, False, False)
    """
    return re.fullmatch(r"\d{1,9}(/\d{1,9}){1,2}", text) is not None


class _OwnChoice(Options):
    drop_above: float | None = Field(None, ge=0, le=1)
    """Leave out undecided pairs whose chance of error is above this. Captions in a language that
    the model does not read stay."""
    abstract: Literal["leave out", "tag", "keep"] = "leave out"
    """Vague pairs: 'leave out', 'tag' or 'keep'."""
    dropped: Literal["leave out", "tag"] = "leave out"
    """Removed pairs: 'leave out' or 'tag'."""
    wrong: Literal["tag", "leave out"] = "tag"
    """Pairs called wrong, without a correction: 'tag' or 'leave out'."""
    unsure: Literal["keep", "leave out"] = "keep"
    """Pairs that somebody is not sure of: 'keep' or 'leave out'."""
    specificity_below: float | None = Field(None, le=0)
    """Captions with a specificity below this are generic (see score --specificity)."""
    generic: Literal["tag", "leave out"] = "tag"
    """With --specificity-below: 'tag' or 'leave out'."""
    wrong_claims: Literal["keep", "leave out"] = "keep"
    """Claims decided wrong, in captions of several: 'keep' or 'leave out', which writes the caption
    without them."""
    drop_claims_above: float | None = Field(None, ge=0, le=1)
    """Leave out claims of undecided captions of several whose chance of error is above
    this."""
    decided_only: Annotated[bool, switch("decided-only")] = False
    """Only pairs with a verdict."""
    name_people: Annotated[bool, switch("name-people")] = False
    """Name the curators in the card, in columns and in what describes the export; ask them first.
    Default: they are numbered, and people who wrote captions are counted."""
    only: Annotated[Selection | None, NOT_TYPED] = None
    """Only these pairs; the others are neither written nor counted."""
    captions: Literal["decided", "enriched"] = "decided"
    """'decided': as curators left them, accepted enrichments included; 'enriched': also suggested
    enrichments, unchecked, where no verdict says otherwise. The column caption_kind says which is
    which."""
    keep_pictures_together: Annotated[bool, switch("keep-pictures-together")] = False
    """Move all pairs of a picture to one split, where it is in several: test, else validation, else
    another, so that no model is tested on a picture that it has seen."""
    new_splits: Annotated[NewSplits | None, NOT_TYPED] = None
    """Splits that are made, in place of the source's. None: those of the source."""
    copy_images: Annotated[bool, switch("copy-images")] = False
    """In formats with image paths: copy the images too, so that the folder can be moved. Exports
    that are jobs (page, API) always do."""
    unconfirmed: Annotated[bool, switch("unconfirmed")] = False
    """In formats that compare captions: also corrections that no person has confirmed, suggested or
    accepted by a rule."""


def names_taken(choice: type[Options]) -> set[str]:
    """What no step's option is called, if this is the choice of an export."""
    own = {*OF_EXPORT, *OF_COMMAND, *choice.model_fields, *typed_names(choice)}
    return own | plugins.own_options("command_variants")


def added_choices() -> Iterator[type[Options]]:
    """What features and other packages add. (Steps are imported later, so they may import this.)"""
    taken = names_taken(_OwnChoice) | plugins.own_options("export_steps")

    def join(choice: type) -> None:
        if not issubclass(choice, Options) or not choice.model_fields:
            raise TypeError(f"{choice.__name__} is no model of options.")
        own = {*choice.model_fields, *typed_names(choice)}
        if clash := sorted(taken & own):
            raise ValueError(f"There is an option '{clash[0]}' already.")
        taken.update(own)

    yield from plugins.load("export_choices", type, join)


ADDED = tuple(added_choices())


class ExportChoice(*ADDED, _OwnChoice):  # pyrefly: ignore[invalid-inheritance]
    """What an export keeps. Every field is one choice of the curator; a verdict overrides all that
    is about undecided pairs."""


@dataclass(frozen=True)
class ExportDecision:
    """The decision on one pair. `left_out_because` is empty for a pair that stays."""

    caption: str
    #: Origin of the caption: human, corrected, edited (in bulk), shortened (by claims that are
    #: wrong, or look so), new (there was none), or the kind of an enrichment.
    kind: str = "human"
    tags: tuple[str, ...] = ()
    left_out_because: str = ""
    #: Of an enrichment that nobody has accepted.
    proposer: str = field(default="", repr=False)
    #: No threshold applies: the model does not read the language of the caption, nobody has.
    is_unread: bool = field(default=False, repr=False)
