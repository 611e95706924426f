"""Faults that show only in comparison: one caption on many pictures, a picture with many captions,
several captions in one, lengths and languages unlike the rest, the same words in nearly every
caption."""

import re
from array import array
from collections import Counter
from functools import cached_property

import numpy as np

from backend.datasets.reading.caption_lists import is_sentence
from backend.engine.claims.tags import FEWEST as FEWEST_TAGS
from backend.engine.claims.tags import is_tag_list
from backend.engine.languages.foreign import called, foreign_language
from backend.engine.languages.identification import MIXED, UNKNOWN, language_of

#: What is compared, with what it means.
COMPARED = {
    "same caption": "the same caption on five or more pictures",
    "many captions": "the picture has far more captions than the others; was it meant for all?",
    "length": "far longer or shorter than the others",
    "language": "in another language than the others",
    "several captions": "several captions in one, judged as one, with the same characters between "
    "them as in most others; import them again and state the separator",
    "commas": "tags without the commas between them, where the others are lists with commas",
}
#: A caption on so many different pictures says little about any of them.
MANY_PICTURES = 5
#: So many captions of one picture are too many, or so many if few others have them.
TOO_MANY_CAPTIONS, MANY_CAPTIONS = 100, 20
#: Captions that it takes to say what is usual.
FEWEST = 50
#: A caption is far from the others if it has so many times the words of the longest of the middle
#: half, or if the shortest of them has so many times its words.
_FAR = 6
#: Share of the captions whose language is that of the dataset.
_MAIN_LANGUAGE = 0.8
#: Share of the captions that begin or end with the same words.
_SAME_WORDS = 0.6
#: Languages that fewer of the captions are in are not reported.
_SOME = 0.05
#: What stands between the captions of a picture that were joined into one text; the longer first.
#: Of so many captions, most hold the same one.
SEPARATORS = ("<sep>", "[SEP]", "###", "||", "|", "\t", "\n", ";", " / ")
_FEWEST_JOINED, _JOINED = 10, 0.6
#: Those words, the languages and separators are looked for among the first captions; the words
#: among so many at their ends.
FIRST, _LONGEST_AFFIX = 20_000, 6
#: Share of the captions that are lists of tags, where lists are what is usual.
_TAG_LISTS = 0.6
#: So many words between two commas are no tag, unless they are words of a sentence.
_TOO_MANY_FOR_A_TAG = 6
_SEPARATOR = re.compile(r"[,;|\n、，；]")
_OF_SENTENCES = re.compile(
    r"\b(?:an?|the|is|are|was|were|and|or|of|in|on|at|to|for|by|from|with|near|that|who)\b|[.!?]",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"[.!?。！？]$")
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")


