"""Pictures that a table has as text: data URIs (RFC 2397: `data:image/png;base64,…`, also with `%`
before bytes, or without base64) and base64 alone.

They stay where they are: the address of one is the place of its text in the file, as that of a
tar's member is:

    train.jsonl!/1536+20480    the bytes of the text: offset + number

A text is found by searching for it from where the last one was: any place that holds the same text
holds the same picture. No message repeats such a text.
"""

import base64
import binascii
import json
import mmap
import re
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import unquote_to_bytes

from backend.datasets.safe_files.regular_files import open_regular, open_within
from backend.datasets.safe_files.text_files import MOST_BYTES

_DATA_URI = re.compile(r"data:[\w.+/-]*(?:;[\w.=+-]+)*,", re.IGNORECASE)
_CONTENT = re.compile(r"(base64,|data:image/[\w.+-]+,)[\w+/=%.~-]+", re.IGNORECASE)
#: How pictures begin in base64: JPEG, PNG, GIF, WebP, TIFF.
_BEGINNINGS = ("/9j/", "_9j_", "iVBORw0KGgo", "R0lGOD", "UklGR", "SUkqA", "TU0AK")
#: A shorter text may be a name that begins like a picture.
_SHORTEST = 100
_BASE64 = re.compile(r"[\w+/=\s-]+", re.ASCII)
_URL_SAFE = bytes.maketrans(b"-_", b"+/")


def is_written_picture(text: str) -> bool:
    """
    >>> is_written_picture("data:image/png;base64,iVBORw0KGgo="), is_written_picture("/9j/a.jpg")
    (True, False)
    """
    text = text.lstrip()
    beginning = text[:200].lower()
    if beginning.startswith("data:") and ("data:image/" in beginning or "base64," in beginning):
        return True
    is_long = len(text) >= _SHORTEST and text.startswith(_BEGINNINGS)
    return is_long and _BASE64.fullmatch(text) is not None


def shorten_pictures(value: Any) -> Any:
    """The value without the contents of the pictures that are written in it."""
    if isinstance(value, str):
        if not is_written_picture(value):
            return value
        match = _DATA_URI.match(value.lstrip())
        return f"{match[0] if match else ''}…"
    if isinstance(value, dict):
        return {name: shorten_pictures(inner) for name, inner in value.items()}
    return [shorten_pictures(inner) for inner in value] if isinstance(value, list) else value


def hide_base64(text: str) -> str:
    """The text, for messages, without the contents of the data URIs in it."""
    return _CONTENT.sub(r"\1…", text)


def picture_of_text(text: bytes) -> bytes:
    """The picture in a data URI or in base64, as it is written in a file. Raises ValueError."""
    if b"\\" in text:  # escapes of JSON
        text = json.loads(b'"' + text + b'"').encode("ascii")
    content = text.strip()
    if content[:5].lower() == b"data:":
        header, _, content = content.partition(b",")
        content = unquote_to_bytes(content)
        if not header.lower().endswith(b"base64"):
            return content
    plain = b"".join(content.split()).translate(_URL_SAFE).rstrip(b"=")
    try:
        return base64.b64decode(plain + b"=" * (-len(plain) % 4), validate=True)
    except binascii.Error as problem:
        raise ValueError(f"it is not base64: {problem}") from problem


def written_picture(path: Path, inner: str) -> bytes:
    """The picture whose text is at a place of a file. Raises ValueError, EOFError, OSError."""
    offset, _, size = inner.partition("+")
    if not (offset.isdigit() and size.isdigit()):
        raise ValueError(f"'{inner[:80]}' is not a position in a table")
    if int(size) > MOST_BYTES:
        raise ValueError(f"{int(size):,} bytes are too many")
    with open_regular(path, is_resolved=True) as file:
        file.seek(int(offset))
        text = file.read(int(size))
    if len(text) < int(size):
        raise EOFError("the table ends before it")
    return picture_of_text(text)


#: How tables have a text: as it is, or with what writers of JSON escape.
_FORMS: tuple[Callable[[str], str], ...] = (
    lambda text: text,
    lambda text: json.dumps(text)[1:-1],
    lambda text: json.dumps(text)[1:-1].replace("/", "\\/"),
    lambda text: json.dumps(text)[1:-1].replace("=", "\\u003d"),
)
#: Searches through the whole file without success, after which no more are made.
_MOST_MISSES = 3


class WrittenPictures:
    """The texts of pictures in one file. `folders`: as for `regular_files.open_within`."""

    def __init__(self, table: Path, folders: Sequence[Path]) -> None:
        self._table, self._folders = table, folders
        self._position = self._misses = 0
        self._forms = list(_FORMS)

    def place(self, text: str) -> str | None:
        """The address of the text within the file; None if the file does not have it as it is, as
        where its encoding has several bytes for a letter. Raises OSError."""
        if self._misses >= _MOST_MISSES:
            return None
        with open_within(self._folders, self._table) as file:
            if not file.seek(0, 2):
                return None
            with closing(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)) as content:
                for form in self._forms:
                    needle = form(text).encode("utf-8", "replace")
                    for start in dict.fromkeys((self._position, 0)):
                        if (place := content.find(needle, start)) >= 0:
                            self._position = place + len(needle)
                            self._forms.sort(key=lambda each, last=form: each is not last)
                            return f"{place}+{len(needle)}"
        self._misses += 1
        return None
