"""The captions in a cell (a text, or a list, a struct or a choice of languages that holds some) and
in small files beside pictures and in tars.
"""

import ast
import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from backend.datasets.cells import BadCell, text_of, trim
from backend.datasets.columns import OBJECT_NAMES
from backend.datasets.read_options import PER_LINE, PLURALS, TICKS
from backend.datasets.reading.caption_lists import ListForm
from backend.datasets.reading.json_captions import written_object
from backend.datasets.reading.token_texts import join_tokens
from backend.datasets.safe_files.text_files import decoded_text
from backend.errors import DatasetFormatError
from db.texts import is_blank

#: What fields say of the lists in them.
_STATED: dict[str, ListForm] = {"tokens": "tokens", "tags": "tags", "keywords": "tags"}
#: Fields with the text of a token or a tag, in lists of records of these, and what they say.
_PIECES: dict[str, ListForm | None] = {
    "text": None, "token": "tokens", "word": "tokens", "form": "tokens", "tag": "tags",
}  # fmt: skip
_LANGUAGE = re.compile(r"[a-z]{2,3}(?:[-_][A-Za-z]{2,4})?")
#: A text as Python prints it, and texts with blanks between them.
_QUOTED = re.compile(r"""'(?:[^'\\]|\\.)*+'|"(?:[^"\\]|\\.)*+\"""", re.DOTALL)
_NUMPY_LIST = re.compile(
    rf"\[\s*(?:{_QUOTED.pattern})(?:\s+(?:{_QUOTED.pattern}))+\s*\]", re.DOTALL
)
#: The same where numpy left some out, and the beginning of a list that ends within.
_SHORTENED = re.compile(
    rf"\[\s*(?:{_QUOTED.pattern})(?:\s+(?:{_QUOTED.pattern}|\.\.\.))*\s+\.\.\..*\]", re.DOTALL
)
_LIST_BEGINS = re.compile(rf"\[\s*(?:{_QUOTED.pattern})\s*,\s*[\"']", re.DOTALL)
#: A line with the number of a class and four or more places from 0 to 1.
_BOX = re.compile(r"\d{1,4}(?:[ \t]+(?:[01]?\.\d+|[01])){4,}")
_DEEPEST, _LONGEST_LIST = 20, 1_000_000


def listed_captions(text: str) -> list[Any] | None:
    """The captions of a list, or of a list of lists, that is written as text: in JSON, or as Python
    or numpy prints it; else None.

    >>> listed_captions('["A dog.", "A cat."]'), listed_captions("['A dog.' 'A cat.']")
    (['A dog.', 'A cat.'], ['A dog.', 'A cat.'])
    >>> listed_captions("[a dog]"), listed_captions("[['A'], ['B']]")
    (None, [['A'], ['B']])
    """
    if not (text.startswith("[") and text.endswith("]") and len(text) <= _LONGEST_LIST):
        return None
    if _NUMPY_LIST.fullmatch(text):
        # Python itself would join texts without a comma between them.
        text = f"[{', '.join(_QUOTED.findall(text))}]"
    for parse in (json.loads, ast.literal_eval):
        try:
            values = parse(text)
            is_same = parse is json.loads or repr(values) == text
        except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
            continue
        if is_same and values and (_are_texts(values) or all(map(_are_texts, values))):
            return list(values)
    return None


def check_list(text: str) -> None:
    """Raises BadCell for a list, written as text, of which a part is gone.

    >>> check_list("['A dog.' ... 'A cat.']")
    Traceback (most recent call last):
        ...
    backend.datasets.cells.BadCell: numpy printed this list without its middle ('...')
    """
    if not text.startswith("["):
        return
    if _SHORTENED.fullmatch(text):
        raise BadCell("numpy printed this list without its middle ('...')")
    if _LIST_BEGINS.match(text) and not text.endswith("]"):
        raise BadCell("this list ends before its last bracket: it was cut")


def _are_texts(values: Any) -> bool:
    return isinstance(values, list) and all(isinstance(value, str) for value in values)


class Captions(list[str]):
    """Texts that are a caption each, whatever their form."""


@dataclass(frozen=True)
class TextList:
    """A list of texts in a cell. `form`: what it is, if the name of its field says so."""

    texts: tuple[str, ...]
    form: ListForm | None = None

    def captions(self, form: ListForm) -> list[str]:
        """Its captions, if the lists of its column are of this form."""
        form = self.form or form
        if form == "captions":
            return list(self.texts)
        if form == "tokens":
            return [join_tokens(self.texts)]
        return [", ".join(text for text in self.texts if not is_blank(text))]


