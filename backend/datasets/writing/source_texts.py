"""Text files beside the pictures of a source, as an export writes them again: only the captions in
them change, and nothing around these (a byte order mark, line ends, empty lines, the encoding)."""

import codecs
import os
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from backend.datasets.cells import BadCell
from backend.datasets.read_options import CAPTIONS, is_hidden
from backend.datasets.reading.caption_fields import ending_of, kind_of, texts_by_field
from backend.datasets.reading.json_captions import JSON_COLUMN, written_object
from backend.datasets.reading.sidecars import MOST_TEXT, owners_of
from backend.datasets.safe_files.containers import ImageFile, Member, file_of
from backend.datasets.safe_files.regular_files import read_within
from backend.datasets.writing.json_writing import replace_value

#: The longer marks first: that of UTF-32 begins like that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"), (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)  # fmt: skip
_LINE_ENDS = "\r\n"


class SourceText:
    """The content of such a file. It holds one caption, alone or in JSON, or one on each line."""

    def __init__(self, content: bytes, is_metadata: bool = False) -> None:
        """`is_metadata`: whether it is the JSON beside a picture that has no text. Raises
        UnicodeError for another encoding than UTF-8, or UTF-16 or UTF-32 with a mark."""
        self.is_metadata = is_metadata
        #: Whether it holds captions on lines or in JSON, so that others may follow.
        self.is_shared = False
        self._mark, self._encoding = next(
            (each for each in _MARKS if content.startswith(each[0])), (b"", "utf-8")
        )
        self._text = content[len(self._mark) :].decode(self._encoding)
        self._lines = self._text.splitlines(keepends=True)
        #: The new captions on lines by the old ones. One that stands twice was read once.
        self._captions: dict[str, str] = {}

    def replace(self, original: str, caption: str) -> bytes | None:
        """The content with the caption instead of the original one; None if that is not in it, or
        if the caption has characters that the encoding has not. Of several captions on lines, those
        that were not replaced (yet) are left out.

        >>> SourceText(b"A dog.\\r\\n").replace("A dog.", "A cat.")
        b'A cat.\\r\\n'
        >>> text = SourceText(b"A dog.\\n A cat.\\n\\n")
        >>> text.replace("A dog.", "A fox."), text.replace("A cat.", "A cat.")
        (b'A fox.\\n\\n', b'A fox.\\n A cat.\\n\\n')
        """
        body = self._text.rstrip(_LINE_ENDS)
        if original.rstrip(_LINE_ENDS) == body:
            return self._encode(caption.rstrip(_LINE_ENDS) + self._text[len(body) :])
        if _is_object(body):
            json_text = replace_value(self._text, original, caption)
            if json_text is None:
                return None
            self._text, self.is_shared = json_text, True
            return self._encode(json_text)
        if not original.strip() or original not in (line.strip() for line in self._lines):
            return None
        self._captions[original] = caption
        self.is_shared = True
        return self._encode("".join(map(self._new_line, self._lines)))

    def _new_line(self, line: str) -> str:
        original = line.strip()
        if not original:
            return line
        caption = self._captions.get(original)
        return "" if caption is None else line.replace(original, caption, 1)

    def _encode(self, text: str) -> bytes | None:
        try:
            return self._mark + text.encode(self._encoding)
        except UnicodeError:
            return None


def _is_object(text: str) -> bool:
    try:
        return "{" in text and written_object(text) is not None
    except BadCell:
        return False


class SourceTexts:
    """Finds the texts beside a picture of the folder `root`."""

    def __init__(self, root: Path) -> None:
        self._root = root.resolve()
        self._folder: Path | None = None
        self._texts: dict[str, dict[str, str]] = {}

    def ending(self, image: ImageFile, columns: Mapping[str, Any]) -> str:
        """What the name of the text with this kind of captions has behind the picture's; `columns`:
        of the pair. JSON may hold all kinds."""
        if not (kind := kind_of(columns)):
            return ""
        texts = self._texts_of(image)
        plain = texts.get("", "")
        is_json = plain.lower().endswith(".json") or (plain and JSON_COLUMN in columns)
        of_kind = (ending for ending in texts if ending[1:] == kind)
        return next(of_kind, "" if is_json else ending_of(kind))

    def beside(self, image: ImageFile, ending: str = "") -> SourceText | None:
        """None without a text that belongs to this picture alone and can be read."""
        name = self._texts_of(image).get(ending)
        if name is None:
            return None
        try:
            content = read_within(self._root, file_of(image).with_name(name), MOST_TEXT)
            return SourceText(content, name.lower().endswith(".json"))
        except (OSError, UnicodeError):
            return None

    def _texts_of(self, image: ImageFile) -> dict[str, str]:
        """The texts beside a picture by the endings of their names."""
        path = file_of(image)
        if isinstance(image, Member) or not path.is_relative_to(self._root):
            return {}
        try:
            if path.parent != self._folder:
                self._folder, self._texts = path.parent, _texts_by_picture(path.parent)
        except OSError:
            return {}
        return self._texts.get(path.name, {})


def _texts_by_picture(folder: Path) -> dict[str, dict[str, str]]:
    """The texts of each picture in a folder that it shares with no other, by their endings."""
    files = [name for name in os.listdir(folder) if not is_hidden(name)]
    by_picture: dict[str, dict[str, str]] = {}
    for picture, named in texts_by_field(files).items():
        start = len(PurePosixPath(picture).stem)
        by_picture[picture] = {PurePosixPath(name).stem[start:]: name for name in named.values()}
    for endings in ((".json",), CAPTIONS):  # metadata hold the caption only where no text does
        texts: dict[str, list[str]] = {}
        for text, pictures in owners_of(files, endings).items():
            if len(pictures) == 1:
                texts.setdefault(pictures[0], []).append(text)
        for picture, names in texts.items():
            if len(names) == 1:
                by_picture.setdefault(picture, {})[""] = names[0]
    return by_picture
