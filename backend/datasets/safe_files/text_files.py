"""Lines of text files, with encoding detection and bounded line length.

UTF-8 is preferred; single lines that are not valid UTF-8 are reported as problems. A file in
another encoding is recognised by its byte order mark, by the zero bytes of UTF-16, or else by
charset-normalizer; if the result is uncertain, the file is refused until the user specifies the
encoding.
"""

import codecs
import io
import math
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from charset_normalizer import from_bytes

from backend.datasets.read_options import JSON_LINES, where_to_state
from backend.datasets.safe_files.regular_files import open_regular, open_within, read_regular
from backend.errors import DatasetError, DatasetFormatError

#: Maximum bytes of one line: a caption has up to 20,000 characters, other columns may have more.
LONGEST_LINE = 32_000_000
#: Maximum decompressed bytes of a container's member, and of a Parquet row group.
MOST_BYTES = 500_000_000
_BLOCK = 1 << 20
#: Bytes decoded at a time, which bounds the memory for a large file in another encoding.
_PIECE = 1 << 16
#: Bytes of a non-UTF-8 file inspected to detect its encoding.
_SAMPLE = 200_000
_JSON = (*JSON_LINES, ".json")
#: Insignificant differences in charset-normalizer's mess and coherence, and the minimum coherence;
#: all in [0, 1].
_SAME_MESS, _SAME_COHERENCE, _LEAST_COHERENCE = 0.02, 0.05, 0.3
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"), (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"),
)  # fmt: skip


@dataclass(frozen=True)
class TextLine:
    """A line with its line ending; `text` is None, with a `problem`, if it cannot be read."""

    text: str | None
    problem: str = ""


@dataclass(frozen=True)
class Encoding:
    """`name`: for `codecs`; `note`: a note for the user, "" for UTF-8."""

    name: str
    note: str = ""


@contextmanager
def open_in_folders(path: Path, folders: Sequence[Path] = ()) -> Iterator[IO[bytes]]:
    """Open a regular file for reading. `folders`: it has to lie in one of them; none: it may lie
    anywhere. Raises DatasetFormatError."""
    try:
        # No time limit: a table may be large and on a slow disk.
        is_free = not folders
        file = open_regular(path, math.inf) if is_free else open_within(folders, path, math.inf)
    except OSError as problem:
        reason = problem.strerror or str(problem)
        raise DatasetFormatError(f"'{path.name}' cannot be opened: {reason}.") from problem
    with file:
        yield file


def text_of(path: Path) -> str:
    """The text of a file given along with a dataset, such as a list of ids, in UTF-8. Raises
    DatasetError."""
    try:
        return read_regular(path, MOST_BYTES).decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise DatasetError(f"{path} is not text in UTF-8.") from problem
    except OSError as problem:
        raise DatasetError(f"{path} cannot be read: {problem.strerror or problem}.") from problem
    except ValueError as problem:
        raise DatasetError(f"{path} is too large: {problem}.") from problem


def encoding_of(
    file: IO[bytes], name: str, choice: str | None = None, guess: bool = True
) -> Encoding:
    """The encoding of the text in `file`, which may be read to the end and is rewound.

    JSON (according to `name`) is UTF-8 by its standard; lines that are not are reported one by one.
    `guess` False: the same holds for this text.

    `choice` is used without detection. Raises DatasetFormatError if there is no such encoding,
    or if the text is not UTF-8 and detection is uncertain, listing the candidates.
    """
    start = file.tell()
    try:
        head = file.read(4)
        if choice is not None:
            return Encoding(_with_its_mark(known_encoding(choice), head, name))
        charset = next((encoding for mark, encoding in _MARKS if head.startswith(mark)), None)
        if charset is not None:
            return Encoding(charset, "" if charset == "utf-8-sig" else _read_as(name, charset))
        file.seek(start)
        if not guess or name.lower().endswith(_JSON):
            wide = _without_mark(file.read(_SAMPLE))
            return Encoding(wide, _read_as(name, wide)) if wide else Encoding("utf-8-sig")
        return _guess_encoding(_EncodingSample(file), name)
    finally:
        file.seek(start)


def _with_its_mark(encoding: str, head: bytes, name: str) -> str:
    """The encoding. Raises DatasetFormatError if the file lacks the byte order mark it requires."""
    marks = [mark for mark, other in _MARKS if other == encoding != "utf-8-sig"]
    if marks and not head.startswith(tuple(marks)):
        raise DatasetFormatError(
            f"'{name}' has no byte order mark: state whether it is {encoding}-le or {encoding}-be.",
            **where_to_state("encoding"),
        )
    return encoding


