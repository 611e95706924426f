"""One claim of a caption, as a range of its characters."""

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from backend.engine.claims.marks import with_marks_again, without_marks

#: A caption that is one claim; a sentence; a part of a sentence that is too long for the model; a
#: sentence that only opens a list ("The image shows:"); a tag.
Kind = Literal["whole", "sentence", "clause", "opening", "tag"]

#: What tags write in place of a space, and before a bracket; both are one character, so that the
#: positions of words stay.
_OF_TAGS = str.maketrans({"_": " ", "\\": " "})


@dataclass(frozen=True)
class Claim:
    """The characters `start` to `end` of a caption.

    `repeats`: the same words stood in an earlier claim of the caption, so that this one says
    nothing new: captioners that loop repeat sentences. `subject`: what its first word, a pronoun,
    stands for, such as "The dog"; "" for any other claim (`pronouns.py`).
    """

    start: int
    end: int
    kind: Kind = "sentence"
    repeats: bool = False
    subject: str = ""

    def of(self, caption: str) -> str:
        """The claim's own characters.

        >>> Claim(7, 18).of("A dog. A red ball.")
        'A red ball.'
        """
        return caption[self.start : self.end]

    def replaced_in(self, caption: str, text: str) -> str:
        """The caption with this text in place of the claim, everything else byte for byte.

        >>> Claim(7, 18).replaced_in("A dog. A red ball. 🐕", "A blue ball.")
        'A dog. A blue ball. 🐕'
        """
        return caption[: self.start] + text + caption[self.end :]

    def question(self, caption: str) -> str:
        """The claim as a model is asked about it: without formatting marks, a tag without
        underscores, a pronoun replaced by what it stands for. A whole caption is asked about as it
        stands.

        >>> Claim(0, 9, "tag").question("long_hair, smile")
        'long hair'
        >>> Claim(12, 24, subject="The dog").question("A dog runs. It is brown.")
        'The dog is brown.'
        >>> Claim(0, 13).question("**A red** car")
        'A red car'
        """
        text, _ = self._without_marks(caption)
        if self.subject:
            return self.subject + text[self._pronoun(text) :]
        return text.translate(_OF_TAGS) if self.kind == "tag" else text

    def in_caption(self, caption: str, start: int, end: int) -> tuple[int, int]:
        """The characters of the caption that the characters `start` to `end` of the question stand
        for; those of its subject are its pronoun.

        >>> claim, caption = Claim(12, 24, subject="The dog"), "A dog runs. It is brown."
        >>> claim.in_caption(caption, 4, 7), claim.in_caption(caption, 11, 16)
        ((12, 14), (18, 23))
        """
        text, places = self._without_marks(caption)
        if self.subject:
            pronoun = self._pronoun(text)
            offset = pronoun - len(self.subject)
            start = 0 if start < len(self.subject) else start + offset
            end = max(pronoun, end + offset)
        return places[start], places[end - 1] + 1 if end > start else places[end]

    def in_question(self, caption: str, start: int, end: int) -> tuple[int, int] | None:
        """The characters of the question that stand for these characters of the caption; None if
        they are not the claim's, or its pronoun.

        >>> claim, caption = Claim(12, 24, subject="The dog"), "A dog runs. It is brown."
        >>> claim.in_question(caption, 18, 23), claim.in_question(caption, 12, 14)
        ((11, 16), None)
        """
        text, places = self._without_marks(caption)
        pronoun = self._pronoun(text) if self.subject else 0
        if start < self.start or start < places[pronoun] or end > self.end:
            return None
        offset = len(self.subject) - pronoun
        return bisect_left(places, start) + offset, bisect_left(places, end) + offset

    def answer(self, caption: str, text: str) -> str | None:
        """A changed question as a text in place of the claim: with its pronoun and its formatting
        marks again, a tag with its underscores; None if the subject has changed, which is what
        another claim says, or if a tag's brackets or a mark would be lost.

        >>> claim, caption = Claim(12, 24, subject="The dog"), "A dog runs. It is brown."
        >>> claim.answer(caption, "The dog is black."), claim.answer(caption, "The cat is brown.")
        ('It is black.', None)
        """
        original, _ = self._without_marks(caption)
        pronoun = original[: self._pronoun(original)]
        if self.kind == "tag" and "\\" in original:
            return None
        if self.kind == "tag" and "_" in original:
            text = text.replace(" ", "_")
        elif self.subject and not re.match(rf"{re.escape(pronoun)}\b", text):
            if not re.match(rf"{re.escape(self.subject)}\b", text):
                return None
            text = pronoun + text[len(self.subject) :]
        if len(original) == self.end - self.start:
            return text
        return with_marks_again(caption, self.start, self.end, text)

    def _without_marks(self, caption: str) -> tuple[str, Sequence[int]]:
        """The claim's characters without formatting marks, and where each of them stands."""
        if self.kind == "whole":
            return self.of(caption), range(self.start, self.end + 1)
        return without_marks(caption, self.start, self.end)

    @staticmethod
    def _pronoun(text: str) -> int:
        """Where the first word ends."""
        word = re.match(r"\w+", text)
        return word.end() if word else 0


def without_repetitions(claims: Iterable[Claim]) -> list[Claim]:
    """The claims that are scored."""
    return [claim for claim in claims if not claim.repeats]


def whole(caption: str) -> tuple[Claim, ...]:
    """The caption as its only claim."""
    return (Claim(0, len(caption), "whole"),)
