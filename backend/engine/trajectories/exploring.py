"""Which explorer with which parameters, and the protocol between explorers and driver.

An explorer is a generator: it yields a request, is sent the response, and returns a `SearchResult`.
It never accesses a model, so the driver can batch the requests of many explorers. To add one, write
its generator, name it in `explorers.py`, and describe it in `KINDS`. The model reads tokens, a
curator reads the caption: an edit of a token replaces only the characters that the token covers.
"""

import re
from bisect import bisect_right
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import accumulate
from typing import Any, Literal, get_args

import numpy as np

from backend.engine.captions import Caption
from backend.engine.scoring.protocol import FloatArray, TokenReader, Tokens
from backend.errors import SettingsError

_SPACES = re.compile(r"\s+")


class EditedText:
    """x_t as readable text.

    * `tokens`: x_0's own tokens;
    * `word_of`: for each token, the index of the caption's word it belongs to.
    """

    def __init__(self, caption: Caption, reader: TokenReader) -> None:
        (self.tokens,) = reader.tokenise([caption.text])
        spans = reader.spans(caption.text)
        #: Number of editable tokens: 0 in a caption without words.
        self.editable = len(self.tokens) if len(caption) else 0
        #: Punctuation belongs to the word whose chunk it is in, as in `Caption`.
        self.word_of = [bisect_right(caption.starts, start) - 1 for start, _ in spans]
        # Several tokens may share a character, such as the bytes of an emoji: the first has it.
        ends = list(accumulate((end for _, end in spans), max))
        spans = [
            (max(start, last), max(end, last))
            for last, (start, end) in zip([0, *ends], spans, strict=False)
        ]
        words_read = reader.words_read(caption.text)
        limit = caption.starts[words_read] if 0 < words_read < len(caption) else len(caption.text)
        #: Each token's own characters, the text before each, and the text after the last.
        self._pieces = [caption.text[start:end] for start, end in spans]
        self._before = [
            caption.text[last:start] for last, (start, _) in zip([0, *ends], spans, strict=False)
        ]
        self._tail = caption.text[ends[-1] if ends else 0 : limit]
        self._deleted: set[int] = set()

    def edit(self, token: int, piece: str) -> None:
        """Replace a token's characters; an empty piece deletes them."""
        self._pieces[token] = piece
        (self._deleted.discard if piece else self._deleted.add)(token)

    def __str__(self) -> str:
        text = "".join(
            _SPACES.sub(" ", before)[:1] if token in self._deleted else before + piece
            for token, (before, piece) in enumerate(zip(self._before, self._pieces, strict=True))
        )
        return _SPACES.sub(" ", text + self._tail).strip()

    def by_word(
        self, scores: FloatArray, words: int, start: float, direction: str = "maximise"
    ) -> FloatArray:
        """The best of the tokens' scores for each word, shape [words]; `start` for words without
        a token."""
        return best_by_word(scores, self.word_of, words, start, direction)


def best_by_word(
    scores: FloatArray, word_of: Sequence[int], words: int, start: float, direction: str
) -> FloatArray:
    """The best score of the edits of each word, shape [words]; `start` for words never edited."""
    best: list[float] = [np.nan] * words
    choose = max if direction == "maximise" else min
    for score, word in zip(scores.tolist(), word_of, strict=True):
        if 0 <= word < words:
            best[word] = score if np.isnan(best[word]) else choose(score, best[word])
    return np.array([start if np.isnan(score) else score for score in best], np.float32)


Unit = Literal["word", "token"]
Direction = Literal["maximise", "minimise"]
#: Key of `auxiliary` in the stored parameters of a run; kept unchanged, since runs are looked up by
#: them.
_AUXILIARY = "second_opinion"


@dataclass(frozen=True)
class ExplorerKind:
    """Which of its parameters a run records, and how the driver prepares it."""

    #: The fields of `Exploring` that it uses besides `direction` and `auxiliary`.
    parameters: tuple[str, ...]
    #: Whether its candidates replace tokens, along the gradient, rather than delete them.
    replaces_tokens: bool


_FAST_GCD = ExplorerKind(("steps", "top", "whole_words"), replaces_tokens=True)
#: The explorers, by their names for users.
KINDS = {
    "elimination": ExplorerKind(("unit",), replaces_tokens=False),
    "gcd": ExplorerKind((*_FAST_GCD.parameters, "candidates", "seed"), replaces_tokens=True),
    "fast-gcd": _FAST_GCD,
}