def decoded_text(
    content: bytes,
    name: str,
    choice: str | None = None,
    note: Callable[[str], None] = lambda _: None,
) -> str:
    """The text of a small file. UTF-16 and UTF-32 are recognised, as in JSON lines, and `note` is
    called with their name; a caption is too short to guess any other encoding.

    Raises DatasetFormatError if the text is not in that encoding, as `encoding_of` does.
    """
    encoding = encoding_of(io.BytesIO(content), name, choice, guess=False)
    try:
        text = content.decode(encoding.name)
    except (UnicodeError, ValueError) as problem:
        raise DatasetFormatError(_not_decodable(f"'{name}'", encoding.name)) from problem
    if encoding.note:
        note(encoding.name.upper())
    return text.removeprefix("\ufeff")


@contextmanager
def as_utf8(path: Path, encoding: str, folders: Sequence[Path] = ()) -> Iterator[IO[bytes] | None]:
    """The text of a large file in UTF-8: a temporary copy, made piece by piece, or None if the file
    itself is in UTF-8, which is checked. `folders`: as for `open_in_folders`.

    Raises DatasetFormatError with the place of the first byte that is not in that encoding.
    """
    if encoding == "utf-8-sig":
        with open_in_folders(path, folders) as file:
            for _ in _decode(file, encoding, path.name):
                pass
        yield None
        return
    with tempfile.TemporaryFile() as copy:
        try:
            with open_in_folders(path, folders) as file:
                for text in _decode(file, encoding, path.name):
                    copy.write(text.encode("utf-8"))
            copy.flush()
        except UnicodeError as problem:
            raise DatasetFormatError(_not_decodable(f"'{path.name}'", encoding)) from problem
        except OSError as problem:
            raise DatasetFormatError(
                f"'{path.name}' is read as {encoding} through a temporary copy in UTF-8, which "
                f"cannot be written: {problem.strerror or problem}. Save it as UTF-8."
            ) from problem
        yield copy


def _decode(file: IO[bytes], encoding: str, name: str) -> Iterator[str]:
    """The text of a file, block by block. A truncated last character is not an error here:
    callers that know the format report it."""
    decoder = codecs.getincrementaldecoder(encoding)("strict")
    place = 0
    while block := file.read(_PIECE):
        waiting = decoder.getstate()[0]
        try:
            yield decoder.decode(block)
        except UnicodeDecodeError as problem:
            byte = place - len(waiting) + problem.start
            raise DatasetFormatError(
                _not_decodable(f"'{name}'", encoding, f" at byte {byte:,}")
            ) from problem
        place += len(block)


def decoded_lines(file: IO[bytes], encoding: str) -> Iterator[TextLine]:
    """The lines of a file, one by one. Lines that are too long or undecodable have a problem."""
    if codecs.lookup(encoding).name.startswith(("utf-16", "utf-32")):
        yield from _wide_lines(file, encoding)
        return
    strict = "utf-8" if encoding == "utf-8-sig" else encoding
    for number, line in enumerate(_lines_within_limit(file)):
        if line is None:
            yield TextLine(None, _TOO_LONG)
            continue
        if number == 0 and encoding == "utf-8-sig":
            line = line.removeprefix(codecs.BOM_UTF8)
        try:
            yield TextLine(line.decode(strict))
        except (UnicodeError, ValueError):
            yield TextLine(None, _not_decodable("This line", encoding))


_TOO_LONG = f"This line is longer than {LONGEST_LINE // 10**6} megabytes."


def _not_decodable(what: str, encoding: str, place: str = "") -> str:
    name = "UTF-8" if encoding.startswith("utf-8") else encoding
    return f"{what} is not {name}{place}. Save the file as UTF-8, or name its encoding."


def _lines_within_limit(file: IO[bytes]) -> Iterator[bytes | None]:
    """Lines of bytes; None for a line that is too long, which is skipped without storing it."""
    while line := file.readline(LONGEST_LINE + 1):
        if len(line) <= LONGEST_LINE:
            yield line
            continue
        while line and not line.endswith(b"\n"):
            line = file.readline(_BLOCK)
        yield None


