"""One claim of a caption, as a range of its characters."""

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
    nothing new: captioners that loop repeat sentences.
    """

    start: int
    end: int
    kind: Kind = "sentence"
    repeats: bool = False

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
        """The claim as a model is asked about it: the same number of characters, so that words are
        where they are in the caption.

        >>> Claim(0, 9, "tag").question("long_hair, smile")
        'long hair'
        """
        text = self.of(caption)
        return text.translate(_OF_TAGS) if self.kind == "tag" else text


def without_repetitions(claims: Iterable[Claim]) -> list[Claim]:
    """The claims that are scored."""
    return [claim for claim in claims if not claim.repeats]


def whole(caption: str) -> tuple[Claim, ...]:
    """The caption as its only claim."""
    return (Claim(0, len(caption), "whole"),)
