"""Text files with the name of a picture and a caption on each line, as Flickr8k has them:
`name.jpg,caption` below a header (`captions.txt`), or `name.jpg#0` and a tab before the caption
(`Flickr8k.token.txt`); as people write them, also `name.jpg: caption` and `name.jpg caption`."""

import csv
import re
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from backend.datasets.cells import TableRow
from backend.datasets.read_options import PICTURES
from backend.datasets.reading.caption_lists import is_sentence
from backend.datasets.safe_files.text_files import decoded_lines, encoding_of, open_in_folders
from backend.errors import DatasetFormatError

_ENDINGS = "|".join(re.escape(ending) for ending in PICTURES)
_LINE = re.compile(
    rf"([^\t,|]+?(?:{_ENDINGS}))(?:#\d+)?(?:\s*[\t,|:]|\s)\s*(?:\d+\s*\|)?(.*)",
    re.IGNORECASE | re.DOTALL,
)
_NUMBER = re.compile(r"\d[\d.]*")
_NAMES = ("captions.txt", "*.token.txt", "*.token", "*.txt")
#: Lines of which one has to name a picture: the first may be a header.
_FIRST = 3
#: Of a text of another name: lines that all have to, with a sentence behind it.
_FIRST_OF_ANY = 10


def caption_lists(folder: Path) -> list[Path]:
    """The files of a folder that list captions; of several kinds the first."""
    for pattern in _NAMES:
        if lists := [path for path in sorted(folder.glob(pattern)) if is_caption_list(path)]:
            return lists
    return []


def is_caption_list(path: Path) -> bool:
    try:
        first = [row.values for row in islice(caption_list_rows(path), _FIRST_OF_ANY)]
    except DatasetFormatError:
        return False
    if any(map(path.match, _NAMES[:-1])):
        return any(first[:_FIRST])
    words = [_NUMBER.sub("", (row or {}).get("caption", "")) for row in first]  # not of boxes
    return len(words) > 1 and all(map(is_sentence, words))


def caption_place(line: str) -> tuple[str, int, int, str] | None:
    """The picture that a line names, from where to where its caption stands there, and the caption;
    None for a line that names none.

    >>> caption_place('a.png#0\\t"A ""red"" dog"')
    ('a.png', 8, 23, 'A "red" dog')
    """
    text = line.rstrip("\r\n")
    match = _LINE.fullmatch(text.lstrip())
    if match is None:
        return None
    before = len(text) - len(text.lstrip())
    return match[1], match.start(2) + before, match.end(2) + before, _unquote(match[2])


def caption_list_rows(
    path: Path, encoding: str | None = None, folders: Sequence[Path] = ()
) -> Iterator[TableRow]:
    """A row for each line; a header is none. Raises DatasetFormatError as `encoding_of` does."""
    with open_in_folders(path, folders) as raw:
        lines = decoded_lines(raw, encoding_of(raw, path.name, encoding).name)
        for number, line in enumerate(lines, 1):
            text = line.text or ""
            if (place := caption_place(text)) is not None:
                yield TableRow(number, {"file_name": place[0], "caption": place[3]})
            elif number > 1 and (text.strip() or line.text is None):
                message = line.problem or "This line names no picture before its caption."
                yield TableRow(number, None, message)


def _unquote(text: str) -> str:
    """
    >>> _unquote('"A ""red"" dog, running ."'), _unquote('A dog, "so big" .')
    ('A "red" dog, running .', 'A dog, "so big" .')
    """
    if len(text) < 2 or not (text.startswith('"') and text.endswith('"')):
        return text
    cells = next(csv.reader([text]))
    return cells[0] if len(cells) == 1 else text
