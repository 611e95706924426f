"""Stream the objects of a large JSON file: memory use does not grow with the file."""

import math
import mmap
import re
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import ijson

from backend.datasets.cells import UniqueNames, Unusable
from backend.datasets.safe_files.text_files import open_in_folders
from backend.errors import DatasetFormatError

#: Maximum nesting; deeper than any dataset, and within Python's recursion limit.
DEEPEST = 100
#: The largest integer that the fast parser supports, and the bytes that it reads at once.
_LARGEST, _READ_AT_ONCE = 2**63 - 1, 65_536
#: Fields that an object is told by.
_MOST_FIELDS = 20
#: Numbers with more digits than Python converts, or beyond the float range: no parser reads them.
_MOST_DIGITS = 4300
#: The alternatives share a prefix, which makes the search of `re` several times as fast.
_ENDLESS = re.compile(rb"[0-9](?:[0-9]{308}|[eE]\+?[0-9]{3,}\s*[,\]}])")
#: A string, which is skipped, or (the group) a candidate for such a number.
_NUMBERS = re.compile(rb'"(?:[^"\\]|\\.)*+"?|(-?[0-9][0-9.eE+-]{3,})', re.DOTALL)
#: What Python writes for numbers that JSON does not have, a sign of them, and where they are.
_NO_JSON = {b"NaN": b"null", b"Infinity": b'"Infinity"', b"-Infinity": b'"-Infinity"'}
_HAS_NO_JSON = re.compile(rb"[\[:,]\s*(?:NaN|-?Infinity)\s*[,\]}]")
_NO_JSON_TOKENS = re.compile(rb'"(?:[^"\\]|\\.)*+"?|(NaN|-?Infinity)', re.DOTALL)
#: Replaces a number that no parser reads; its noncharacters distinguish it from any real text.
_NO_NUMBER = "\ufdd0number\ufdd0"
#: An escaped backslash, a surrogate pair, or (the group) a lone surrogate.
_SURROGATES = re.compile(rb"\\(?:\\|u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F]|(u[dD][89a-fA-F]))")


class JsonFile:
    """An object of arrays, or an array. It is parsed completely on creation, so that a truncated
    file is refused before any of its rows is used.

    `kinds`: of each name in it the event of `ijson` that its value begins with; `arrays`: of each
    array in it what that of its first element is ("end_array" if it is empty). Both are in the
    file's order, and empty if it is not an object.
    `is_array`: whether it is an array itself, or several, one behind the other; `is_lines`: whether
    it is several objects (JSON lines). Raises DatasetFormatError, with the position, if it
    is not valid JSON. `copy`: its text in UTF-8, if the file is in another encoding
    (`text_files.as_utf8`); only one iteration may use it at a time.
    `folders`: as for `text_files.open_in_folders`.
    """

    def __init__(
        self, path: Path, copy: IO[bytes] | None = None, folders: Sequence[Path] = ()
    ) -> None:
        self._path, self._folders = path, folders
        self._copy = copy
        with self._open() as file:
            self._replaced, needs_care = _scan_numbers(file)
        self._parser = ijson.get_backend("python" if needs_care else "yajl2_c")
        self.is_array = self.is_lines = False
        self.kinds: dict[str, str] = {}
        self.arrays: dict[str, str] = {}
        self._outline()

    def objects(self, array: str | None) -> Iterator[Any]:
        """The elements of the array (None: of the top-level array, or the top-level objects), as
        read by `json`. Numbers that Python cannot read are `Unusable`, and NaN is null."""
        prefix = ("" if self.is_lines else "item") if array is None else f"{array}.item"
        with self._open() as file, self._explain_errors(file):
            source = self._source(file)
            items = self._parser.items(
                source, prefix, use_float=True, map_type=UniqueNames, multiple_values=True
            )
            for item in items:
                yield _with_unusable(item) if self._replaced else item

    def members(self, within: str = "") -> Iterator[tuple[str, Any]]:
        """The names and values of the top-level object, or of the object of this name in it; none
        if there is none. Otherwise as `objects`."""
        with self._open() as file, self._explain_errors(file):
            source = self._source(file)
            for item in self._parser.kvitems(source, within, use_float=True, map_type=UniqueNames):
                yield item[0], _with_unusable(item[1]) if self._replaced else item[1]

    def beginnings(self, within: str = "") -> Iterator[tuple[str, str, dict[str, str]]]:
        """Of the same members the names, the events of `ijson` that their values begin with, and
        the first fields of those that are objects, with what these begin with. Nothing of the
        values is stored."""
        name, begins, fields = None, "", dict[str, str]()
        with self._open() as file, self._explain_errors(file):
            for prefix, event, text in self._parser.parse(self._source(file)):
                if prefix == within and event in ("map_key", "end_map"):
                    if name is not None:
                        yield name, begins, fields
                    name, begins, fields = text, "", {}
                elif name is None:
                    continue
                elif not begins:
                    begins = event
                elif len(fields) < _MOST_FIELDS and event not in ("map_key", "end_map"):
                    before, _, field = prefix.rpartition(f"{name}.")
                    if before == (f"{within}." if within else ""):
                        fields.setdefault(field, event)

    @property
    def is_reopened(self) -> bool:
        """Whether each iteration has the file for itself."""
        return self._copy is None

    @contextmanager
    def _open(self) -> Iterator[IO[bytes]]:
        if self._copy is None:
            with open_in_folders(self._path, self._folders) as file:
                yield file
        else:
            self._copy.seek(0)
            yield self._copy

    def _source(self, file: IO[bytes]) -> "IO[bytes] | _ReplacedFile":
        file.seek(len(BOM_UTF8) if file.read(len(BOM_UTF8)) == BOM_UTF8 else 0)
        return _ReplacedFile(file, self._replaced) if self._replaced else file

    def _outline(self) -> None:
        key, depth, values, is_first = "", 0, Counter[str](), False
        with self._open() as file, self._explain_errors(file):
            source = self._source(file)
            for event, value in self._parser.basic_parse(source, multiple_values=True):
                if depth == 0:
                    values[event] += 1
                    if len(values) > 1:
                        raise ValueError("values of several kinds stand one behind the other")
                if depth == 1 and event not in ("map_key", "end_map", "end_array"):
                    self.kinds[key] = event
                elif is_first:
                    self.arrays[key] = event
                is_first = depth == 1 and event == "start_array"
                if event == "map_key":
                    key = value if depth == 1 else key
                elif event == "number":
                    if isinstance(value, int) and abs(value) > _LARGEST:
                        self._parser = ijson.get_backend("python")
                elif event.startswith("start"):
                    depth += 1
                    if depth > DEEPEST:
                        raise ValueError(f"it is nested more than {DEEPEST} levels deep")
                elif event.startswith("end"):
                    depth -= 1
        self.is_array, self.is_lines = "start_array" in values, values["start_map"] > 1
        if values["start_map"] != 1:
            self.kinds, self.arrays = {}, {}

    @contextmanager
    def _explain_errors(self, file: IO[bytes]) -> Iterator[None]:
        try:
            yield
        except (ijson.JSONError, ValueError) as problem:
            large = file is not self._copy and file.tell() > _READ_AT_ONCE
            place = f"near byte {file.tell():,}: " if large else ""
            reason = str(problem).strip().partition("\n")[0]
            raise DatasetFormatError(
                f"'{self._path.name}' is not valid JSON ({place}{reason})."
            ) from problem


