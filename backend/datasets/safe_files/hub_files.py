"""Files of the hub at `hf://` addresses, of repositories and of buckets, as fsspec reads them.

Its own file system lists a folder to learn about one file of a bucket, keeps lists for as long as
the program runs, and leaves the version out when it is asked about one file of a repository. Parts
of files come by plain HTTP, through the connections that are checked.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from huggingface_hub import HfFileSystem
from huggingface_hub.errors import (
    BucketNotFoundError,
    EntryNotFoundError,
    HfHubHTTPError,
    HfUriError,
)
from huggingface_hub.hf_file_system import HfFileSystemResolvedBucketPath

from backend.datasets.safe_files.hub_client import guard_connections
from backend.errors import DatasetNotFound, SettingsError


class HubFiles(HfFileSystem):
    """Raises FileNotFoundError, PermissionError and OSError, SettingsError for an address that is
    none, and DatasetNotFound where asking again cannot help."""

    cachable = False

    def __init__(self, *arguments: Any, **options: Any) -> None:
        guard_connections()
        super().__init__(*arguments, **options)

    def find(self, path: str, *arguments: Any, **options: Any) -> Any:
        with _plain_errors(path):
            self.invalidate_cache()
            return super().find(path, *arguments, **options)

    def info(
        self, path: str, refresh: bool = False, revision: str | None = None, **options: Any
    ) -> dict[str, Any]:
        with _plain_errors(path):
            if not refresh:
                return super().info(path, revision=revision, **options)
            place = self.resolve_path(path, revision)
            if not isinstance(place, HfFileSystemResolvedBucketPath):
                return super().info(path, True, revision, expand_info=True)
            for file in self._api.get_bucket_paths_info(place.bucket_id, [place.path]):
                return {"name": place.unresolve(), "type": "file", "size": file.size,
                        "xet_hash": file.xet_hash}  # fmt: skip
            raise FileNotFoundError(path)

    def cat_file(self, path: str, *arguments: Any, **options: Any) -> bytes:
        with _plain_errors(path):
            return bytes(super().cat_file(path, *arguments, **options))


@contextmanager
def _plain_errors(path: str) -> Iterator[None]:
    try:
        yield
    except HfUriError as problem:
        raise SettingsError(f"'hf://{path}' names nothing on the hub: {problem.msg}") from problem
    except FileNotFoundError as problem:
        if isinstance(problem.__cause__, BucketNotFoundError):
            raise DatasetNotFound(
                f"There is no bucket at hf://{path}, or this machine's token may not read it. The "
                "token of private ones is set as HF_TOKEN."
            ) from problem
        raise
    except EntryNotFoundError as problem:
        raise FileNotFoundError(path) from problem
    except HfHubHTTPError as problem:
        status = problem.response.status_code
        if status in (401, 403):
            raise PermissionError(str(problem)) from problem
        if status == 404 and path.startswith("buckets/"):
            raise DatasetNotFound(
                f"hf://{path} cannot be read: the hub that is set (HF_ENDPOINT) answers that it "
                "knows no buckets. Copy the files into a folder or a dataset of it."
            ) from problem
        raise
