"""Where the pictures are that the rows of a table name.

All paths of a table are relative to one folder: its own, the dataset's, or the one that COCO's
layout provides. It is chosen by the first rows, because a name that is missing in one folder may be
another picture in the next. What no file has may be in a zip or tar beside the table. If no picture
of the first rows is in any of these places, and most are elsewhere below the root, pictures are
found by the ends of their paths. Paths that other systems wrote are found by `foreign_names`, in
folders and in archives alike; nothing outside the dataset's folder is ever opened.
"""

import difflib
import os
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path, PurePosixPath

from backend.datasets.cells import BadCell, trim
from backend.datasets.read_options import is_hidden
from backend.datasets.reading.gzipped_tars import gzipped_tars
from backend.datasets.reading.named_pictures import (
    PICTURE_FOLDERS,
    PicturesBelow,
    coco_names,
    is_coco_name,
)
from backend.datasets.reading.tar_members import TarPictures
from backend.datasets.safe_files.containers import (
    SEPARATOR,
    ImageFile,
    Member,
    ZipMembers,
    file_of,
    tar_position,
)
from backend.datasets.safe_files.foreign_names import (
    ForeignNames,
    NamesBelow,
    NamesByFolder,
    fold_name,
)
from backend.datasets.splits import SplitFolders, split_in
from backend.errors import ImageError

_MOST_FOLDERS = 10_000
#: Names in a folder beyond which no similar one is looked for, and missing files with a hint.
_MOST_NAMES, _MOST_HINTS = 50_000, 100
#: Archives in a folder that pictures are looked for in.
_MOST_ARCHIVES = 1000
#: Rows by which folder and prefix are chosen.
_SAMPLE = 200