def _wide_lines(file: IO[bytes], encoding: str) -> Iterator[TextLine]:
    """Lines of UTF-16 and UTF-32, decoded before splitting, because a newline byte may be part of
    another character. Invalid characters become U+FFFD, and their lines have a problem."""
    text = io.TextIOWrapper(file, encoding, errors="replace", newline="\n")
    try:
        while line := text.readline(LONGEST_LINE + 1):
            if len(line) <= LONGEST_LINE:
                broken = "\ufffd" in line
                yield (
                    TextLine(None, _not_decodable("This line", encoding))
                    if broken
                    else TextLine(line)
                )
                continue
            while line and not line.endswith("\n"):
                line = text.readline(_BLOCK)
            yield TextLine(None, _TOO_LONG)
    finally:
        text.detach()


def known_encoding(name: str) -> str:
    """The normalised name for `codecs`. Raises DatasetFormatError if there is no such encoding."""
    try:
        codec = codecs.lookup(name)
        "".encode(name)  # LookupError for a codec of bytes, such as hex
    except (LookupError, ValueError) as problem:
        raise DatasetFormatError(
            f"There is no encoding '{name}'. Usual ones: utf-8, cp1252, latin-1, utf-16, shift_jis."
        ) from problem
    return "utf-8-sig" if codec.name == "utf-8" else codec.name


class _EncodingSample:
    """Statistics about a file's encoding, collected in one pass."""

    def __init__(self, file: IO[bytes]) -> None:
        self.is_utf8 = True
        self.head = b""
        self.utf8_lines = self.other_lines = 0
        lines: list[bytes] = []
        size = 0
        for line in _lines_within_limit(file):
            if line is None:
                continue
            if len(self.head) < _SAMPLE:
                self.head += line[:_SAMPLE]
            if line.isascii():
                continue
            try:
                line.decode("utf-8")
                self.utf8_lines += 1
            except UnicodeDecodeError:
                self.is_utf8 = False
                self.other_lines += 1
                if size < _SAMPLE:
                    lines.append(line[:_SAMPLE])
                    size += len(line)
        #: Lines that are not UTF-8; ASCII lines are uninformative.
        self.strange = b"".join(lines)


def _guess_encoding(sample: _EncodingSample, name: str) -> Encoding:
    if wide := _without_mark(sample.head):
        return Encoding(wide, _read_as(name, wide))
    # Invalid lines in a mostly UTF-8 file are reported line by line.
    if sample.is_utf8 or sample.utf8_lines >= sample.other_lines:
        return Encoding("utf-8-sig")
    matches = list(from_bytes(sample.strange))
    if not matches:
        raise DatasetFormatError(
            f"'{name}' is not text in any known encoding. Save it as UTF-8, or name its encoding.",
            **where_to_state("encoding"),
        )
    best = min(matches, key=lambda match: (match.chaos, -match.coherence))
    rivals = [
        match
        for match in matches
        if str(match) != str(best)
        and match.chaos <= best.chaos + _SAME_MESS
        and match.coherence >= best.coherence - _SAME_COHERENCE
    ]
    if rivals or best.coherence < _LEAST_COHERENCE:
        samples = "; ".join(
            f"{match.encoding} would read “{_example(str(match))}”" for match in (best, *rivals[:2])
        )
        raise DatasetFormatError(
            f"'{name}' is not UTF-8, and its encoding is uncertain: {samples}. Save it as UTF-8, "
            "or name its encoding.",
            **where_to_state("encoding", "cp1252"),
        )
    return Encoding(
        best.encoding,
        f"'{name}' is not UTF-8; it is read as {best.encoding} (“{_example(str(best))}”). If that "
        "is wrong, delete the dataset and name the encoding.",
    )


def _read_as(name: str, encoding: str) -> str:
    return f"'{name}' is read as {encoding.upper()}."


def _without_mark(head: bytes) -> str | None:
    """Detect UTF-16 without a byte order mark: in Latin text, half of the bytes are zero."""
    even, odd = head[0:2000:2], head[1:2000:2]
    if len(odd) < 4:
        return None
    for wide, zeros, letters in (("utf-16-le", odd, even), ("utf-16-be", even, odd)):
        if zeros.count(0) > 0.4 * len(zeros) and letters.count(0) < 0.1 * len(letters):
            return wide
    return None


def _example(text: str) -> str:
    """The first three words that are not ASCII, as an example for messages."""
    words: Iterable[str] = (word for word in re.split(r"[\s,;]+", text) if not word.isascii())
    return " ".join(word for word, _ in zip(words, range(3), strict=False))[:60]
