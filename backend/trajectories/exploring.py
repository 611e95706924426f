"""Which explorer with which parameters, and how explorers and driver talk.

An explorer is a generator: it yields a question, is sent the answer, and returns its `Trail`.
It never sees a model, so the driver may answer many explorers at once.
"""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal, get_args

import numpy as np

from backend.errors import SettingsError
from backend.scoring.protocol import FloatArray, Tokens

ExplorerName = Literal["elimination", "gcd", "fast-gcd"]
Unit = Literal["word", "token"]
Direction = Literal["maximise", "minimise"]


@dataclass(frozen=True)
class Exploring:
    """Everything that a trajectory depends on besides scorer, image and caption.

    Defaults are the paper's (TRACED A.4), but for `whole_words`: replacements that are words by
    themselves, so that a person can read the steps, and `second_opinion`. `minimise` is the
    ablation of §5.3. With `elimination` only `unit` and `direction` count; the other two always
    edit tokens.
    """

    name: ExplorerName = "elimination"
    unit: Unit = "word"
    direction: Direction = "maximise"
    steps: int = 10  #: T of GCD and Fast GCD; Elimination goes down to the empty caption
    top: int = 128  #: K, replacements a position
    candidates: int = 256  #: N of GCD; Fast GCD tries all K
    whole_words: bool = True
    seed: int = 0
    second_opinion: bool = True  #: keep it, where the scorer has one; it never chooses an edit

    def __post_init__(self) -> None:
        kinds = ((self.name, ExplorerName), (self.unit, Unit), (self.direction, Direction))
        for value, kind in kinds:
            if value not in get_args(kind):
                raise SettingsError(f"'{value}' is none of: {', '.join(get_args(kind))}.")
        for name in ("steps", "top", "candidates"):
            if getattr(self, name) < 1:
                raise SettingsError(f"{name} must be 1 at least.")

    def parameters(self) -> dict[str, object]:
        """What a run records besides the name; the direction only where it is unusual."""
        common: dict[str, object] = {}
        if self.direction != "maximise":
            common["direction"] = self.direction
        if self.second_opinion:
            common["second_opinion"] = True
        if self.name == "elimination":
            return {"unit": self.unit, **common}
        found = {
            **common,
            "steps": self.steps,
            "top": self.top,
            "whole_words": self.whole_words,
        }
        if self.name == "gcd":
            found |= {"candidates": self.candidates, "seed": self.seed}
        return found

    @classmethod
    def recorded(cls, name: str, parameters: Mapping[str, object]) -> "Exploring":
        """How a run explored, from its name and what `parameters` gave for it. Runs from before
        there was a second opinion have none, and what is compared with them must have none."""
        known = {field.name for field in fields(cls)} - {"name"}
        values: dict[str, Any] = {k: v for k, v in parameters.items() if k in known}
        values.setdefault("second_opinion", False)
        return cls(name, **values)  # type: ignore[arg-type]  # checked above

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
class Trail:
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


Explorer = Generator[AskScores | AskGains, FloatArray, Trail]
