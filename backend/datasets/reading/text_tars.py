"""Tars of texts beside tars of pictures (`images/00000.tar`, `texts/00000.tar`): which they are,
and the texts of each picture, by the names of their members."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import groupby, takewhile
from pathlib import Path

from backend.datasets.cells import EmbeddedImage, trim
from backend.datasets.read_options import CAPTIONS, UNREADABLE_PICTURES
from backend.datasets.reading.named_pictures import PICTURE_FOLDERS
from backend.datasets.reading.on_disk import temporary_database
from backend.datasets.reading.sample_fields import SampleChoice
from backend.datasets.reading.source_tables import SourceTables
from backend.datasets.reading.tar_members import DamagedTar, members_of
from backend.datasets.reading.tar_samples import TarMember

_TABLES = """
CREATE TABLE texts (
    id INTEGER PRIMARY KEY, tar INT, series TEXT, number INT, stem BLOB, "key" BLOB, ending BLOB,
    name BLOB, content BLOB, is_used INT DEFAULT 0
);
CREATE TABLE pictures (tar INT, series TEXT, stem BLOB, "key" BLOB);
"""
#: A plain ending goes with the texts whose names go on (`a.png`, `a.blip.txt`), unless another
#: picture is called so.
_OF_PICTURE = """
SELECT id, tar, stem, ending, name, content FROM texts WHERE "key" = :key AND (
    stem = :stem OR (:stem = :key AND NOT EXISTS
        (SELECT 1 FROM pictures WHERE pictures.stem = texts.stem))
) ORDER BY id
"""
_IN_SEVERAL = "SELECT 1 FROM {} GROUP BY series, stem HAVING min(tar) <> max(tar) LIMIT 1"
#: What folders of texts are called.
TEXT_FOLDERS = ("text", "texts", "txt", "caption", "captions", "annotations", "labels")
_ALIKE = """
SELECT 1 FROM pictures WHERE EXISTS
    (SELECT 1 FROM texts WHERE texts."key" = pictures."key" OR texts."key" = pictures.stem) LIMIT 1
