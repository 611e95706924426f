"""A copy of a dataset of the Hugging Face Hub: only the files that reading it needs, listed and
downloaded by the Hub's own client, and read afterwards like every folder."""

import json
import math
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from backend.datasets.cells import trim
from backend.datasets.reading.hub_cards import MOST_CARD
from backend.datasets.reading.hub_copies import blobs_of
from backend.datasets.reading.hub_datasets import needed_files
from backend.datasets.reading.hub_names import HubName
from backend.datasets.safe_files.fetching import FetchError
from backend.datasets.safe_files.regular_files import open_regular, replacement
from backend.datasets.safe_files.uploads import KEPT_FREE
from backend.errors import (
    DatasetFormatError,
    DatasetNotFound,
    SettingsError,
    TracedError,
    UnsafePath,
)
from backend.progress import Progress, no_progress

if TYPE_CHECKING:
    from backend.datasets.safe_files.hub_client import RemoteFile

#: Files of a repository; the Hub itself advises to stay below.
_MOST_FILES = 100_000
_CARD = "README.md"


def folder_for(dataset: HubName, folder: Path) -> Path:
    """Where the copy of a dataset is, below `folder`: another place for each name, subset and
    revision."""
    digest = sha256(str(dataset).encode()).hexdigest()[:16]
    return folder / f"{dataset.repository.replace('/', '--')}-{digest}"


def fetch(
    dataset: HubName,
    folder: Path,
    most: float,
    progress: Progress = no_progress,
    anonymous: bool = False,
) -> Path:
    """Bring the copy of a dataset up to date and return its folder, see `folder_for`: files that
    are there in the same version are kept, and others removed. `most`: bytes. `anonymous`:
    without this machine's token.

    Raises DatasetNotFound if the Hub does not answer with it, SettingsError if it is too large,
    DatasetFormatError for a repository that cannot be copied, and UnsafePath.
    """
    from backend.datasets.safe_files.hub_client import save

    target = folder_for(dataset, folder)
    marks = target.with_name(f".{target.name}.json")
    with _explain_errors(dataset):
        commit, files = _list_files(dataset, anonymous)
    folder.mkdir(parents=True, exist_ok=True)
    versions: dict[str, str] = (
        json.loads(marks.read_text("utf-8")) if marks.is_file() and target.is_dir() else {}
    )

    def copy(file: "RemoteFile", before: int) -> None:
        place = target / file.name
        if versions.get(file.name) == file.checksum and place.is_file():
            return
        place.parent.mkdir(parents=True, exist_ok=True)
        with replacement(place, is_flushed=False) as part:
            save(
                dataset.repository, file, part, commit,
                lambda done: progress(before + done, total, f"Fetching {dataset}"),
                "dataset", anonymous,
            )  # fmt: skip
        versions[file.name] = file.checksum
        with replacement(marks, is_flushed=False) as part:
            part.write_text(json.dumps(versions), "utf-8")

    total = 0
    with _explain_errors(dataset):
        card = ""
        if (about := files.get(_CARD)) is not None and about.size <= MOST_CARD:
            copy(about, 0)
            card = (target / _CARD).read_bytes().decode("utf-8", "replace")
        names = needed_files(dataset.repository, files.keys(), card, dataset.subset)
        selection = {name: files[name] for name in names if name in files}
        total = sum(file.size for file in selection.values())
        _check_size(dataset, total, most, folder)
        for old in _files_below(target):
            if old not in selection or versions.get(old) != selection[old].checksum:
                (target / old).unlink()
        before = 0
        for file in selection.values():
            copy(file, before)
            before += file.size
    if not selection:
        raise DatasetFormatError(f"'{dataset}' has no tables, archives or pictures.")
    return target


def snapshot_folder(snapshot: Path, folder: Path) -> Path:
    """Where `copy_snapshot` puts its copy."""
    digest = sha256(os.fsencode(snapshot)).hexdigest()[:16]
    return folder / f"{snapshot.name}-{digest}"


def copy_snapshot(snapshot: Path, folder: Path) -> Path:
    """A folder of files instead of the links of a snapshot in the hub's cache: the same files by
    another name where the disk is the same, else copies. Raises UnsafePath for a link that leads
    neither into the snapshot nor to the blobs of its repository."""
    blobs = blobs_of(snapshot)
    assert blobs is not None
    # Where several repositories share a file, its blob is a link to a store that all have.
    shared_blobs = blobs.parent.parent / "blobs"
    roots = [snapshot, blobs, *([shared_blobs] if (shared_blobs / _SHARED_MARK).is_file() else [])]
    target = snapshot_folder(snapshot, folder)
    for place, folders, names in os.walk(snapshot):
        for name in (*names, *(name for name in folders if Path(place, name).is_symlink())):
            path = Path(place, name)
            file = path.resolve()
            if not file.is_file() or not any(file.is_relative_to(root) for root in roots):
                raise UnsafePath(f"'{trim(str(path))}' is a link that leads out of the snapshot.")
            destination = target / path.relative_to(snapshot)
            destination.parent.mkdir(parents=True, exist_ok=True)
            with replacement(destination, is_flushed=False) as part:
                _link_or_copy(file, part)
    return target


