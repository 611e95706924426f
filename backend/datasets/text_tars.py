"""Tars of texts beside tars of pictures (`images/00000.tar`, `texts/00000.tar`): which they are,
and the texts of each picture, by the names of their members."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import groupby
from pathlib import Path

from backend.datasets.cells import EmbeddedImage, trim
from backend.datasets.hub_datasets import SourceTables
from backend.datasets.on_disk import temporary_database
from backend.datasets.read_options import CAPTIONS, UNREADABLE_PICTURES
from backend.datasets.sample_fields import SampleChoice
from backend.datasets.tar_members import DamagedTar, members_of
from backend.datasets.tar_samples import TarMember

_TABLES = """
CREATE TABLE texts (
    id INTEGER PRIMARY KEY, tar INT, series TEXT, number INT, stem BLOB, "key" BLOB, ending BLOB,
    name BLOB, content BLOB, is_used INT DEFAULT 0
);
CREATE TABLE pictures (tar INT, series TEXT, stem BLOB);
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
_UNUSED = "SELECT tar, number, name FROM texts WHERE NOT is_used ORDER BY tar, number, id"


def set_texts_apart(source: SourceTables, root: Path) -> SourceTables:
    """The source with its tars of texts apart from its tables, if these are tars of which some hold
    pictures and some none."""
    tars = [table for table in source.tables if table.suffix.lower() == ".tar"]
    if source.energon is not None or len(tars) < 2 or len(tars) < len(source.tables):
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
    if _has_pictures(series[0], root):
        return []
    return [series[0], *(tar for tar in series[1:] if not _has_pictures(tar, root))]


def _has_pictures(tar: Path, root: Path) -> bool:
    """As soon as one is seen. What cannot be read at all is no tar of texts either."""
    try:
        members = members_of(tar, (root,), ())
        return any(member.is_picture or member.suffix in UNREADABLE_PICTURES for member in members)
    except DamagedTar as problem:
        return not problem.has_members


class TextTars:
    """The texts of a source whose pictures lie in other tars, in a temporary file.

    Names count from the folder that was packed on: `images/a.png` in `images.tar` is called as
    `a.txt` in `texts/0.tar`. Where names occur in several shards, texts come from the shard whose
    name differs in the one word for what it holds. Texts of another split are no picture's.
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
                    "INSERT INTO pictures VALUES (?, ?, ?)",
                    (
                        (number, series, _bytes(_from_packed(tar, member.stem)))
                        for member in members_of(tar, (root,), ()) if member.is_picture
                    ),
                )  # fmt: skip
        self._database.execute('CREATE INDEX by_key ON texts ("key")')
        self._database.execute("CREATE INDEX by_stem ON pictures (stem)")
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
                parts = map(_bytes, (_from_packed(tar, stem), _from_packed(tar, member.key),
                                     member.ending, member.name))  # fmt: skip
                self._database.execute(
                    "INSERT INTO texts VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, 0)",
                    (tar_number, _series(tar), number, *parts, member.text),
                )
        except DamagedTar as problem:
            self._damages[tar_number] = number + 1, str(problem)

    def texts_of(self, tar: Path, picture: TarMember) -> list[TarMember]:
        """The texts, and what else lies in tars of texts, of a picture in a tar of pictures."""
        key, stem = (_bytes(_from_packed(tar, name)) for name in (picture.key, picture.stem))
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
