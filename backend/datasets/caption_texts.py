"""Small texts with a caption, in files beside pictures and in tars."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePosixPath

from backend.datasets.cells import shown
from backend.datasets.text_files import decoded_text


@dataclass(frozen=True)
class TextReader:
    """How such texts are read. `encoding`, `read_as`: see `text_files.decoded_text`; `note` is
    called with other decisions. `captions_per_line`: each line is a caption, else the whole is."""

    encoding: str | None
    read_as: Callable[[str], None]
    note: Callable[[str], None]
    captions_per_line: bool

    def decoded(self, content: bytes, name: str) -> str:
        """The text. Raises DatasetFormatError."""
        return decoded_text(content, name, self.encoding, self.read_as)

    def captions(self, content: bytes, name: str) -> str | list[str]:
        """The caption, or those of its lines. Raises DatasetFormatError."""
        text = self.decoded(content, name)
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        if len(lines) > 1 and self.captions_per_line:
            return lines
        if len(lines) > 1:
            ending = PurePosixPath(name).suffix.lower()
            self.note(
                f"Some '*{shown(ending)}' have several lines, which are read as one caption. If "
                "each line is a caption, say so and import again."
            )
        return text


def unreadable_picture(name: str) -> str:
    """What is wrong with a picture in a format that cannot be read."""
    kind = PurePosixPath(name).suffix[1:].upper()
    return f"'{shown(name)}' is in a format that cannot be read ({kind}): save it as JPEG or PNG."