def captions_of(value: Any, language: str | None = None, form: ListForm = "captions") -> list[str]:
    """The captions of a cell in order; a missing or empty one is "". `language`: which is taken
    where there are several; `form`: what lists of texts are.

    Lists are flattened, and of a struct its caption is taken. Raises BadCell if it is uncertain
    what the caption is.

    >>> captions_of([{"raw": "A dog.", "sentid": 3}, [{"en": "A brown dog."}]])
    ['A dog.', 'A brown dog.']
    >>> captions_of([["A", "dog", "."], ["A", "pet"]], form="tokens")
    ['A dog.', 'A pet']
    """
    return captions_of_parts(text_parts(value, language), form)


def captions_of_parts(parts: Iterable[str | TextList], form: ListForm) -> list[str]:
    """The captions of the parts of a cell."""
    captions = (part.captions(form) if isinstance(part, TextList) else [part] for part in parts)
    return [text for texts in captions for text in texts] or [""]


def text_parts(value: Any, language: str | None = None) -> list[str | TextList]:
    """The texts and the lists of texts in a cell, in order. Raises as `captions_of`."""
    return list(_parts(value, language, None, 0))


def _parts(
    value: Any, language: str | None, form: ListForm | None, depth: int
) -> Iterator[str | TextList]:
    if depth > _DEEPEST:
        raise BadCell("its captions are nested too deeply")
    if isinstance(value, list | tuple):
        if len(value) > 1 and all(type(item) in (int, float) for item in value):
            raise BadCell("it holds a list of numbers, as of tokens, and no text")
        form = "captions" if isinstance(value, Captions) else form
        pieces = [piece for item in value if (piece := _piece(item)) is not None]
        if pieces and len(pieces) == len(value):
            texts, stated = zip(*pieces, strict=True)
            yield TextList(texts, next(filter(None, stated), form))
            return
        for item in value:
            yield from _parts(item, language, form, depth + 1)
    elif isinstance(value, dict):
        name, inner = _field(value, language)
        yield from _parts(inner, language, _STATED.get(name, form), depth + 1)
    elif isinstance(value, bool):
        raise BadCell("it holds true or false, not a caption")
    else:
        yield text_of(value)


def _piece(item: Any) -> tuple[str, ListForm | None] | None:
    """The text of one of a list's items, and what its field says of the list; None for an item that
    is no text of its own."""
    if isinstance(item, list | tuple | bool):
        return None
    if not isinstance(item, dict):
        is_text = item is None or isinstance(item, str | bytes | int | float)
        return text_of(item), None if is_text else "captions"
    names = {str(name).strip().lower(): name for name in item}
    field = next((name for name in (*OBJECT_NAMES, *_PIECES) if name in names), "")
    text = item[names[field]] if field in _PIECES else None
    return (text, _PIECES[field]) if isinstance(text, str) else None


def _field(value: dict[Any, Any], language: str | None) -> tuple[str, Any]:
    """The name of the field with the caption, and what it holds."""
    names = {str(name).strip().lower(): name for name in value}
    for name in (language.lower() if language else "", *OBJECT_NAMES):
        if name in names:
            return name, value[names[name]]
    first_names = ", ".join(f"'{trim(str(name), 40)}'" for name in list(value)[:10])
    if not are_languages(names):
        raise BadCell(f"it holds fields ({first_names}), and none of them is named like a caption")
    if language is None and len(value) == 1:
        return "", next(iter(value.values()))
    raise BadCell(f"it holds captions in several languages ({first_names}). Choose the language")


def are_languages(names: Collection[str]) -> bool:
    """Whether fields are named like languages, and nothing else.

    >>> are_languages(["en", "pt-BR"]), are_languages(["en", "elements"]), are_languages([])
    (True, False, False)
    """
    return bool(names) and all(_LANGUAGE.fullmatch(name.strip().lower()) for name in names)


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
        try:
            if written_object(text) is not None:
                return text
        except BadCell as problem:
            raise DatasetFormatError(f"'{trim(name)}': {problem}.") from problem
        lines = [line.strip() for line in text.splitlines() if not is_blank(line)]
        if lines and all(map(_BOX.fullmatch, lines)):
            raise DatasetFormatError(
                f"'{trim(name)}' holds boxes in numbers, as YOLO has them, and no caption."
            )
        ending = PurePosixPath(name).suffix.lower()
        if len(lines) > 1 and (self.captions_per_line or ending in PLURALS):
            return Captions(lines)
        if len(lines) > 1:
            self.note(
                f"Some '*{trim(ending)}' have several lines, which are read as one caption. If "
                f"each line is a caption, import again with the option “{TICKS[PER_LINE]}” "
                f"({PER_LINE.replace('_', '-')})."
            )
        return text
