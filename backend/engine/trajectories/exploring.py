"""Which explorer with which parameters, and how explorers and driver talk.

An explorer is a generator: it yields a question, is sent the answer, and returns a `SearchResult`.
It never sees a model, so the driver may answer many explorers at once. `explorers.py` names them
all: a new one is a module that ends with its `ExplorerKind`s, and a line there.
"""

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal, get_args

import numpy as np

from backend.engine.captions import Caption
from backend.engine.scoring.protocol import BoolArray, FloatArray, TokenReader, Tokens
from backend.errors import SettingsError

Unit = Literal["word", "token"]
Direction = Literal["maximise", "minimise"]
#: The auxiliary score among the stored parameters of a run.
_AUXILIARY = "second_opinion"


@dataclass(frozen=True)
class Exploring:
    """Everything that a trajectory depends on besides scorer, image and caption.

    Defaults are the paper's (TRACED A.4), but for `whole_words`: replacements that are words by
    themselves, so that a person can read the steps, and `auxiliary`. `minimise` is the
    ablation of §5.3. With `elimination` only `unit` and `direction` count; the other two always
    edit tokens.
    """

    name: str = "elimination"  #: of one of `explorers.EXPLORERS`
    unit: Unit = "word"
    direction: Direction = "maximise"
    steps: int = 10  #: T of GCD and Fast GCD; Elimination goes down to the empty caption
    top: int = 128  #: K, replacements a position
    candidates: int = 256  #: N of GCD; Fast GCD tries all K
    whole_words: bool = True
    seed: int = 0
    auxiliary: bool = (
        True  #: keep the auxiliary score, where there is one; it never chooses an edit
    )

    def __post_init__(self) -> None:
        from backend.engine.trajectories.explorers import EXPLORERS  # made of this module

        choices = (
            (self.name, tuple(EXPLORERS)),
            (self.unit, get_args(Unit)),
            (self.direction, get_args(Direction)),
        )
        for value, known in choices:
            if value not in known:
                raise SettingsError(f"'{value}' is not one of: {', '.join(known)}.")
        for name in ("steps", "top", "candidates"):
            if getattr(self, name) < 1:
                raise SettingsError(f"{name} must be at least 1.")

    def parameters(self) -> dict[str, object]:
        """What a run records besides the name; the direction only where it is unusual."""
        common: dict[str, object] = {}
        if self.direction != "maximise":
            common["direction"] = self.direction
        if self.auxiliary:
            common[_AUXILIARY] = True
        return common | {name: getattr(self, name) for name in self.kind.parameters}

    @property
    def kind(self) -> "ExplorerKind":
        from backend.engine.trajectories.explorers import EXPLORERS

        return EXPLORERS[self.name]

    @property
    def deletes_words(self) -> bool:
        """Each step is the caption without some of its words: which ones says all."""
        return self.unit == "word" and not self.kind.replaces_tokens

    @classmethod
    def recorded(cls, name: str, parameters: Mapping[str, object]) -> "Exploring":
        """How a run explored, from its name and what `parameters` gave for it. Runs from before
        there was an auxiliary score have none, and what is compared with them must have none."""
        known = {field.name for field in fields(cls)} - {"name", "auxiliary"}
        values: dict[str, Any] = {k: v for k, v in parameters.items() if k in known}
        return cls(name, auxiliary=bool(parameters.get(_AUXILIARY, False)), **values)

    def best(self, texts: Sequence[Tokens], scores: FloatArray) -> int:
        """The candidate that the direction prefers; ties go to the first.

        Equal texts count as one, by their first: a session that scores them twice may round them
        differently, and which of two equal words goes must not hang on that.
        """
        first: dict[Tokens, int] = {}
        for number, text in enumerate(texts):
            first.setdefault(text, number)
        places = np.array(list(first.values()))
        chosen = scores[places] if self.direction == "maximise" else -scores[places]
        return int(places[np.argmax(chosen)])


@dataclass(frozen=True)
class AskScores:
    """s of each text, shape [len(texts)]."""

    texts: Sequence[Tokens]


@dataclass(frozen=True)
class AskGains:
    """`Session.replacement_gains` of one text, shape [len(text), vocabulary]."""

    text: Tokens


@dataclass(frozen=True)
class SearchResult:
    """What an explorer found, before similarities are added.

    `texts`: x_0 … x_T as the model read them; `captions`: x_1 … x_T as a person reads them;
    `scores`: s_0 … s_T; `changed`: the word edited at each step;
    `first`: for each word the model reads, the best score that an edit of it alone gave.
    """

    texts: list[Tokens]
    captions: list[str]
    scores: list[float]
    changed: list[int]
    first: FloatArray


Explorer = Generator[AskScores | AskGains, FloatArray, SearchResult]


@dataclass(frozen=True)
class ExplorerKind:
    """An explorer as the driver starts it and a run records it."""

    #: (caption, words that the model reads, reader, tokens that may replace another, how).
    start: Callable[[Caption, int, TokenReader, BoolArray, Exploring], Explorer]
    #: The fields of `Exploring` that it heeds besides `direction` and `auxiliary`.
    parameters: tuple[str, ...]
    #: Its candidates exchange tokens, along the gradient; otherwise they leave some out.
    replaces_tokens: bool
