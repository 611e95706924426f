"""Which fields of a tar's samples are the picture and the caption, as people and Megatron-Energon's
field maps name them: an ending (`txt`, `detail.json`), a value of its JSON (`json[detailed]`), or
several of which the first that a sample has counts (`txt,json[caption]`)."""

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from backend.datasets.columns import CAPTION_NAMES
from backend.datasets.read_options import CAPTIONS, UNREADABLE_PICTURES

#: Endings that hold captions, if a sample has none of `CAPTIONS`.
NAMED_LIKE_CAPTIONS = tuple(
    ending for name in CAPTION_NAMES
    if (ending := f".{name}") not in (*CAPTIONS, *UNREADABLE_PICTURES)
)  # fmt: skip
_FIELD = re.compile(r"([^\[\]]+)((?:\[[^\[\]]+\])*)")


@dataclass(frozen=True)
class SampleField:
    """`ending`: with its dot, in lower case; `path`: of the value in its JSON, () for the file."""

    ending: str
    path: tuple[str, ...] = ()

    def value_in(self, document: Any) -> Any:
        """The value at the path; None if there is none.

        >>> SampleField(".json", ("captions", "0")).value_in({"captions": ["A dog."]})
        'A dog.'
        """
        for name in self.path:
            if isinstance(document, list) and name.isdecimal() and int(name) < len(document):
                document = document[int(name)]
            elif isinstance(document, dict):
                document = document.get(name)
            else:
                return None
        return document


def parse_fields(text: str) -> tuple[SampleField, ...]:
    """
    >>> parse_fields("txt,json[captions][0]")
    (SampleField(ending='.txt', path=()), SampleField(ending='.json', path=('captions', '0')))
    """
    return tuple(map(_parse_field, text.split(",")))


def _parse_field(text: str) -> SampleField:
    match = _FIELD.fullmatch(text.strip())
    name, path = match.groups() if match else (text.strip(), "")
    return SampleField(
        f".{name.removeprefix('.').lower()}", tuple(path[1:-1].split("][")) if path else ()
    )


def column_and_path(text: str, columns: Collection[str]) -> tuple[str, tuple[str, ...]]:
    """The column that such a name means, and the path in the JSON of its cells; () for the cell.

    >>> column_and_path("caption[long]", ["caption"]), column_and_path("json[meta][a]", ["meta"])
    (('caption', ('long',)), ('meta', ('a',)))
    >>> column_and_path("txt[long]", ["caption"]), column_and_path("a[b]", ["a[b]"])
    (('caption', ('long',)), ('a[b]', ()))
    """
    match = _FIELD.fullmatch(text)
    if text in columns or match is None or not match[2]:
        return text, ()
    name, path = match[1], tuple(match[2][1:-1].split("]["))
    if name in columns:
        return name, path
    if name.lower() == "json" and path[0] in columns:
        return path[0], path[1:]
    if f".{name.lower()}" in CAPTIONS and "caption" in columns:
        return "caption", path
    return text, ()


@dataclass(frozen=True)
class SampleChoice:
    """What is read of a tar's samples. `captions`, `pictures`: names of fields as above, "" to
    detect them; `excluded`: keys of samples that are left out; `may_lack_captions`: a picture
    without a caption is no problem."""

    captions: str = ""
    pictures: str = ""
    excluded: frozenset[str] = frozenset()
    may_lack_captions: bool = False

    @property
    def caption_fields(self) -> tuple[SampleField, ...]:
        return parse_fields(self.captions) if self.captions else ()

    @property
    def text_endings(self) -> frozenset[str]:
        """Of the files whose text is read."""
        endings = (field.ending for field in self.caption_fields)
        return frozenset((*CAPTIONS, *NAMED_LIKE_CAPTIONS, ".json", *endings))

    @property
    def picture_fields(self) -> tuple[SampleField, ...]:
        return parse_fields(self.pictures) if self.pictures else ()


#: Everything is detected.
ALL_DETECTED = SampleChoice()
