"""Download a model from the hub and remove it again, only on explicit request.

The files go to the standard Hugging Face cache. Each is written to a temporary name until it is
complete and its checksum verified, so that an interrupted download resumes, and files under their
final names can be trusted.
"""

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from backend.datasets.safe_files.fetching import FetchError
from backend.engine.hub_cache import (
    HUB_NAME,
    OPEN_CLIP_HUB,
    commit_of,
    files_for,
    folder_of,
    snapshot_of,
)
from backend.engine.model_names import hub_name
from backend.engine.presets import pinned_commit, preset_of
from backend.errors import ModelUnavailable, NotFound, TracedError, check_model_packages
from backend.progress import Progress, no_progress

if TYPE_CHECKING:
    from backend.datasets.safe_files.hub_client import RemoteFile

#: Suffix of incomplete files.
PART = ".part"


@dataclass(frozen=True)
class DownloadReport:
    """`models`: (hub name, commit) now in the cache; `downloaded`: bytes transferred by this
    call."""

    models: tuple[tuple[str, str], ...]
    downloaded: int


def repositories_of(model: str) -> tuple[str, ...]:
    """The hub names for a value of `--model`: a preset, an open_clip name, `vqa:` and a
    hub name, or a hub name.

    Raises NotFound if there is nothing to download.

    >>> repositories_of("thorough")
    ('Salesforce/blip-itm-base-coco', 'Salesforce/blip-image-captioning-base')
    """
    preset = preset_of(model)
    if preset is not None and preset.is_embedded:
        raise NotFound("The embedded model comes with the program: there is nothing to download.")
    if preset is not None and model == preset.name:
        return tuple(checkpoint.repository for checkpoint in preset.checkpoints)
    if model.startswith(OPEN_CLIP_HUB):  # without importing open_clip
        return (model.removeprefix(OPEN_CLIP_HUB),)
    if model.startswith("open_clip:"):
        from backend.engine.scoring.open_clip_model import hub_name_of

        if name := hub_name_of(model):
            return (name,)
    elif HUB_NAME.fullmatch(hub_name(model)) and not Path(hub_name(model)).exists():
        return (hub_name(model),)
    raise NotFound(f"'{model}' is not a model of the hub, so there is nothing to download.")


def download(model: str, progress: Progress = no_progress) -> DownloadReport:
    """Download everything that `model` needs, except what is already in the cache.

    Raises NotFound and ModelUnavailable.
    """
    check_model_packages()  # gigabytes that nothing here could use
    names = repositories_of(model)
    preset = preset_of(model)
    scorer = preset.scorer.name if preset is not None else model
    by_open_clip = {names[0]} if scorer.startswith("open_clip:") else set()
    byte_count = sum(_download(name, name in by_open_clip, progress) for name in names)
    return DownloadReport(tuple((name, commit_of(name)) for name in names), byte_count)


def remove(model: str) -> int:
    """Delete a model from this machine; returns the bytes freed. Raises NotFound."""
    size = removable(model)
    for folder in _folders(model):
        shutil.rmtree(folder)
    return size


def removable(model: str) -> int:
    """How many bytes removing the model would free. Raises NotFound if no part of it is here."""
    folders = _folders(model)
    return sum(path.lstat().st_size for folder in folders for path in folder.rglob("*"))


def _folders(model: str) -> list[Path]:
    folders = [folder_of(name) for name in repositories_of(model) if folder_of(name).is_dir()]
    if not folders:
        raise NotFound(f"'{model}' is not on this machine.")
    return folders


def _download(name: str, for_open_clip: bool, progress: Progress) -> int:
    if snapshot_of(name) is not None and pinned_commit(name):
        return 0
    try:
        commit, files = _list_files(name, pinned_commit(name) or "main", for_open_clip)
        total = sum(file.size for file in files)
        before = 0
        came = 0
        for file in files:
            came += _fetch(
                name, commit, file, lambda done, base=before: progress(
                    base + done, total, f"Downloading {name} (bytes)")
            )  # fmt: skip
            before += file.size
    except TracedError:
        raise
    except Exception as problem:  # from the hub client, HTTP or the OS
        raise ModelUnavailable(_why(name, problem)) from problem
    _point(name, commit, files)
    return came