#: A file in the store that repositories share.
_SHARED_MARK = ".huggingface-shared-blobs"


def _link_or_copy(file: Path, part: Path) -> None:
    with open_regular(file, math.inf, is_resolved=True) as source:
        part.unlink()
        try:
            os.link(file, part, follow_symlinks=False)
            if os.path.samestat(os.fstat(source.fileno()), part.lstat()):
                return
            part.unlink()  # the name was exchanged meanwhile
        except OSError:  # another disk, or one without links
            pass
        with part.open("xb") as out:
            shutil.copyfileobj(source, out)


def discard(copy: Path) -> None:
    """Remove a copy with all that was noted about it."""
    shutil.rmtree(copy, ignore_errors=True)
    copy.with_name(f".{copy.name}.json").unlink(missing_ok=True)


def _list_files(dataset: HubName, anonymous: bool) -> tuple[str, dict[str, "RemoteFile"]]:
    """The commit, and the files by their names, which are safe as paths below a folder."""
    from huggingface_hub import RepoFile

    from backend.datasets.safe_files.hub_client import RemoteFile, hub_api

    api = hub_api(anonymous)
    commit = str(api.dataset_info(dataset.repository, revision=dataset.revision).sha)
    tree = api.list_repo_tree(
        dataset.repository, recursive=True, revision=commit, repo_type="dataset"
    )
    entries = list(islice(tree, _MOST_FILES + 1))
    if len(entries) > _MOST_FILES:
        raise SettingsError(
            f"'{dataset}' has more than {_MOST_FILES:,} files. Download what you need of it, and "
            "import the folder."
        )
    files = {}
    for entry in entries:
        if isinstance(entry, RepoFile):
            checksum = entry.lfs.sha256 if entry.lfs is not None else entry.blob_id
            files[_check_name(entry.path)] = RemoteFile(
                entry.path, int(entry.size), checksum, entry.lfs is not None
            )
    return commit, files


def _check_name(name: str) -> str:
    """The name. Raises DatasetFormatError if it leads out of the folder that it is written to."""
    path = PurePosixPath(name)
    is_plain = path.as_posix() == name and not path.is_absolute() and ".." not in path.parts
    if not is_plain or "\\" in name or not name.isprintable() or name == ".":
        raise DatasetFormatError(f"The hub lists a file named '{trim(name)}', which is refused.")
    return name


def _check_size(dataset: HubName, size: int, most: float, folder: Path) -> None:
    free = shutil.disk_usage(folder).free - KEPT_FREE
    if size > min(most, free):
        raise SettingsError(
            f"'{dataset}' has {size / 1e9:,.1f} GB, more than fits (upload_limit: {most / 1e9:g} "
            f"GB, free on the disk: {max(free, 0) / 1e9:,.1f} GB). Download what you need of it, "
            "and import the folder."
        )


def _files_below(folder: Path) -> Sequence[str]:
    return [
        path.relative_to(folder).as_posix() for path in folder.rglob("*")
        if path.is_symlink() or path.is_file()
    ]  # fmt: skip


@contextmanager
def _explain_errors(dataset: HubName) -> Iterator[None]:
    """Convert any exception of the client and of the disk; our own errors pass unchanged."""
    try:
        yield
    except TracedError:
        raise
    except Exception as problem:  # any type: raised by the client, HTTP, the address guard, the OS
        raise DatasetNotFound(
            f"'{dataset}' could not be fetched from the hub: {_why(problem)}"
        ) from problem


def _why(problem: Exception) -> str:
    from huggingface_hub.errors import (
        GatedRepoError,
        RepositoryNotFoundError,
        RevisionNotFoundError,
    )

    if isinstance(problem, GatedRepoError):
        return "its terms must be accepted on its page first, and HF_TOKEN be set."
    if isinstance(problem, RepositoryNotFoundError):
        return "there is none of that name, or it is private: HF_TOKEN reads private ones."
    if isinstance(problem, RevisionNotFoundError):
        return "it has no such revision."
    reason: Any = problem
    if isinstance(problem, OSError) and problem.strerror:
        reason = problem.strerror
    lines = str(reason).strip().splitlines() or [type(problem).__name__]
    sentence = trim(lines[0], 200).rstrip(".")
    hint = "" if isinstance(problem, FetchError | OSError) else " Check the name and the network."
    return f"{sentence}.{hint}"