class ImagePaths:
    """Pictures of one table. `folders`: which its paths may be relative to, the likeliest first;
    `note` is called with what was done to paths of other systems. `state_splits`: the pictures'
    folders state their splits, as in an image folder; `pictures`: those below the root; `foreign`:
    folders with the pictures of other tables."""

    def __init__(
        self,
        root: Path,
        folders: Iterable[Path],
        note: Callable[[str], None] = lambda _: None,
        state_splits: bool = False,
        pictures: PicturesBelow | None = None,
        foreign: Collection[Path] = (),
    ) -> None:
        self._root, self._note = root, note
        self._state_splits = state_splits
        self._splits = SplitFolders(())
        self._folders = list(dict.fromkeys(folders))
        self._files = _FilesBelow(root)
        self._folder = next((f for f in self._folders if f.is_relative_to(root)), root)
        self._names = ForeignNames(_Files(self._files, self._folder))
        #: By an archive's folder: the folder of it that names are relative to, and its names.
        self._in_archives: dict[tuple[Path, str], tuple[str, ForeignNames]] = {}
        self._archives = _archives_in(self._folders, self._files)
        #: The pictures of tars that were looked into, and the names of the first rows.
        self._tars: dict[Path, TarPictures] = {}
        self._first_names: list[str] = []
        #: The container of the last embedded picture, and its resolved path; None: outside.
        self._container: tuple[Path, str] | None = None
        self._container_path: Path | None = None
        self._pictures, self._foreign = pictures, foreign
        #: No picture of the first rows is where a table's pictures are, and most are elsewhere.
        self._lack_folders = False
        self._noted: set[str] = set()
        self._hints = 0

    def learn(self, paths: Iterable[tuple[str, str]]) -> None:
        """Choose the folder, and the prefix of another machine, by the paths of some rows and the
        archive's folders (see `find`) that these are in."""
        every = [(name, within) for name, within in paths if "\0" not in name]
        names = [name.partition(SEPARATOR)[0] for name, _ in every]
        if self._state_splits:
            self._splits = SplitFolders(PurePosixPath(name).parent for name in names)
        del names[_SAMPLE:]
        candidates = [ForeignNames(_Files(self._files, folder)) for folder in self._folders]
        counts = [candidate.learn(names) for candidate in candidates]
        is_found = max(counts, default=(0, 0)) > (0, 0)
        self._lack_folders = not is_found and self._are_below(names)
        if is_found:
            place = counts.index(max(counts))
            self._folder, self._names = self._folders[place], candidates[place]
        else:
            self._names = ForeignNames(_Files(self._files, self._folder))
        archives: dict[tuple[str, str], list[str]] = {}
        for name, within in every[:_SAMPLE]:
            outer, separator, inner = (name if SEPARATOR in name else within).partition(SEPARATOR)
            if separator:
                is_address = SEPARATOR in name
                key = (outer, "" if is_address else inner)
                archives.setdefault(key, []).append(inner if is_address else name)
        for (outer, below), inner_names in archives.items():
            if (archive := self._file(outer)) is not None:
                self._learn_archive(archive, below, inner_names)
        self._first_names = names

    def _are_below(self, names: Sequence[str]) -> bool:
        """Whether most names are those of pictures anywhere below the root: a few are by chance."""
        if self._pictures is None or not names:
            return False
        return 2 * sum(map(bool, map(self._pictures.ending_in, names))) > len(names)

    def _learn_archive(self, archive: Path, below: str, names: Sequence[str] = ()) -> None:
        """Choose the folder of an archive that names are relative to: that of its table, none above
        it, one that all of it is in, or one for pictures beside the table."""
        present = NamesByFolder(())
        with suppress(ImageError):  # said when the picture is opened
            members = self._members_of(archive)
            if members is None:
                return
            present = members.names
        names = [other for name in names for other in (name, *coco_names(name))]
        usual = (f"{below}/{name}".lstrip("/") for name in PICTURE_FOLDERS)
        folders = list(dict.fromkeys((below, "", *_packed_folders(present), *usual)))
        candidates = [ForeignNames(NamesBelow(present, folder)) for folder in folders]
        counts = [candidate.learn(names) for candidate in candidates]
        place = counts.index(max(counts))
        self._in_archives[archive, below] = folders[place], candidates[place]

    def _members_of(self, archive: Path) -> ZipMembers | TarPictures | None:
        """None for a file that is no archive. Raises ImageError."""
        if archive.suffix.lower() == ".zip":
            return ZipMembers.of(archive)
        if archive.suffix.lower() != ".tar":
            return None
        if archive not in self._tars:
            pictures = TarPictures(archive, (self._root,))
            if pictures.problem:
                self._note(f"'{trim(archive.name)}' is not read to its end: {pictures.problem}.")
            self._tars[archive] = pictures
        return self._tars[archive]

    def find(
        self, path_text: str, within: str = "", is_anywhere: bool = False, split: str = ""
    ) -> ImageFile | None:
        """The absolute path of a picture; None if it is outside the root, including through links.
        The file need not exist. `within`: the folder of an archive, such as `a.zip!/train`, whose
        table names the picture. `is_anywhere`: it may be in any folder below the root, in those
        of other splits than `split` only if no other has one of its name. Raises BadCell if several
        files may be meant."""
        if "\0" in path_text:
            return None
        name, separator, inner = path_text.partition(SEPARATOR)
        if within and not separator:
            outer, _, below = within.partition(SEPARATOR)
            if (archive := self._file(outer)) is None:
                return None
            if (member := self._member(archive, below, name)) is not None:
                return member
            beside = self._file(name)
            if beside is not None and _exists(beside):
                return beside
            return Member(archive, f"{below}/{name}" if below else name)
        path = self._file(name)
        if separator and path is not None:
            is_position = path.suffix.lower() == ".tar" and tar_position(inner) is not None
            member = None if is_position else self._member(path, "", inner)
            return member or Member(path, inner)
        if separator or (path is not None and _exists(path)):
            return path
        for other in (name, *coco_names(name)):
            if (member := self._in_archive_beside(other)) is not None:
                return member
        if is_anywhere or self._lack_folders:
            return self._below(name, split, is_anywhere) or path
        return path

    def _below(self, name: str, split: str, is_anywhere: bool) -> Path | None:
        """The only picture below the root whose path ends in the name and is not in a folder of
        another split, or, if it may be anywhere, the only one in those; None if there is none.
        Raises BadCell if there are several."""
        every = self._pictures.ending_in(name) if self._pictures is not None else []
        every = [path for path in every if not self._is_of_other_table(path)]
        own_split = split_in(split) or split
        is_free = not own_split or _split_of(name) or all(map(is_coco_name, every))
        own = [path for path in every if is_free or _split_of(path) in ("", own_split)]
        pictures = own or (every if is_anywhere else [])
        if not is_anywhere and len(pictures) > 1 and len({*map(os.path.dirname, pictures)}) == 1:
            return None  # how their names differ is said where the table's folder is looked at
        if len(pictures) > 1:
            few = ", ".join(f"'{trim(each)}'" for each in pictures[:4])
            raise BadCell(
                f"'{trim(name)}' may be any of {few}. Write the path of the one that is meant"
            )
        if not pictures:
            return None
        where = "" if own else ", which are in one of another split"
        self._record_rename_note(f"lack folders of their files{where}", name, pictures[0])
        return self._files.inside(self._root / pictures[0])

    def _is_of_other_table(self, picture: str) -> bool:
        return any((self._root / picture).is_relative_to(folder) for folder in self._foreign)

    def _in_archive_beside(self, name: str) -> Member | None:
        """The picture in a zip or tar beside the table; None if none has one of that name. Raises
        BadCell if several have."""
        for archive in self._archives:
            if (archive, "") not in self._in_archives:
                self._learn_archive(archive, "", self._first_names)
        candidates = (self._member(archive, "", name) for archive in self._archives)
        members = [member for member in candidates if member is not None]
        if len(members) > 1:
            archives = " and in ".join(f"'{each.container.name}'" for each in members[:2])
            raise BadCell(
                f"'{trim(name)}' is in {archives}. Write the path with its archive, such as "
                f"{members[0].container.name}{SEPARATOR}{trim(name)}"
            )
        return members[0] if members else None

    def _file(self, name: str) -> Path | None:
        """The file of that name, which need not exist; None if it is outside the root."""
        file_name, how = self._names.find(name) or (name, "")
        path = self._files.inside(self._folder / file_name)
        if path is not None:
            self._record_rename_note(how, name, path.relative_to(self._root).as_posix())
        return path

    def _member(self, archive: Path, below: str, name: str) -> Member | None:
        """The member of an archive; None if it has none of that name, or is no archive."""
        if (archive, below) not in self._in_archives:
            self._learn_archive(archive, below)
        folder, names = self._in_archives.get((archive, below), ("", None))
        if names is None or (match := names.find(name)) is None:
            return None
        present = f"{folder}/{match[0]}".lstrip("/")
        members = self._members_of(archive)
        assert members is not None
        self._record_rename_note(match[1], name, present)
        return Member(archive, members.stored_name(present))

    def _record_rename_note(self, how: str, name: str, present: str) -> None:
        if how and how not in self._noted:
            self._noted.add(how)
            self._note(f"Image paths {how}: '{trim(name)}' is read as '{trim(present)}'.")

    def split_of(self, picture: ImageFile) -> str:
        """The split that the picture's folder states; "" if none."""
        path = file_of(picture)
        if not self._state_splits or not path.is_relative_to(self._folder):
            return ""
        return self._splits.of(path.relative_to(self._folder).parent)

    def picture_in_container(self, folder: Path, address: str) -> ImageFile | None:
        """The picture at the address of a container in `folder`; None if that is outside."""
        name, _, inner = address.partition(SEPARATOR)
        if (folder, name) != self._container:
            self._container = folder, name
            self._container_path = self._files.inside(folder / name)
        return None if self._container_path is None else Member(self._container_path, inner)

    def refusal(self, path: str) -> str:
        """Why `find` gives no place for a path."""
        plain = Path(os.path.normpath(self._folder / path.partition(SEPARATOR)[0]))
        if "\0" not in path and plain.is_relative_to(self._root):
            return (
                f"'{trim(path)}' is a link, or in a folder that is one, and leads outside the "
                "dataset's folder. Put the image itself there."
            )
        return (
            f"'{trim(path)}' lies outside the dataset's folder. Move the image into it, or name "
            "their common parent folder as the one that image paths are relative to."
        )

    def hint(self, missing: ImageFile) -> str:
        """What is where a missing file is expected, as a sentence; "" if nothing helps."""
        self._hints += 1
        path = file_of(missing)
        if self._hints > _MOST_HINTS or not path.is_relative_to(self._root):
            return ""
        if isinstance(missing, Member) and _exists(path):
            return self._hint_in_archive(missing)
        if path.is_relative_to(self._folder):
            name = path.relative_to(self._folder)
            for folder in self._folders:
                if folder != self._folder and self._files.is_there(folder / name):
                    return (
                        f" There is one in '{self._name_of(folder)}', but the paths of this table "
                        f"are relative to '{self._name_of(self._folder)}'."
                    )
        if compressed := next(chain.from_iterable(map(gzipped_tars, self._folders)), None):
            return (
                f" It may be in '{trim(compressed.name)}', which is compressed and not read beside "
                "a table: decompress it (gunzip)."
            )
        while not path.parent.is_dir() and path.parent != self._root:
            path = path.parent
        return _nearest(path.name, self._files.names_in(path.parent))

    def _hint_in_archive(self, missing: Member) -> str:
        try:
            members = ZipMembers.of(missing.container).names
        except ImageError:
            return ""
        path = PurePosixPath(missing.inner.replace("\\", "/"))
        while path.name and not members.names_in(_folder_of(path)):
            path = path.parent
        return _nearest(path.name, members.names_in(_folder_of(path)))

    def _name_of(self, folder: Path) -> str:
        """A folder by its path in the dataset, or by the whole one."""
        below = folder.relative_to(self._root) if folder.is_relative_to(self._root) else folder
        return trim(str(folder) if str(below) == "." else below.as_posix(), 500)


