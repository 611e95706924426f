"""Faults that show only in comparison: one caption on many pictures, a picture with many captions,
lengths and languages unlike the rest, the same words in nearly every caption."""

import re
from collections import Counter
from functools import cached_property

from backend.engine.claims.tags import FEWEST as FEWEST_TAGS
from backend.engine.claims.tags import is_tag_list
from backend.engine.languages.identification import MIXED, UNKNOWN, language_of

#: What is compared, with what it means.
COMPARED = {
    "same caption": "the same caption on five or more pictures",
    "many captions": "the picture has far more captions than the others; was it meant for all?",
    "length": "far longer or shorter than the others",
    "language": "in another language than the others",
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
#: Those words, and the language, are looked for among the first captions; the words among so many
#: at their ends.
_FIRST, _LONGEST_AFFIX = 20_000, 6
#: Share of the captions that are lists of tags, where lists are what is usual.
_TAG_LISTS = 0.6
#: So many words between two commas are no tag, unless they are words of a sentence.
_TOO_MANY_FOR_A_TAG = 6
_SEPARATOR = re.compile(r"[,;|\n、，；]")
_OF_SENTENCES = re.compile(
    r"\b(?:an?|the|is|are|was|were|and|or|of|in|on|at|to|for|by|from|with|near|that|who)\b|[.!?]",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")


class Comparison:
    """Reads all captions first (`learn`), then says what is unlike the rest (`faults_of`)."""

    def __init__(self) -> None:
        self.captions = 0
        #: By the words of a caption: on how many pictures it is, and the last of them.
        self._pictures: dict[int, tuple[int, int]] = {}
        #: By picture: its captions.
        self._captions_of: Counter[int] = Counter()
        self._lengths: Counter[int] = Counter()
        self._languages: Counter[str] = Counter()
        self._tag_lists = 0
        self._affixes: dict[str, Counter[str]] = {"begin": Counter(), "end": Counter()}

    def learn(self, caption: str, picture: str) -> None:
        words = _words(caption)
        self.captions += 1
        key, this_picture = hash(tuple(words)), hash(picture)
        number, last = self._pictures.get(key, (0, None))
        self._pictures[key] = (number + (last != this_picture), this_picture)
        self._captions_of[this_picture] += 1
        self._lengths[len(words)] += 1
        if self.captions <= _FIRST:
            self._languages[language_of(caption)] += 1
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
        is_foreign = usual and language_of(caption) not in ("", UNKNOWN, MIXED, usual)
        faults = {
            "same caption": self._pictures.get(hash(tuple(words)), (0, 0))[0] >= MANY_PICTURES,
            "many captions": self._has_many_captions(picture),
            "length": is_far,
            "language": is_foreign,
            "commas": self._are_tag_lists and _lacks_commas(caption),
        }
        return [name for name, applies in faults.items() if applies]

    def shared_words(self) -> list[tuple[str, str]]:
        """("begin" or "end", the words) with which most captions begin or end: they say nothing
        about a picture, and a model that is trained on them learns to say them."""
        first = min(self.captions, _FIRST)
        phrases = []
        for end, affixes in self._affixes.items():
            common = [affix for affix, number in affixes.items() if number >= _SAME_WORDS * first]
            longest = max(common, key=len, default="")
            # "A …" is how captions begin.
            if self.captions >= FEWEST and (" " in longest or len(longest) > 5):
                phrases.append((end, longest))
        return phrases

    def _has_many_captions(self, picture: str) -> bool:
        number = self._captions_of[hash(picture)]
        is_unlike_others = number > _FAR * self._usual_number
        return number >= TOO_MANY_CAPTIONS or (number >= MANY_CAPTIONS and is_unlike_others)

    @cached_property
    def _usual_number(self) -> int:
        """Captions of a picture: three in four have no more."""
        return _quantile(Counter(self._captions_of.values()), 0.75)

    @cached_property
    def _usual_lengths(self) -> tuple[int, int]:
        """The shortest and the longest of the middle half."""
        return _quantile(self._lengths, 0.25), _quantile(self._lengths, 0.75)

    @cached_property
    def _are_tag_lists(self) -> bool:
        first = min(self.captions, _FIRST)
        return self.captions >= FEWEST and self._tag_lists >= _TAG_LISTS * first

    @cached_property
    def _language(self) -> str:
        """That of most captions whose language can be told; "" if there is none."""
        languages = Counter(self._languages)
        for unclear in ("", UNKNOWN, MIXED):
            del languages[unclear]
        name, number = max(languages.items(), key=lambda each: each[1], default=("", 0))
        is_main = self.captions >= FEWEST and number >= _MAIN_LANGUAGE * languages.total()
        return name if is_main else ""


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