def _list_files(name: str, revision: str, for_open_clip: bool) -> "tuple[str, list[RemoteFile]]":
    """The commit of a revision, and the files that a model is loaded from."""
    from backend.datasets.safe_files.hub_client import RemoteFile, hub_api

    info = hub_api().model_info(name, revision=revision, files_metadata=True)
    by_name = {sibling.rfilename: sibling for sibling in info.siblings or ()}
    file_names = files_for(list(by_name), for_open_clip)
    if not any(file.endswith((".safetensors", ".bin")) for file in file_names):
        raise ModelUnavailable(
            f"'{name}' contains no weights in a supported format (model.safetensors, "
            "pytorch_model.bin, or those of open_clip)."
        )
    files = []
    for name in file_names:
        file = by_name[name]
        checksum = file.lfs.sha256 if file.lfs is not None else file.blob_id
        files.append(RemoteFile(name, int(file.size or 0), str(checksum), file.lfs is not None))
    return str(info.sha), files


def _fetch(name: str, commit: str, file: "RemoteFile", tick: Callable[[int], None]) -> int:
    """Download the file into the blobs folder; returns the bytes transferred by this call."""
    from backend.datasets.safe_files.hub_client import save

    place = folder_of(name) / "blobs" / file.checksum
    if place.is_file() and place.stat().st_size == file.size:
        tick(file.size)
        return 0
    place.parent.mkdir(parents=True, exist_ok=True)
    part = place.with_name(place.name + PART)
    try:
        came = save(name, file, part, commit, tick)
    except FetchError as problem:
        raise ModelUnavailable(f"'{name}': {problem}. Download it again.") from problem
    part.replace(place)
    return came


def _point(name: str, commit: str, files: "Sequence[RemoteFile]") -> None:
    """Make the commit's directory, whose files are links to the blobs, and point `main` at it
    if no revision is pinned."""
    folder = folder_of(name)
    snapshot = folder / "snapshots" / commit
    snapshot.mkdir(parents=True, exist_ok=True)
    for file in files:
        link, blob = snapshot / file.name, folder / "blobs" / file.checksum
        link.parent.mkdir(exist_ok=True)
        link.unlink(missing_ok=True)
        try:
            link.symlink_to(Path(*[".."] * (2 + file.name.count("/")), "blobs", file.checksum))
        except OSError:  # a system without symbolic links
            part = link.with_name(link.name + PART)
            shutil.copyfile(blob, part)
            part.replace(link)  # a copy that was killed does not pass as the file
    if not pinned_commit(name):
        (folder / "refs").mkdir(exist_ok=True)
        (folder / "refs" / "main").write_text(commit, encoding="utf-8")


def _why(name: str, problem: Exception) -> str:
    """Why the download failed, and how to get the model offline."""
    from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError

    if isinstance(problem, GatedRepoError):
        return f"'{name}' requires you to accept its terms on its page at huggingface.co first."
    if isinstance(problem, RepositoryNotFoundError):
        return f"The hub has no model '{name}', or it is private: set HF_TOKEN to read it."
    if isinstance(problem, OSError) and problem.errno is not None:
        return f"'{name}' could not be written to {folder_of(name)}: {problem.strerror}."
    lines = str(problem).strip().splitlines()
    reason = lines[0] if lines else type(problem).__name__
    return f"'{name}' could not be downloaded ({reason}). {by_hand(name)}"


def by_hand(name: str) -> str:
    """Instructions for copying the model to a machine without a connection.

    >>> print(by_hand("somebody/clip"))  # doctest: +ELLIPSIS
    Start it again to resume. Without a connection: ...
    """
    commit = pinned_commit(name)
    revision = f" --revision {commit}" if commit else ""
    return (
        "Start it again to resume. Without a connection: on a machine that has one, run "
        f"'hf download {name}{revision}', then copy the folder "
        f"'{folder_of(name).name}' from its ~/.cache/huggingface/hub to {folder_of(name).parent}."
    )
