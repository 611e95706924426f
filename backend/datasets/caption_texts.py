"""The captions in a cell (a text, or a list, a struct or a choice of languages that holds some) and
in small files beside pictures and in tars.
"""

import ast
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from backend.datasets.cells import BadCell, text_of, trim
from backend.datasets.columns import CAPTION_NAMES
from backend.datasets.read_options import PLURALS
from backend.datasets.text_files import decoded_text
from db.texts import is_blank

#: Fields of a struct that hold its caption, the most specific first: `raw` stands beside the tokens
#: of the same sentence.
_FIELDS = ("raw", *(name for name in CAPTION_NAMES if name != "raw"))
_LANGUAGE = re.compile(r"[a-z]{2,3}(?:[-_][A-Za-z]{2,4})?")
_DEEPEST, _LONGEST_LIST = 20, 1_000_000


def listed_captions(text: str) -> list[str] | None:
    """The captions of a list that is written as text, in JSON or as Python prints it; else None.

    >>> listed_captions('["A dog.", "A cat."]'), listed_captions("['A dog.']")
    (['A dog.', 'A cat.'], ['A dog.'])
    >>> listed_captions("[a dog]"), listed_captions("['A dog.' 'A cat.']")
    (None, None)
    """
    if not (text.startswith("[") and text.endswith("]") and len(text) <= _LONGEST_LIST):
        return None
    for parse in (json.loads, ast.literal_eval):
        try:
            values = parse(text)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
        # Python joins texts without a comma between them, as numpy prints them.
        is_same = parse is json.loads or repr(values) == text
        if is_same and values and all(isinstance(value, str) for value in values):
            return list(values)
    return None


def captions_of(value: Any, language: str | None = None) -> list[str]:
    """The captions of a cell in order; a missing or empty one is "". `language`: which is taken
    where there are several.

    Lists are flattened, and of a struct its caption is taken. Raises BadCell if it is uncertain
    what the caption is.

    >>> captions_of([{"raw": "A dog.", "sentid": 3}, [{"en": "A brown dog."}]])
    ['A dog.', 'A brown dog.']
    """
    return list(_captions(value, language, 0)) or [""]


def _captions(value: Any, language: str | None, depth: int) -> list[str]:
    if depth > _DEEPEST:
        raise BadCell("its captions are nested too deeply")
    if isinstance(value, list | tuple):
        return [text for item in value for text in _captions(item, language, depth + 1)]
    if isinstance(value, dict):
        return _captions(_field(value, language), language, depth + 1)
    if isinstance(value, bool):
        raise BadCell("it holds true or false, not a caption")
    return [text_of(value)]


def _field(value: dict[Any, Any], language: str | None) -> Any:
    names = {str(name).strip().lower(): name for name in value}
    for name in (language.lower() if language else "", *_FIELDS):
        if name in names:
            return value[names[name]]
    first_names = ", ".join(f"'{trim(str(name), 40)}'" for name in list(value)[:10])
    if not value or not all(_LANGUAGE.fullmatch(name) for name in names):
        raise BadCell(f"it holds fields ({first_names}), and none of them is named like a caption")
    if language is None and len(value) == 1:
        return next(iter(value.values()))
    raise BadCell(f"it holds captions in several languages ({first_names}). Choose the language")


@dataclass(frozen=True)
class TextReader:
    """How such texts are read. `encoding`, `read_as`: see `text_files.decoded_text`; `note` is
    called with other decisions. `captions_per_line`: each line is a caption, else the whole is,
    unless the file's ending is a plural. `is_exact`: this program wrote the files: every byte
    belongs to the caption."""

    encoding: str | None
    read_as: Callable[[str], None]
    note: Callable[[str], None]
    captions_per_line: bool
    is_exact: bool = False

    def decode(self, content: bytes, name: str) -> str:
        """The text. Raises DatasetFormatError."""
        return decoded_text(content, name, self.encoding, self.read_as)

    def captions(self, content: bytes, name: str) -> str | list[str]:
        """The caption, or those of its lines. Raises DatasetFormatError, and ValueError for a file
        of this program that is not UTF-8."""
        if self.is_exact:
            return content.decode("utf-8")
        # A final newline, written by editors and scripts, is not part of the caption.
        text = self.decode(content, name).removesuffix("\n").removesuffix("\r")
        lines = [line.strip() for line in text.splitlines() if not is_blank(line)]
        ending = PurePosixPath(name).suffix.lower()
        if len(lines) > 1 and (self.captions_per_line or ending in PLURALS):
            return lines
        if len(lines) > 1:
            self.note(
                f"Some '*{trim(ending)}' have several lines, which are read as one caption. If "
                "each line is a caption, say so and import again."
            )
        return text


def unreadable_picture(name: str) -> str:
    """What is wrong with a picture in a format that cannot be read."""
    kind = PurePosixPath(name).suffix[1:].upper()
    return f"'{trim(name)}' is in a format that cannot be read ({kind}): save it as JPEG or PNG."
