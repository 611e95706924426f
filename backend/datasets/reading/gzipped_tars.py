"""A compressed tar (`.tar.gz`, `.tgz`) is decompressed once: images in a tar are read by offset."""

import gzip
import hashlib
import os
import shutil
import zlib
from pathlib import Path

from backend.datasets.safe_files.regular_files import open_regular
from backend.errors import DatasetFormatError, UnsafePath

ENDINGS = (".tar.gz", ".tgz")
_BLOCK = 1 << 20
#: Bytes that must stay free on the disk while unpacking.
_LEFT_FREE = 2_000_000_000


def is_gzipped_tar(path: Path) -> bool:
    return path.name.lower().endswith(ENDINGS)


def gzipped_tars(source: Path) -> list[Path]:
    """The file itself if it is a compressed tar, or the compressed tars in a folder, sorted."""
    if source.is_dir():
        return sorted(path for path in source.iterdir() if is_gzipped_tar(path))
    return [source] if is_gzipped_tar(source) else []


def plain_name(path: Path) -> str:
    """The file name without `.tar.gz` or `.tgz`."""
    lower = path.name.lower()
    return path.name[: -len(next(e for e in ENDINGS if lower.endswith(e)))] or path.name


def unpacked_folder(source: Path, folder: Path) -> Path:
    """Where `unpack` puts the tars of `source`."""
    digest = hashlib.sha256(os.fsencode(source)).hexdigest()[:8]
    name = source.name if source.is_dir() else plain_name(source)
    return folder / f"{name}-{digest}"


def unpack(source: Path, folder: Path) -> Path:
    """Decompress `source`, a file or a folder of them, below `folder`; return the path of the tar,
    or of the folder of tars. Existing newer tars are reused. Raises DatasetFormatError, and
    UnsafePath for a link that leads out of the source folder."""
    tars = gzipped_tars(source)
    for path in tars if source.is_dir() else []:
        if not path.resolve().is_relative_to(source.resolve()):
            raise UnsafePath(f"'{path.name}' is a link that leads out of the folder.")
    target = unpacked_folder(source, folder)
    target.mkdir(parents=True, exist_ok=True)
    unpacked_tars = [_unpack(path, target / f"{plain_name(path)}.tar") for path in tars]
    return target if source.is_dir() else unpacked_tars[0]


def _unpack(source: Path, tar: Path) -> Path:
    if tar.exists() and tar.stat().st_mtime >= source.stat().st_mtime:
        return tar
    part = tar.with_name(f"{tar.name}.part")
    try:
        with (
            open_regular(source, float("inf")) as raw,
            gzip.open(raw) as file,
            part.open("wb") as out,
        ):
            while block := file.read(_BLOCK):
                if shutil.disk_usage(tar.parent).free < _LEFT_FREE + len(block):
                    raise DatasetFormatError(
                        f"'{source.name}' unpacks into more than fits on the disk "
                        f"({out.tell():,} bytes so far). Unpack it where there is room, and give "
                        "the .tar."
                    )
                out.write(block)
        os.replace(part, tar)
    except (OSError, EOFError, zlib.error) as problem:
        raise DatasetFormatError(f"'{source.name}' cannot be unpacked: {problem}.") from problem
    finally:
        part.unlink(missing_ok=True)
    return tar
