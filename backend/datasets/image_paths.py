"""Where the pictures are that the rows of a table name.

All paths of a table are relative to one folder: its own, the dataset's, or the one that COCO's
layout provides. It is chosen by the first rows, because a name that is missing in one folder may be
another picture in the next. Paths that other systems wrote are tried as they are, and then without
what those systems add; nothing outside the dataset's folder is ever opened.
"""

import difflib
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path, PurePosixPath
from urllib.parse import unquote

from backend.datasets.cells import shown
from backend.datasets.containers import SEPARATOR, ImageFile, Member, file_of
from backend.datasets.splits import SplitFolders
from db.texts import composed

_MOST_FOLDERS = 10_000
#: Names in a folder beyond which no similar one is looked for, and missing files with a hint.
_MOST_NAMES, _MOST_HINTS = 50_000, 100
#: Rows by which folder and prefix are chosen.
_SAMPLE = 200
_ABSOLUTE = re.compile(r"/|[A-Za-z]:/")


class ImagePaths:
    """Pictures of one table. `folders`: which its paths may be relative to, the likeliest first;
    `note` is called with what was done to paths of other systems. `state_splits`: the pictures'
    folders state their splits, as in an image folder."""

    def __init__(
        self,
        root: Path,
        folders: Iterable[Path],
        note: Callable[[str], None] = lambda _: None,
        state_splits: bool = False,
    ) -> None:
        self._root, self._note = root, note
        self._state_splits = state_splits
        self._splits = SplitFolders(())
        self._folders = list(dict.fromkeys(folders))
        self._folder = next((f for f in self._folders if f.is_relative_to(root)), root)
        #: What paths of another machine begin with, instead of `_folder`.
        self._prefix = ""
        self._noted: set[str] = set()
        self._resolved_folders: dict[Path, Path] = {}
        self._names: dict[Path, dict[str, list[str]]] = {}
        self._hints = 0

    def learn(self, paths: Iterable[str]) -> None:
        """Choose the folder, and the prefix of another machine, by the paths of some rows."""
        names = [name.partition(SEPARATOR)[0] for name in paths if "\0" not in name]
        if self._state_splits:
            self._splits = SplitFolders(PurePosixPath(name).parent for name in names)
        del names[_SAMPLE:]
        if len(self._folders) > 1:
            counts = [sum(self._is_there(f / name) for name in names) for f in self._folders]
            if max(counts):
                self._folder = self._folders[counts.index(max(counts))]
        foreign = [n for n in map(_portable, names) if _ABSOLUTE.match(n) and not _exists(Path(n))]
        prefixes: Counter[str] = Counter()
        for name in foreign:
            parts = name.split("/")
            prefixes.update(
                "/".join(parts[:n]) + "/"
                for n in range(1, len(parts))
                if self._is_there(self._folder / "/".join(parts[n:]))
            )
        if prefixes:
            most = max(prefixes.values())
            self._prefix = min((p for p in prefixes if prefixes[p] == most), key=len)

    def find(self, path_text: str) -> ImageFile | None:
        """The absolute path of a picture; None if it is outside the root, including through links.
        The file need not exist."""
        if "\0" in path_text:
            return None
        name, separator, inner = path_text.partition(SEPARATOR)
        for variant, what in self._variants(name):
            path = self._inside(self._folder / variant)
            if path is not None and _exists(path):
                if what and what not in self._noted:
                    self._noted.add(what)
                    self._note(
                        f"Image paths {what}: '{shown(name)}' is read as "
                        f"'{shown(path.relative_to(self._root).as_posix())}'."
                    )
                break
        else:
            path = self._inside(self._folder / name)
        return Member(path, inner) if path is not None and separator else path

    def split_of(self, picture: ImageFile) -> str:
        """The split that the picture's folder states; "" if none."""
        path = file_of(picture)
        if not self._state_splits or not path.is_relative_to(self._folder):
            return ""
        return self._splits.of(path.relative_to(self._folder).parent)

    def embedded(self, folder: Path, address: str) -> ImageFile | None:
        """The picture at the address of a container in `folder`; None if that is outside."""
        name, _, inner = address.partition(SEPARATOR)
        path = self._inside(folder / name)
        return None if path is None else Member(path, inner)

    def refusal(self, path: str) -> str:
        """Why `find` gives no place for a path."""
        plain = Path(os.path.normpath(self._folder / path.partition(SEPARATOR)[0]))
        if "\0" not in path and plain.is_relative_to(self._root):
            return (
                f"'{shown(path)}' is a link, or in a folder that is one, and leads outside the "
                "dataset's folder. Put the image itself there."
            )
        return (
            f"'{shown(path)}' lies outside the dataset's folder. Move the image into it, or name "
            "their common parent folder as the one that image paths are relative to."
        )

    def hint(self, missing: Path) -> str:
        """What is where a missing file is expected, as a sentence; "" if nothing helps."""
        self._hints += 1
        if self._hints > _MOST_HINTS or not missing.is_relative_to(self._root):
            return ""
        if missing.is_relative_to(self._folder):
            name = missing.relative_to(self._folder)
            for folder in self._folders:
                if folder != self._folder and self._is_there(folder / name):
                    return (
                        f" There is one in '{shown(folder.name)}', but the paths of this table are "
                        f"relative to '{shown(self._folder.name)}'."
                    )
        while not missing.parent.is_dir() and missing.parent != self._root:
            missing = missing.parent
        names = [name for names in self._names_in(missing.parent).values() for name in names]
        nearest = difflib.get_close_matches(missing.name, names, 1)
        return f" The most similar name there is '{shown(nearest[0])}'." if nearest else ""

    def _variants(self, name: str) -> Iterator[tuple[str, str]]:
        """The path as it is, then without what other systems add to one, step by step."""
        yield name, ""
        if _ABSOLUTE.match(name) and _exists(Path(name)):
            return  # a file of this machine, wherever it is
        changed = name
        for step, what in _STEPS:
            if (after := step(changed)) != changed:
                changed = after
                yield changed, what
        if self._prefix and changed.startswith(self._prefix):
            changed = changed.removeprefix(self._prefix)
            yield changed, f"begin with a folder of another machine ('{shown(self._prefix)}')"
        if (other := self._in_other_form(changed)) is not None:
            is_same = composed(other) == composed(changed)
            what = "normal form (macOS)" if is_same else "upper and lower case"
            yield other, f"differ from their files in {what}"

    def _in_other_form(self, name: str) -> str | None:
        """The only file whose path differs in case and in the normal form of letters with accents
        alone; None if there is none, or several."""
        folder, parts = self._folder, []
        for part in name.split("/"):
            if not _exists(folder / part):
                names = self._names_in(folder).get(composed(part).lower(), [])
                same = [name for name in names if composed(name) == composed(part)]
                if len(same or names) != 1:
                    return None
                (part,) = same or names
            folder /= part
            parts.append(part)
        return "/".join(parts)

    def _names_in(self, folder: Path) -> dict[str, list[str]]:
        """The names in a folder of the dataset by their composed lower case; empty if there are too
        many."""
        if folder not in self._names:
            if len(self._names) == _MOST_HINTS:
                self._names.clear()
            names: dict[str, list[str]] = {}
            inside = self._inside(folder)
            try:
                for count, entry in enumerate(os.scandir(folder) if inside is not None else ()):
                    if count == _MOST_NAMES:
                        names.clear()
                        break
                    names.setdefault(composed(entry.name).lower(), []).append(entry.name)
            except OSError:
                names.clear()
            self._names[folder] = names
        return self._names[folder]

    def _is_there(self, path: Path) -> bool:
        inside = self._inside(path)
        return inside is not None and _exists(inside)

    def _inside(self, path: Path) -> Path | None:
        try:
            path = self._resolved(path)
        except (OSError, RuntimeError, ValueError):
            return None
        return path if path.is_relative_to(self._root) else None

    def _resolved(self, path: Path) -> Path:
        """`path.resolve()`, which looks at every folder above it, with one look at a folder that
        many rows share."""
        if path.name == ".." or path.is_symlink():
            return path.resolve()
        if path.parent not in self._resolved_folders:
            if len(self._resolved_folders) == _MOST_FOLDERS:
                self._resolved_folders.clear()
            self._resolved_folders[path.parent] = path.parent.resolve()
        return self._resolved_folders[path.parent] / path.name


def _without_scheme(name: str) -> str:
    if not name.lower().startswith("file:"):
        return name
    return unquote(name[len("file:") :].removeprefix("//localhost").removeprefix("//"))


def _with_slashes(name: str) -> str:
    return name.replace("\\", "/")


#: What other systems add to a path, and how it is called.
_STEPS: tuple[tuple[Callable[[str], str], str], ...] = (
    (str.strip, "have blanks around them"),
    (_without_scheme, "begin with 'file:'"),
    (_with_slashes, "have backslashes"),
    (unquote, "have characters written as %20"),
)


def _portable(name: str) -> str:
    for step, _ in _STEPS:
        name = step(name)
    return name


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):
        return False