@dataclass(frozen=True)
class Exploring:
    """Everything that a trajectory depends on besides scorer, image and caption.

    Defaults are the paper's (TRACED A.4), except `auxiliary` and `whole_words`, which restricts
    replacements to complete words so that the steps are readable. `minimise` is the ablation of
    §5.3. `elimination` uses only `unit` and `direction`; the other two always edit tokens. Raises
    SettingsError for invalid values.
    """

    name: str = "elimination"  #: a key of `KINDS`
    unit: Unit = "word"
    direction: Direction = "maximise"
    steps: int = 10  #: T of GCD and Fast GCD; Elimination goes down to the empty caption
    top: int = 128  #: K, replacements per position
    candidates: int = 256  #: N of GCD; Fast GCD tries all K
    whole_words: bool = True
    seed: int = 0
    auxiliary: bool = (
        True  #: record the auxiliary score if there is one; it never affects which edit is chosen
    )
    whole: bool = True  #: False: only the first step; does not distinguish runs
    lazy: int | None = None  #: words that Elimination queries again per step; None: all (exact)

    def __post_init__(self) -> None:
        choices = (
            (self.name, tuple(KINDS)),
            (self.unit, get_args(Unit)),
            (self.direction, get_args(Direction)),
        )
        for value, valid_values in choices:
            if value not in valid_values:
                raise SettingsError(f"'{value}' is not one of: {', '.join(valid_values)}.")
        for name in ("steps", "top", "candidates"):
            if getattr(self, name) < 1:
                raise SettingsError(f"{name} must be at least 1.")
        if self.lazy is not None and (self.lazy < 1 or self.kind.replaces_tokens):
            raise SettingsError("lazy is for elimination, and must be at least 1.")

    def parameters(self) -> dict[str, object]:
        """Parameters recorded with a run; direction and `lazy` only if not the default."""
        common: dict[str, object] = {}
        if self.direction != "maximise":
            common["direction"] = self.direction
        if self.auxiliary:
            common[_AUXILIARY] = True
        if self.lazy is not None:
            common["lazy"] = self.lazy
        return common | {name: getattr(self, name) for name in self.kind.parameters}

    @property
    def kind(self) -> ExplorerKind:
        return KINDS[self.name]

    @property
    def deletes_words(self) -> bool:
        """Whether every x_t is determined by the words deleted so far."""
        return self.unit == "word" and not self.kind.replaces_tokens

    @classmethod
    def from_run(cls, name: str, parameters: Mapping[str, object]) -> "Exploring":
        """The settings of a stored run, from its explorer's name and its `parameters`.

        Runs older than the auxiliary score have none, and runs compared with them must not
        have one."""
        names = {field.name for field in fields(cls)} - {"name", "auxiliary", "whole"}
        values: dict[str, Any] = {k: v for k, v in parameters.items() if k in names}
        return cls(name, auxiliary=bool(parameters.get(_AUXILIARY, False)), **values)

    def best(self, texts: Sequence[Tokens], scores: FloatArray) -> int:
        """Index of the best candidate in the given direction; ties go to the first.

        Equal texts are represented by their first: a session may round their scores differently,
        and that must not decide which of two equal words is deleted.
        """
        if len(set(texts)) == len(texts):
            return int(np.argmax(scores if self.direction == "maximise" else -scores))
        first: dict[Tokens, int] = {}
        for number, text in enumerate(texts):
            first.setdefault(text, number)
        places = np.array(list(first.values()))
        signed_scores = scores[places] if self.direction == "maximise" else -scores[places]
        return int(places[np.argmax(signed_scores)])


@dataclass(frozen=True)
class AskScores:
    """Request for s of each text, shape [len(texts)]."""

    texts: Sequence[Tokens]


@dataclass(frozen=True)
class AskGains:
    """Request for `Session.replacement_gains` of one text, shape [len(text), vocabulary]."""

    text: Tokens


@dataclass(frozen=True)
class SearchResult:
    """The result of an explorer, before similarities are added.

    `texts`: x_0 … x_T as tokens; `captions`: x_1 … x_T as readable text, empty if they follow from
    the words deleted (`Exploring.deletes_words`); `scores`: s_0 … s_T;
    `changed`: the index of the word edited at each step; `first`: for each word that the model
    reads, the best score of an edit of that word alone; `whole`: False if the explorer stopped
    after the first step (`Exploring.whole`) although there are more.
    """

    texts: list[Tokens]
    captions: list[str]
    scores: list[float]
    changed: list[int]
    first: FloatArray
    whole: bool = True


Explorer = Generator[AskScores | AskGains, FloatArray, SearchResult]