def _archives_in(folders: Iterable[Path], files: "_FilesBelow") -> list[Path]:
    """The zips and tars in these folders, which may hold the pictures of a table beside them."""
    archives = [
        path for folder in folders for ending in ("zip", "tar")
        for path in sorted(folder.glob(f"*.{ending}"))[:_MOST_ARCHIVES]
    ]  # fmt: skip
    inside = [place for path in archives if (place := files.inside(path)) is not None]
    return list(dict.fromkeys(inside))


def _packed_folders(names: NamesByFolder) -> list[str]:
    """The folders that all members of an archive are in, from the outermost."""
    folders = [""]
    while True:
        inner = names.names_in(folders[-1]).values()
        visible = [name for each in inner for name in each if not is_hidden(name)]
        folder = f"{folders[-1]}/{visible[0]}".lstrip("/") if len(visible) == 1 else ""
        if not folder or not names.names_in(folder):
            return folders[1:]
        folders.append(folder)


def _split_of(path: str) -> str:
    """The split that the folders of a path state, "" for none."""
    return next(filter(None, map(split_in, PurePosixPath(path).parts[:-1])), "")


def _folder_of(path: PurePosixPath) -> str:
    return "" if str(path.parent) == "." else str(path.parent)


def _nearest(name: str, by_form: dict[str, list[str]]) -> str:
    """The most similar name there, as a sentence; what looks the same is told apart."""
    if len(alike := by_form.get(fold_name(name), [])) > 1:
        return (
            f" {len(alike)} names there differ from it in upper and lower case or in the normal "
            "form of letters alone, and which of them is meant is uncertain. Rename one."
        )
    names = [name for names in by_form.values() for name in names]
    nearest = difflib.get_close_matches(name, names, 1)
    return f" The most similar name there is '{trim(nearest[0])}'." if nearest else ""


