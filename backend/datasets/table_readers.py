"""Readers of further formats, which features and other packages add (`backend.plugins`)."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from backend import plugins
from backend.datasets.cells import TableRow
from backend.errors import SettingsError


@dataclass(frozen=True)
class FoundTables:
    """The tables of a format in a folder, in order, and what to say about them."""

    tables: list[Path]
    notes: tuple[str, ...] = ()


def _none_of_them(_: Path) -> FoundTables | None:
    return None


@dataclass(frozen=True)
class TableReader:
    """Reads tables of another format.

    `endings`: of their files, such as ".xlsx"; `rows`: the rows of a file. A picture inside it is a
    cell `EmbeddedImage(f"{path.name}{SEPARATOR}{inner}")`, and `picture(path, inner)` are its
    bytes. `find_tables`: the tables of a folder of this format, or of the file that lists them;
    None for another. `folder_of`: the folder below which a table of this name has all its files, if
    these are more than the table; its path ends in a slash, or is "". All may raise
    DatasetFormatError, and `picture` ImageError or ValueError.
    """

    endings: tuple[str, ...]
    rows: Callable[[Path], Iterator[TableRow]]
    picture: Callable[[Path, str], bytes] | None = None
    find_tables: Callable[[Path], FoundTables | None] = _none_of_them
    folder_of: Callable[[str], str] | None = None

    def checked_rows(self, path: Path) -> Iterator[TableRow]:
        """The rows; raises SettingsError at what is none."""
        for row in self.rows(path):
            if not isinstance(row, TableRow):
                raise SettingsError(
                    f"The reader of {', '.join(self.endings)} yields {type(row).__name__}, not "
                    "TableRow. Repair its package."
                )
            yield row


def table_readers() -> dict[str, TableReader]:
    """The readers by ending."""
    readers = plugins.load("readers", TableReader)
    return {ending.lower(): reader for reader in readers for ending in reader.endings}


def picture_readers() -> dict[str, Callable[[Path, str], bytes]]:
    """The readers of pictures inside tables, by ending."""
    readers = table_readers().items()
    return {ending: reader.picture for ending, reader in readers if reader.picture is not None}


def tables_of_readers(source: Path) -> FoundTables | None:
    """The tables of a folder, or of a file that lists them, if a reader knows its format."""
    readers = plugins.load("readers", TableReader)
    return next((found for each in readers if (found := each.find_tables(source))), None)