def _scan_numbers(file: IO[bytes]) -> tuple[list[tuple[int, int, bytes]], bool]:
    """The spans of numbers that no parser can read and what replaces each, and whether the slow
    parser is needed: the fast one silently replaces lone surrogates with question marks."""
    if not file.seek(0, 2):
        return [], False
    spans = []
    with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        if _HAS_NO_JSON.search(content):
            for match in _NO_JSON_TOKENS.finditer(content):
                if token := match.group(1):
                    spans.append((*match.span(), _NO_JSON[token]))
        if is_endless := _ENDLESS.search(content) is not None:
            for match in _NUMBERS.finditer(content):
                if match.group(1) and _is_endless(match.group(1)):
                    spans.append((*match.span(), f'"{_NO_NUMBER}"'.encode()))
        needs_care = is_endless or any(match.group(1) for match in _SURROGATES.finditer(content))
    return sorted(spans), needs_care


def _is_endless(number: bytes) -> bool:
    if number.lstrip(b"-").isdigit():
        return len(number.lstrip(b"-")) > _MOST_DIGITS
    try:
        return math.isinf(float(number))
    except ValueError:
        return False  # not a number: left to the parser to report


class _ReplacedFile:
    """A file in which the numbers at `places` are replaced."""

    def __init__(self, file: IO[bytes], places: list[tuple[int, int, bytes]]) -> None:
        self._file, self._places = file, places[::-1]

    def read(self, size: int = -1) -> bytes:
        if not self._places:
            return self._file.read(size)
        start, end, replacement = self._places[-1]
        position = self._file.tell()
        if position < start:
            return self._file.read(start - position if size < 0 else min(size, start - position))
        if size == 0:
            return b""
        self._places.pop()
        self._file.seek(end)
        return replacement


def _with_unusable(value: Any) -> Any:
    if value == _NO_NUMBER:
        return Unusable(f"it holds a number of more than {_MOST_DIGITS:,} digits, or beyond 1e308")
    if isinstance(value, dict):
        for key, item in value.items():
            dict.__setitem__(value, key, _with_unusable(item))
        return value
    if isinstance(value, list):
        return [_with_unusable(item) for item in value]
    return value