class _FilesBelow:
    """The files below a folder, which no link leads out of."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._resolved_folders: dict[Path, Path] = {}
        self._names: dict[Path, dict[str, list[str]]] = {}

    def is_there(self, path: Path) -> bool:
        inside = self.inside(path)
        return inside is not None and _exists(inside)

    def inside(self, path: Path) -> Path | None:
        """The resolved path; None if it is outside."""
        try:
            path = self._resolve(path)
        except (OSError, RuntimeError, ValueError):
            return None
        return path if path.is_relative_to(self._root) else None

    def names_in(self, folder: Path) -> dict[str, list[str]]:
        """The names in a folder by their form in `fold_name`; empty if there are too many."""
        if folder not in self._names:
            if len(self._names) == _MOST_HINTS:
                self._names.clear()
            names: dict[str, list[str]] = {}
            inside = self.inside(folder)
            try:
                for count, entry in enumerate(os.scandir(folder) if inside is not None else ()):
                    if count == _MOST_NAMES:
                        names.clear()
                        break
                    names.setdefault(fold_name(entry.name), []).append(entry.name)
            except (OSError, ValueError):
                names.clear()
            self._names[folder] = names
        return self._names[folder]

    def _resolve(self, path: Path) -> Path:
        """`path.resolve()`, which looks at every folder above it, with one look at a folder that
        many rows share."""
        if path.name == ".." or path.is_symlink():
            return path.resolve()
        if path.parent not in self._resolved_folders:
            if len(self._resolved_folders) == _MOST_FOLDERS:
                self._resolved_folders.clear()
            self._resolved_folders[path.parent] = path.parent.resolve()
        return self._resolved_folders[path.parent] / path.name


class _Files:
    """The names of the files below one of the folders of a dataset."""

    def __init__(self, files: _FilesBelow, folder: Path) -> None:
        self._files, self._folder = files, folder

    def has(self, name: str) -> bool:
        return bool(name) and self._files.is_there(self._folder / name)

    def names_in(self, folder: str) -> dict[str, list[str]]:
        return self._files.names_in(self._folder / folder)


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):
        return False
