"""Push an export to the Hugging Face Hub, with the Hub's own library.

Private unless public is requested. An existing dataset keeps files that this program did not
upload: files of an earlier push are deleted only if its SHA256SUMS lists them. One push is one
commit.
"""

import glob
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from backend.datasets.export_formats import EXPORT_FORMATS
from backend.datasets.export_row import MARK
from backend.datasets.writing import export_folder
from backend.errors import ExportError, SettingsError

if TYPE_CHECKING:
    from huggingface_hub import HfApi

_TYPE = "dataset"


@dataclass(frozen=True)
class HubDataset:
    """The destination of a push, and its state before. `files`: number of existing files."""

    name: str
    url: str
    exists: bool
    private: bool
    files: int


def look_up(name: str, format: str, public: bool) -> HubDataset:
    """Look up the dataset `OWNER/NAME` without changing anything. Raises SettingsError if the
    export cannot be pushed there, ExportError if the request to the Hub fails."""
    from huggingface_hub import constants, get_token
    from huggingface_hub.errors import HFValidationError, RepositoryNotFoundError
    from huggingface_hub.utils import validate_repo_id

    try:
        validate_repo_id(name)
    except HFValidationError as problem:
        raise SettingsError(f"'{name}' is not a valid name on the hub: {problem}") from problem
    if name.count("/") != 1:
        raise SettingsError(f"'{name}' does not name an owner. Give OWNER/NAME.")
    suitable = [name for name, format_entry in EXPORT_FORMATS.items() if format_entry.is_for_hub]
    if format not in suitable:
        raise SettingsError(
            f"'{format}' cannot be used on the hub: its images stay on this machine. Use one of: "
            f"{', '.join(suitable)}."
        )
    if get_token() is None:
        raise SettingsError(
            "You are not logged in to the Hugging Face hub: run 'hf auth login', or set HF_TOKEN."
        )
    url = f"{constants.ENDPOINT}/datasets/{name}"
    with _asking(f"'{name}' cannot be looked up on the hub") as api:
        api.whoami()  # without access, a private dataset looks like a missing one
        try:
            info = api.dataset_info(name)
        except RepositoryNotFoundError:
            return HubDataset(name, url, False, not public, 0)
    private = bool(info.private)
    if public == private:
        now, choice = ("private", "public") if private else ("public", "private")
        raise SettingsError(
            f"{url} already exists and is {now}; this would be {choice}. Choose another name.",
            terminal=f"Or {'leave out --public' if private else 'add --public'}.",
        )
    return HubDataset(name, url, True, private, len(info.siblings or ()))


def push(folder: Path, target: HubDataset) -> str:
    """Upload an export and return the URL of the commit. Raises ExportError; the local export is
    kept."""
    with _asking(f"The export in {folder} is written, but was not uploaded") as api:
        api.create_repo(target.name, repo_type=_TYPE, private=target.private, exist_ok=True)
        leftovers = _outdated_files(api, target.name, folder) if target.exists else []
        commit = api.upload_folder(
            repo_id=target.name,
            repo_type=_TYPE,
            folder_path=folder,
            commit_message="Export by TRACED Curator",
            delete_patterns=[glob.escape(name) for name in leftovers] or None,
        )
    return str(commit.commit_url)


def _outdated_files(api: "HfApi", name: str, folder: Path) -> list[str]:
    """Files of an earlier push that are not part of this one."""
    remote_files = set(api.list_repo_files(name, repo_type=_TYPE))
    if not {MARK, export_folder.SUMS} <= remote_files:
        return []
    sums = api.hf_hub_download(name, export_folder.SUMS, repo_type=_TYPE)
    earlier_files = export_folder.read_digests(Path(sums))
    return sorted(
        file for file in remote_files & earlier_files.keys() if not (folder / file).is_file()
    )


@contextmanager
def _asking(what: str) -> "Iterator[HfApi]":
    """The Hub's API; its errors are converted to ExportError."""
    import httpx2
    from huggingface_hub.errors import HfHubHTTPError

    from backend.datasets.safe_files.fetching import FetchError
    from backend.datasets.safe_files.hub_client import hub_api

    try:
        yield hub_api()
    except (HfHubHTTPError, httpx2.HTTPError, FetchError, OSError, ValueError) as problem:
        lines = [line.strip() for line in str(problem).splitlines() if line.strip()]
        reason = " ".join(lines)[:300].rstrip(".") or type(problem).__name__
        raise ExportError(f"{what}: {reason}.") from problem