class Comparison:
    """Reads all captions first (`learn`), then says what is unlike the rest (`faults_of`)."""

    def __init__(self) -> None:
        self.captions = 0
        #: Of each caption, the hash of its words and that of its picture: eight bytes each, as
        #: there may be millions.
        self._words, self._pictures = array("q"), array("q")
        self._lengths: Counter[int] = Counter()
        self._languages: Counter[str] = Counter()
        self._separators: Counter[str] = Counter()
        self._tag_lists = 0
        self._affixes: dict[str, Counter[str]] = {"begin": Counter(), "end": Counter()}

    def learn(self, caption: str, picture: str) -> None:
        words = _words(caption)
        self.captions += 1
        self._words.append(hash(tuple(words)))
        self._pictures.append(hash(picture))
        self._lengths[len(words)] += 1
        if self.captions <= FIRST:
            self._languages[language_of(caption)] += 1
            self._separators.update(
                each for each in SEPARATORS if each in caption and are_joined(caption, each)
            )
            if len(_SEPARATOR.findall(caption)) >= FEWEST_TAGS - 1:
                self._tag_lists += is_tag_list(caption)
            for size in range(1, min(_LONGEST_AFFIX, len(words)) + 1):
                self._affixes["begin"][" ".join(words[:size])] += 1
                self._affixes["end"][" ".join(words[-size:])] += 1

    def faults_of(self, caption: str, picture: str) -> list[str]:
        """The names of COMPARED that apply to the caption of a picture."""
        words = _words(caption)
        if not words:
            return []
        low, high = self._usual_lengths
        is_far = self.captions >= FEWEST and (
            len(words) > _FAR * max(high, 1) or len(words) * _FAR < low
        )
        usual = self._language
        separator = self._separator
        faults = {
            "same caption": hash(tuple(words)) in self._on_many_pictures,
            "many captions": hash(picture) in self._with_many_captions,
            "length": is_far,
            "language": bool(usual and foreign_language(caption, frozenset({usual}))),
            "several captions": bool(separator and are_joined(caption, separator)),
            "commas": self._are_tag_lists and _lacks_commas(caption),
        }
        return [name for name, applies in faults.items() if applies]

    def shared_words(self) -> list[tuple[str, str]]:
        """("begin" or "end", the words) with which most captions begin or end: they say nothing
        about a picture, and a model that is trained on them learns to say them."""
        first = min(self.captions, FIRST)
        phrases = []
        for end, affixes in self._affixes.items():
            common = [affix for affix, number in affixes.items() if number >= _SAME_WORDS * first]
            longest = max(common, key=len, default="")
            # "A …" is how captions begin.
            if self.captions >= FEWEST and (" " in longest or len(longest) > 5):
                phrases.append((end, longest))
        return phrases

    def languages(self) -> list[tuple[str, int]]:
        """The languages of a dataset without a main one, with how many of the first captions are in
        each; [] if there is a main one, or if there are too few captions to tell."""
        clear = self._clear_languages
        if self._language or self.captions < FEWEST:
            return []
        common = [
            (called(name), number)
            for name, number in clear.items()
            if number >= _SOME * clear.total()
        ]
        return sorted(common, key=lambda each: (-each[1], each[0])) if len(common) > 1 else []

    @cached_property
    def _on_many_pictures(self) -> frozenset[int]:
        """The hashes of captions that are on many different pictures."""
        pairs = np.unique(np.stack([self._words, self._pictures], axis=1), axis=0)
        hashes, numbers = np.unique(pairs[:, 0], return_counts=True)
        return frozenset(hashes[numbers >= MANY_PICTURES].tolist())

    @cached_property
    def _with_many_captions(self) -> frozenset[int]:
        """The hashes of pictures that have far more captions than three in four do."""
        hashes, numbers = np.unique(self._pictures, return_counts=True)
        usual = np.quantile(numbers, 0.75, method="higher")
        is_many = (numbers >= MANY_CAPTIONS) & (numbers > _FAR * usual)
        return frozenset(hashes[is_many | (numbers >= TOO_MANY_CAPTIONS)].tolist())

    @cached_property
    def _usual_lengths(self) -> tuple[int, int]:
        """The shortest and the longest of the middle half."""
        return _quantile(self._lengths, 0.25), _quantile(self._lengths, 0.75)

    @cached_property
    def _are_tag_lists(self) -> bool:
        first = min(self.captions, FIRST)
        return self.captions >= FEWEST and self._tag_lists >= _TAG_LISTS * first

    @cached_property
    def _separator(self) -> str:
        """What stands between the captions of most cells; "" if nothing does."""
        first = min(self.captions, FIRST)
        separator, number = max(self._separators.items(), key=lambda each: each[1], default=("", 0))
        return separator if first >= _FEWEST_JOINED and number >= _JOINED * first else ""

    @cached_property
    def _clear_languages(self) -> Counter[str]:
        """The captions whose language can be told, by language."""
        languages = Counter(self._languages)
        for unclear in ("", UNKNOWN, MIXED):
            del languages[unclear]
        return languages

    @cached_property
    def _language(self) -> str:
        """That of most captions whose language can be told; "" if there is none."""
        languages = self._clear_languages
        name, number = max(languages.items(), key=lambda each: each[1], default=("", 0))
        is_main = self.captions >= FEWEST and number >= _MAIN_LANGUAGE * languages.total()
        return name if is_main else ""


def are_joined(text: str, separator: str) -> bool:
    """Whether a text is several captions with the separator between them: each has the form of a
    caption and begins as the first does. The lines of one description end like sentences.

    >>> are_joined("A dog on grass | A brown dog runs", "|"), are_joined("solo | long hair", "|")
    (True, False)
    >>> are_joined("A man on a hill; a dog beside him", ";"), are_joined("A dog.\\nIt runs.", "\\n")
    (False, False)
    """
    pieces = [piece.strip() for piece in text.split(separator) if piece.strip()]
    if len(pieces) < 2 or (separator == "\n" and any(map(_SENTENCE_END.search, pieces))):
        return False
    capitals = {piece[0].isupper() for piece in pieces}
    # "a red / blue ball" is one caption.
    return len(capitals) == 1 and all(is_sentence(p) and len(p.split()) != 2 for p in pieces)


def _lacks_commas(caption: str) -> bool:
    """
    >>> _lacks_commas("1girl solo long hair blue eyes"), _lacks_commas("1girl, solo, long hair")
    (True, False)
    >>> _lacks_commas("1girl, girl standing in field of flowers"), _lacks_commas("A dog runs home.")
    (False, False)
    """
    pieces = _SEPARATOR.split(caption)
    return any(
        len(piece.split()) >= _TOO_MANY_FOR_A_TAG and not _OF_SENTENCES.search(piece)
        for piece in pieces
    )


def _words(caption: str) -> list[str]:
    return _WORD.findall(caption.casefold())


def _quantile(numbers: Counter[int], share: float) -> int:
    """
    >>> _quantile(Counter({3: 5, 9: 5}), 0.25), _quantile(Counter({3: 5, 9: 5}), 0.75)
    (3, 9)
    """
    rest = share * numbers.total()
    for number in sorted(numbers):
        rest -= numbers[number]
        if rest < 0:
            return number
    return max(numbers, default=0)
