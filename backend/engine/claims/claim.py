"""One claim of a caption, as a range of its characters."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

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
        """The claim as a model is asked about it: a tag without underscores, a pronoun replaced by
        what it stands for.

        >>> Claim(0, 9, "tag").question("long_hair, smile")
        'long hair'
        >>> Claim(12, 24, subject="The dog").question("A dog runs. It is brown.")
        'The dog is brown.'
        """
        text = self.of(caption)
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
        if not self.subject:
            return self.start + start, self.start + end
        pronoun = self._pronoun(self.of(caption))
        offset = self.start + pronoun - len(self.subject)
        first = self.start if start < len(self.subject) else start + offset
        return first, max(self.start + pronoun, end + offset)

    def in_question(self, caption: str, start: int, end: int) -> tuple[int, int] | None:
        """The characters of the question that stand for these characters of the caption; None if
        they are not the claim's, or its pronoun.

        >>> claim, caption = Claim(12, 24, subject="The dog"), "A dog runs. It is brown."
        >>> claim.in_question(caption, 18, 23), claim.in_question(caption, 12, 14)
        ((11, 16), None)
        """
        pronoun = self._pronoun(self.of(caption)) if self.subject else 0
        if start < self.start + pronoun or end > self.end:
            return None
        offset = len(self.subject) - pronoun - self.start
        return start + offset, end + offset

    def answer(self, caption: str, text: str) -> str | None:
        """A changed question as a text in place of the claim: with its pronoun again, a tag with
        its underscores; None if the subject has changed, which is what another claim says, or if
        a tag's brackets would be lost.

        >>> claim, caption = Claim(12, 24, subject="The dog"), "A dog runs. It is brown."
        >>> claim.answer(caption, "The dog is black."), claim.answer(caption, "The cat is brown.")
        ('It is black.', None)
        """
        original = self.of(caption)
        if self.kind == "tag" and "\\" in original:
            return None
        if self.kind == "tag" and "_" in original:
            return text.replace(" ", "_")
        pronoun = original[: self._pronoun(original)]
        if not self.subject or re.match(rf"{re.escape(pronoun)}\b", text):
            return text
        if not re.match(rf"{re.escape(self.subject)}\b", text):
            return None
        return pronoun + text[len(self.subject) :]

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
