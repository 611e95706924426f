"""A caption and its words, as spans of the user's own text.

All code that highlights, deletes or replaces words uses these spans, so that the displayed and
exported text is the user's, byte for byte, and never re-joined from a list of tokens.

A *word* is a run of characters between white space, shown without the punctuation around it. Han
and kana are written without spaces: there, words are those of a word list
(`languages/segmentation.py`). (Hangul uses spaces; Thai does not, and is not split.)

A word *owns* its chunk: itself, the punctuation attached to it and the white space up to the next
word. Deleting a word deletes its chunk:

>>> caption = Caption.parse("A dog, running.")
>>> caption.words
('A', 'dog', 'running')
>>> caption.without([1])
'A running.'
>>> caption.replace({1: "cat"})
'A cat, running.'
"""

import difflib
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from backend.engine.languages.segmentation import script_language, words_of_run

# Han (with extensions), Hiragana, Katakana.
_UNSPACED = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"
#: A run of these with what is attached to it, or a word between spaces.
_CHUNK = re.compile(rf"([{_UNSPACED}]+)[^\s\w]*|[^\s{_UNSPACED}]+")
_CORE = re.compile(r"\w(?:.*\w)?", re.DOTALL)


@dataclass(frozen=True)
class Caption:
    """A caption's text and the positions of its words.

    `spans[i]` is the half-open character range of word i (what is highlighted); `starts[i]` is
    where its chunk begins (what is deleted), reaching to `starts[i + 1]` or the end of the text.
    """

    text: str
    spans: tuple[tuple[int, int], ...]
    starts: tuple[int, ...]

    @classmethod
    def parse(cls, text: str) -> "Caption":
        """Find the words of `text`. Text without any letter or digit has no words."""
        spans: list[tuple[int, int]] = []
        starts: list[int] = []
        for chunk in _CHUNK.finditer(text):
            if run := chunk[1]:
                start = chunk.start()
                for word in words_of_run(run, script_language(text)):
                    spans.append((start, start + len(word)))
                    starts.append(start if starts else 0)
                    start += len(word)
                continue
            core = _CORE.search(chunk.group())
            if core is None:
                continue  # a lone dash or emoji belongs to the word before it
            spans.append((chunk.start() + core.start(), chunk.start() + core.end()))
            starts.append(chunk.start() if starts else 0)
        return cls(text, tuple(spans), tuple(starts))

    def __len__(self) -> int:
        return len(self.spans)

    @cached_property
    def words(self) -> tuple[str, ...]:
        return tuple(self.text[start:end] for start, end in self.spans)

    @cached_property
    def chunks(self) -> tuple[str, ...]:
        ends = (*self.starts, len(self.text))[1:]
        return tuple(self.text[a:b] for a, b in zip(self.starts, ends, strict=True))

    def is_joined(self, i: int) -> bool:
        """Whether only white space separates words i and i + 1."""
        return not self.text[self.spans[i][1] : self.spans[i + 1][0]].strip()

    def without(self, words: Collection[int]) -> str:
        """The text without the chunks of the words at `words`, stripped of outer white space.

        If all words are removed, the result is the empty string.
        """
        removed_words = set(words)
        return "".join(c for i, c in enumerate(self.chunks) if i not in removed_words).strip()

    def replace(self, replacements: Mapping[int, str]) -> str:
        """The text with each word i replaced by `replacements[i]`, everything else unchanged.

        An empty replacement deletes the word's chunk.
        """
        pieces: list[str] = []
        for i, chunk in enumerate(self.chunks):
            if i not in replacements:
                pieces.append(chunk)
            elif replacements[i]:
                start, end = self.spans[i]
                offset = self.starts[i]
                pieces.append(chunk[: start - offset] + replacements[i] + chunk[end - offset :])
        return "".join(pieces).strip()


class Run(NamedTuple):
    """A run of words that both captions share, or that one has in place of the other's."""

    kept: bool
    old: range  #: word indices in the old caption; empty for an insertion
    new: range  #: word indices in the new caption; empty for a deletion


def align(old: Sequence[str], new: Sequence[str]) -> list[Run]:
    """Both captions from left to right, as kept and changed runs.

    >>> [run.kept for run in align("a red dog".split(), "a brown dog".split())]
    [True, False, True]
    """
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    return [
        Run(tag == "equal", range(i0, i1), range(j0, j1))
        for tag, i0, i1, j0, j1 in matcher.get_opcodes()
    ]


def changes(old: Sequence[str], new: Sequence[str]) -> list[Run]:
    """The runs of words that were deleted, inserted or replaced."""
    return [run for run in align(old, new) if not run.kept]


def kept_words(old: Sequence[str], new: Sequence[str]) -> frozenset[int]:
    """Indices of the words of `old` that are kept in `new`."""
    return frozenset(i for run in align(old, new) if run.kept for i in run.old)


def replaced_spans(caption: str, correction: str) -> set[tuple[int, int]]:
    """The characters of the words that a correction replaces or leaves out; none without one, and
    none if it is another caption.

    >>> replaced_spans("A red dog runs", "A brown dog runs")
    {(2, 5)}
    """
    original, same = Caption.parse(caption), frozenset[int]()
    if correction:
        same = kept_words(original.words, Caption.parse(correction).words)
    if 2 * len(same) < len(original):
        return set()
    return {span for word, span in enumerate(original.spans) if word not in same}


def lower_words(text: str) -> list[str]:
    """The words of a caption in lower case."""
    return [word.lower() for word in Caption.parse(text).words]