"""
_WITH_FOLDER = "SELECT 1 FROM {} WHERE base_name(stem) <> stem LIMIT 1"
#: Different names that are equal without their folders.
_TWINS = """
SELECT 1 FROM {} GROUP BY base_name("key") HAVING min("key") <> max("key") LIMIT 1
"""
_UNUSED = "SELECT tar, number, name FROM texts WHERE NOT is_used ORDER BY tar, number, id"


def set_texts_apart(source: SourceTables, root: Path) -> SourceTables:
    """The source with its tars of texts apart from its tables, if these are tars of which some hold
    pictures and some none."""
    tars = [table for table in source.tables if table.suffix.lower() == ".tar"]
    if source.described is not None or len(tars) < 2 or len(tars) < len(source.tables):
        return source
    of_texts = {
        tar
        for _, series in groupby(sorted(tars, key=_series), key=_series)
        for tar in _without_pictures(list(series), root)
    }
    if len(of_texts) == len(tars):
        return source
    pictures = [tar for tar in tars if tar not in of_texts]
    return replace(source, tables=pictures, text_tars=tuple(sorted(of_texts)))


def _series(tar: Path) -> str:
    """What the shards of one kind have in common."""
    return f"{tar.parent}/{re.sub(r'[0-9]+', '', tar.name)}"


def _without_pictures(series: Sequence[Path], root: Path) -> list[Path]:
    """Those that hold no picture; none of them if the first does."""
    if has_pictures(series[0], root):
        return []
    return [series[0], *(tar for tar in series[1:] if not has_pictures(tar, root))]


def has_pictures(tar: Path, root: Path) -> bool:
    """As soon as one is seen. What cannot be read at all is no tar of texts either."""
    try:
        members = members_of(tar, (root,), ())
        return any(member.is_picture or member.suffix in UNREADABLE_PICTURES for member in members)
    except DamagedTar as problem:
        return not problem.has_members


class TextTars:
    """The texts of a source whose pictures lie in other tars, in a temporary file.

    Names count from the folder that was packed on: `images/a.png` in `images.tar` is called as
    `a.txt` in `texts/0.tar`. Where none is called as another, the folders in which all pictures and
    all texts lie do not count if they differ in depth, or in a word for what they hold; and none
    do where the names on one side have no folders, and all are unique. `note` says so.
    Where names occur in several shards, texts come from the shard whose name differs in the one
    word for what it holds. Texts of another split are no picture's.
    """

    def __init__(self, source: SourceTables, names: Mapping[Path, str], root: Path,
                 choice: SampleChoice) -> None:  # fmt: skip
        """`names`: of all tars, for messages and for finding shards that belong together."""
        self._tars, self._splits, self._names = source.text_tars, source.splits, names
        self._damages: dict[int, tuple[int, str]] = {}
        self._database = temporary_database(_TABLES)
        for number, tar in enumerate(self._tars):
            self._add_texts(number, tar, root, choice)
        has_splits = all(tar in source.splits for tar in self._tars)
        for number, tar in enumerate(source.tables):
            series = source.splits.get(tar, "") if has_splits else ""
            with suppress(DamagedTar):  # reported when its pictures are read
                self._database.executemany(
                    "INSERT INTO pictures VALUES (?, ?, ?, ?)",
                    (
                        (number, series, *map(_bytes, _names_from_packed(tar, member)))
                        for member in members_of(tar, (root,), ()) if member.is_picture
                    ),
                )  # fmt: skip
        self._database.execute('CREATE INDEX by_key ON texts ("key")')
        self._database.execute("CREATE INDEX by_stem ON pictures (stem)")
        #: How many characters of each picture's name do not count; None: all of its folders.
        self._ignored: int | None = 0
        self.note = self._align_folders()
        #: Whether names occur in several shards.
        self.begins_again = any(
            self._database.execute(_IN_SEVERAL.format(table)).fetchone()
            for table in ("texts", "pictures")
        )

    def _add_texts(self, tar_number: int, tar: Path, root: Path, choice: SampleChoice) -> None:
        number, stem = 0, None
        try:
            for member in members_of(tar, (root,), choice.text_endings):
                number += member.stem != stem
                stem = member.stem
                names = _names_from_packed(tar, member)
                parts = map(_bytes, (*names, member.ending, member.name))
                self._database.execute(
                    "INSERT INTO texts VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, 0)",
                    (tar_number, _series(tar), number, *parts, member.text),
                )
        except DamagedTar as problem:
            self._damages[tar_number] = number + 1, str(problem)

    def _align_folders(self) -> str:
        """Leave out folders where no name is called as another; a note about it, or ""."""
        tables = ("pictures", "texts")
        if self._is_any_called_alike():
            return ""
        common = {table: self._common_folder(table) for table in tables}
        if _differ_in_depth(*common.values()):
            for table, folder in common.items():
                self._shorten(table, f"substr({{}}, {len(folder) + 1})")
            self._ignored = len(common["pictures"])
            if self._is_any_called_alike():
                folders = " and ".join(f"'{trim(_text(f), 80)}'" for f in common.values() if f)
                return f"No text is called like a picture until the folders {folders} are left out."
        self._database.create_function("base_name", 1, _base_name, deterministic=True)
        has_folders, has_twins = (
            [self._database.execute(query.format(table)).fetchone() for table in tables]
            for query in (_WITH_FOLDER, _TWINS)
        )
        if all(has_folders) or any(has_twins):
            return ""
        for table in tables:
            self._shorten(table, "base_name({})")
        self._ignored = None
        is_alike = self._is_any_called_alike()
        return "Pictures and texts are matched by their names without folders." if is_alike else ""

    def _is_any_called_alike(self) -> bool:
        return self._database.execute(_ALIKE).fetchone() is not None

    def _common_folder(self, table: str) -> bytes:
        """The folders, with a slash at their end, in which all members lie."""
        first, last = self._database.execute(f"SELECT min(stem), max(stem) FROM {table}").fetchone()
        pairs = zip(_folders(first or b""), _folders(last or b""), strict=False)
        return b"".join(folder for folder, _ in takewhile(lambda pair: pair[0] == pair[1], pairs))

    def _shorten(self, table: str, shorter: str) -> None:
        names = ", ".join(f'"{name}" = {shorter.format(name)}' for name in ("stem", "key"))
        self._database.execute(f"UPDATE {table} SET {names}")

    def _name_of_picture(self, tar: Path, name: str) -> bytes:
        own = _bytes(_from_packed(tar, name))
        return _base_name(own) if self._ignored is None else own[self._ignored :]

    def texts_of(self, tar: Path, picture: TarMember) -> list[TarMember]:
        """The texts, and what else lies in tars of texts, of a picture in a tar of pictures."""
        key, stem = (self._name_of_picture(tar, name) for name in (picture.key, picture.stem))
        rows = self._database.execute(_OF_PICTURE, {"key": key, "stem": stem})
        return [
            TarMember(
                f"{self._names[self._tars[number]]}/{_text(name)}", picture.key,
                picture.stem if own == stem else picture.key + _text(own[len(key):]),
                _text(ending), EmbeddedImage(""), content, identity,
            )
            for identity, number, own, ending, name, content in rows
            if self._belongs(self._tars[number], tar)
        ]  # fmt: skip

    def _belongs(self, texts: Path, pictures: Path) -> bool:
        splits = {self._splits[tar] for tar in (texts, pictures) if tar in self._splits}
        if len(splits) > 1:
            return False
        return not self.begins_again or _are_partners(self._names[texts], self._names[pictures])

    def settle(self, group: list[TarMember]) -> list[TarMember]:
        """The members that count: a picture with a caption in its own tar has no other. The rest
        is remembered to have a picture."""
        if any(m.text is not None and m.suffix in CAPTIONS and not m.text_id for m in group):
            return [member for member in group if not member.text_id]
        self._database.executemany(
            "UPDATE texts SET is_used = 1 WHERE id = ?",
            [(member.text_id,) for member in group if member.text_id],
        )
        return group

    def find_unused(self) -> Iterator[tuple[Path, int, str]]:
        """What has no picture, once all pictures were read: the tar, its row, and why it is left
        out."""
        rows = self._database.execute(_UNUSED)
        for (tar, number), members in groupby(rows, key=lambda row: row[:2]):
            yield self._tars[tar], number, (
                f"No picture belongs to '{trim(_text(next(members)[2]), 80)}': none in the tars of "
                "pictures is called so, or that has a caption already."
            )  # fmt: skip
        for tar, (number, problem) in self._damages.items():
            yield self._tars[tar], number, f"The tar ends prematurely here: {problem}."

    def close(self) -> None:
        self._database.close()


def _from_packed(tar: Path, name: str) -> str:
    """A member's name without the folder that was packed, if it is the tar's own or the tar's name.

    >>> _from_packed(Path("x/images.tar"), "images/a"), _from_packed(Path("x/0.tar"), "y/a")
    ('a', 'y/a')
    """
    first, slash, rest = name.partition("/")
    return rest if slash and first in (tar.stem, tar.parent.name) else name


def _names_from_packed(tar: Path, member: TarMember) -> tuple[str, str]:
    """The stem and the key of a member, likewise."""
    return _from_packed(tar, member.stem), _from_packed(tar, member.key)


def _base_name(name: bytes) -> bytes:
    return name.rpartition(b"/")[2]


def _folders(name: bytes) -> list[bytes]:
    return [part + b"/" for part in name.split(b"/")[:-1]]


def _differ_in_depth(pictures: bytes, texts: bytes) -> bool:
    """Whether one of two folders is the other but for folders around it, and words for pictures and
    for texts.

    >>> _differ_in_depth(b"set/train/", b"train/"), _differ_in_depth(b"images/", b"x/captions/")
    (True, True)
    >>> _differ_in_depth(b"cats/", b"dogs/"), _differ_in_depth(b"val/images/", b"train/texts/")
    (False, False)
    """
    names = (reversed(_text(folder).lower().split("/")[:-1]) for folder in (pictures, texts))
    return all(
        one == other or (one in PICTURE_FOLDERS and other in TEXT_FOLDERS)
        for one, other in zip(*names, strict=False)
    )


def _are_partners(texts: str, pictures: str) -> bool:
    """Whether the names of two shards differ in one word, which is no number.

    >>> _are_partners("texts/train-0.tar", "images/train-0.tar")
    True
    >>> _are_partners("texts/1.tar", "images/0.tar"), _are_partners("1.tar", "0.tar")
    (False, False)
    """
    words, others = (re.split(r"[/._-]", name) for name in (texts, pictures))
    differences = {pair for pair in zip(words, others, strict=False) if pair[0] != pair[1]}
    return len(words) == len(others) and len(differences) == 1 and not any(
        word.isdecimal() for word in next(iter(differences))
    )  # fmt: skip


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _text(name: bytes) -> str:
    return name.decode("utf-8", "surrogatepass")
