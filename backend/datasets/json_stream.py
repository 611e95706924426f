"""The objects of a large JSON file, one after the other: memory does not grow with the file."""

import mmap
import re
from codecs import BOM_UTF8
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import ijson

from backend.errors import DatasetFormatError

#: Deeper than any dataset; Python itself gives up at some hundreds.
DEEPEST = 100
#: The fast parser knows no larger whole numbers, and reads so many bytes at once.
_LARGEST, _READ_AT_ONCE = 2**63 - 1, 65_536
#: A backslash itself, a surrogate pair, or else (the group) half a pair.
_SURROGATES = re.compile(rb"\\\\|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F]|(\\u[dD][89a-fA-F])")


class JsonFile:
    """An object of arrays. All of it is looked through at once, so that a file that breaks off is
    refused before its first row has gone anywhere.

    `arrays`: the names of the arrays in it; empty if it holds none, or is itself no object.
    Raises DatasetFormatError with the place if it is no JSON.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._parser = ijson.get_backend("python" if _has_lone_surrogates(path) else "yajl2_c")
        self.arrays = self._outline()

    def objects(self, array: str) -> Iterator[Any]:
        """What stands in the array, as `json` would read it."""
        with self._path.open("rb") as file, self._refused(file):
            yield from self._parser.items(_past_mark(file), f"{array}.item", use_float=True)

    def _outline(self) -> frozenset[str]:
        arrays, key, depth, is_object = set(), "", 0, False
        with self._path.open("rb") as file, self._refused(file):
            for event, value in self._parser.basic_parse(_past_mark(file)):
                if event == "map_key":
                    key = value if depth == 1 else key
                elif event == "number":
                    if isinstance(value, int) and abs(value) > _LARGEST:
                        self._parser = ijson.get_backend("python")
                elif event.startswith("start"):
                    is_object = is_object or (depth == 0 and event == "start_map")
                    if depth == 1 and event == "start_array":
                        arrays.add(key)
                    depth += 1
                    if depth > DEEPEST:
                        raise ValueError(f"it is nested more than {DEEPEST} deep")
                elif event.startswith("end"):
                    depth -= 1
        return frozenset(arrays) if is_object else frozenset()

    @contextmanager
    def _refused(self, file: IO[bytes]) -> Iterator[None]:
        try:
            yield
        except (ijson.JSONError, ValueError) as problem:
            place = f"near byte {file.tell():,}: " if file.tell() > _READ_AT_ONCE else ""
            told = str(problem).strip().partition("\n")[0]
            raise DatasetFormatError(
                f"'{self._path.name}' is no JSON ({place}{told})."
            ) from problem


def _past_mark(file: IO[bytes]) -> IO[bytes]:
    """Past the byte order mark, if there is one."""
    file.seek(len(BOM_UTF8) if file.read(len(BOM_UTF8)) == BOM_UTF8 else 0)
    return file


def _has_lone_surrogates(path: Path) -> bool:
    """Half characters, which the fast parser would replace by question marks without a word."""
    with path.open("rb") as file:
        if not file.seek(0, 2):
            return False
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            return any(found.group(1) for found in _SURROGATES.finditer(content))
