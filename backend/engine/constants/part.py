"""A constant part of captions, and where it stands in one."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property, lru_cache
from typing import Any, Literal, get_args

from backend.engine.constants.endings import blank_out_endings

#: Han and kana have no blanks between words: each character is looked at alone.
_UNSPACED = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
#: Stands for any number: a picture's, or one of a date.
NUMBER = "#"
WORD = re.compile(rf"[{_UNSPACED}]|(?:(?![{_UNSPACED}])[^\W_])+(?:['’](?![{_UNSPACED}])[^\W_]+)*")
_NUMBERS = r"\d+"
_STATED = re.compile(rf"(?<!\w){NUMBER}(?!\w)|{WORD.pattern}")
#: Where a part stands: at the beginning of captions, at their end, or at any place.
Place = Literal["begin", "end", "anywhere"]
PLACES: tuple[Place, ...] = get_args(Place)
#: What separates a part from the rest and goes with it; a full stop belongs to the sentence before.
_SEPARATORS_BEFORE = re.compile(r"[\s,;:|，、；：–—\[(<#-]*\Z")
_SEPARATORS_AFTER = re.compile(r"[\s,;:|.!?，、；：。–—\])>-]*")


@dataclass(frozen=True)
class ConstantPart:
    """`words`: in lower case, `NUMBER` for numbers that may differ. `captions`: how many of `of`
    captions have the part; `of`: all of the dataset or, with a `writer`, those by this one.
    `is_left_out`: whether models do not read it; `is_stated`: whether a person says so."""

    words: tuple[str, ...]
    place: Place
    captions: int = 0
    of: int = 0
    is_left_out: bool = True
    is_stated: bool = False
    writer: str = ""

    @classmethod
    def from_stored(cls, values: Any) -> "ConstantPart":
        """Of what `to_json` returned."""
        fields = {name: value for name, value in values.items() if name != "suspected"}  # once so
        return cls(words=tuple(fields.pop("words")), **fields)

    def to_json(self) -> dict[str, Any]:
        """As JSON can hold it."""
        return {**asdict(self), "words": list(self.words)}

    @property
    def text(self) -> str:
        """For people to read.

        >>> ConstantPart(("the", "image", "shows"), "begin").text
        'the image shows'
        """
        return joined(self.words)

    @property
    def count(self) -> str:
        """
        >>> ConstantPart(("ohwx",), "begin", 118, 120).count
        'in 118 of 120 captions'
        >>> ConstantPart(("photo", "#"), "begin", 118, 120).count
        'in 118 of 120 captions, # being any number'
        """
        writer = f" by {self.writer}" if self.writer else ""
        numbers = f", {NUMBER} being any number" if NUMBER in self.words else ""
        return f"in {self.captions:,} of {self.of:,} captions{writer}{numbers}"

    def in_words(self, suspected: int = 0) -> str:
        """`suspected`: captions in which one of its words is most suspect.

        >>> ConstantPart(("ohwx",), "begin", 118, 120).in_words()
        '“ohwx” in 118 of 120 captions: not judged.'
        >>> ConstantPart(("dog",), "anywhere", 118, 120, is_stated=True).in_words()
        '“dog” in 118 of 120 captions: not judged, as stated: errors in what it names are missed.'
        """
        effect = "not judged" if self.is_left_out else "judged"
        if self.is_left_out and self.is_stated:
            effect += ", as stated: errors in what it names are missed"
        if not self.is_left_out and not self.is_stated:
            effect += ", for it may name something visible; state it to leave it out"
        doubt = f", most suspect in {suspected:,}" if suspected else ""
        return f"“{self.text}” {self.count}{doubt}: {effect}."

    @cached_property
    def expression(self) -> re.Pattern[str]:
        """What finds the part in a caption: whole words, whatever stands between them."""
        words = r"[\W_]*".join(
            re.escape(word)
            if _is_unspaced(word)
            else rf"(?<![^\W_{_UNSPACED}]){_NUMBERS if word == NUMBER else re.escape(word)}"
            rf"(?![^\W_{_UNSPACED}])"
            for word in self.words
        )
        before, after = {"begin": (r"\A[\W_]*", ""), "end": ("", r"(?=[\W_]*\Z)")}.get(
            self.place, ("", "")
        )
        return re.compile(f"{before}(?P<part>{words}){after}", re.IGNORECASE)


def joined(words: Sequence[str]) -> str:
    """The words as a text.

    >>> joined(("这", "张", "ohwx", "style"))
    '这张 ohwx style'
    """
    return "".join(
        word if index == 0 or _is_unspaced(word) else f" {word}" for index, word in enumerate(words)
    )


def words_in(text: str) -> tuple[str, ...]:
    """The words of a text in lower case.

    >>> words_in("Ohwx style, 这张 A dog's")
    ('ohwx', 'style', '这', '张', 'a', "dog's")
    """
    return tuple(WORD.findall(text.lower()))


def words_stated(text: str) -> tuple[str, ...]:
    """The words of a part that a person states, with "#" for any number.

    >>> words_stated("Photo #: #nature")
    ('photo', '#', 'nature')
    """
    return tuple(_STATED.findall(text.lower()))


def spans_in(caption: str, parts: Iterable[ConstantPart]) -> list[tuple[int, int, ConstantPart]]:
    """Where the parts stand in a caption, the longer ones first wherever two overlap; in order.

    >>> [span[:2] for span in spans_in("Ohwx, a dog. 8K", [ConstantPart(("8k",), "end")])]
    [(13, 15)]
    """
    matches = [
        (*match.span("part"), part) for part in parts for match in part.expression.finditer(caption)
    ]
    spans: list[tuple[int, int, ConstantPart]] = []
    for start, end, part in sorted(matches, key=lambda each: each[0] - each[1]):
        if all(end <= first or last <= start for first, last, _ in spans):
            spans.append((start, end, part))
    return sorted(spans, key=lambda span: span[:2])


def blank_out(caption: str, parts: Sequence[ConstantPart]) -> str:
    """The caption with line breaks in place of the parts that are left out and of what separates
    them from the rest, and of endings that say nothing about the picture (`endings`): what stands
    on both sides is apart, at its place. The caption itself, if nothing else is left to judge.

    >>> blank_out("Ohwx, a dog.", [ConstantPart(("ohwx",), "begin")])
    '\\n\\n\\n\\n\\n\\na dog.'
    """
    text = blank_out_endings(caption)
    for start, end, _ in spans_in(caption, left_out(tuple(parts))):
        before = _SEPARATORS_BEFORE.search(text, 0, start)
        after = _SEPARATORS_AFTER.match(text, end)
        first, last = before.start() if before else start, after.end() if after else end
        text = text[:first] + "\n" * (last - first) + text[last:]
    return text if any(map(str.isalnum, text)) else caption


@lru_cache(maxsize=64)
def left_out(parts: tuple[ConstantPart, ...]) -> tuple[ConstantPart, ...]:
    """Those that models do not read."""
    return tuple(part for part in parts if part.is_left_out)


def _is_unspaced(word: str) -> bool:
    return re.fullmatch(f"[{_UNSPACED}]", word) is not None
