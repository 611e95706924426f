"""Atomic exports.

Everything is written to a temporary folder next to the target, which is renamed when complete; a
killed export leaves the target unchanged, and a sharded one is resumed by the next export. A folder
is replaced only if it is an earlier export.
"""

import glob
import hashlib
import json
import logging
import os
import shutil
import socket
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from backend.datasets.export_formats import EXPORT_FORMATS
from backend.datasets.export_row import MARK, RESERVED, ExportRow, Target, exportable
from backend.datasets.safe_files.regular_files import typed_path
from backend.datasets.writing import export_folder
from backend.datasets.writing.card import finished_card
from backend.errors import ExportError
from db.processes import is_running

FORMATS = tuple(EXPORT_FORMATS)

log = logging.getLogger(f"traced.{__name__}")
#: Files of every export, which nothing else writes.
_OWN = {"README.md", MARK, export_folder.SUMS}


@dataclass(frozen=True)
class Description:
    """What describes an export beside its card. `names`: of its files and folders; `write(folder,
    SHA-256 by file name)`: writes them once all rows are written, and returns the SHA-256 of those
    that hold content of the dataset, by name."""

    names: Sequence[str]
    write: Callable[[Path, Mapping[str, str]], Mapping[str, str]]


def write_dataset(
    rows: Iterable[ExportRow],
    out: Path,
    *,
    format: str,
    card: str | Callable[[], str],
    overwrite: bool = False,
    source_root: Path,
    descriptions: Sequence[Description] = (),
    copy_images: bool = False,
) -> int:
    """Write `rows` and the card into the folder `out`; return the number of rows.

    `format`: one of EXPORT_FORMATS. `card`: its text, or what returns it once all rows are written.
    `descriptions`: what else describes them.
    `copy_images`: also those whose paths a table could name where they are.

    Raises ExportError, leaving nothing behind, if the target exists (and is not an export to
    overwrite) or an image is missing; ImageError if one is not as it was imported. So does an
    error in `rows`.
    """
    if format not in FORMATS:
        raise ExportError(f"'{format}' is not an export format; use one of: {', '.join(FORMATS)}.")
    typed_path(out)  # refuses an address
    out = out.expanduser().absolute()
    root = source_root.resolve()
    part = _sibling(out, f"part.{format.replace('-', '_')}")
    is_resumable = EXPORT_FORMATS[format].is_resumable
    described = {name for each in descriptions for name in each.names}
    if own := described & _OWN:
        raise _not_added(min(own))
    described.add("README.md")
    try:
        _clear_up(out, part if is_resumable else None)
        check_target(out, overwrite)
    except OSError as problem:
        raise _not_written(out, problem) from problem
    if out.resolve() == root or root.is_relative_to(out.resolve()):
        raise ExportError(f"{out} holds the dataset itself. Choose another folder.")
    try:
        part.mkdir(parents=True, exist_ok=True)
        export_folder.mark(part)
        target = Target(part, out, root, copy_images)
        reserved_names = RESERVED | EXPORT_FORMATS[format].reserved
        clean = (exportable(row, target.changes, reserved_names) for row in rows)
        for name in described:  # of an export that is resumed
            shutil.rmtree(part / name, ignore_errors=True)
            (part / name).unlink(missing_ok=True)
        number = EXPORT_FORMATS[format].write(clean, target)
        if taken := [name for name in sorted(described) if (part / name).exists()]:
            raise _not_added(taken[0])
        whole = card if isinstance(card, str) else card()
        sums = export_folder.digests(part)
        for description in descriptions:
            sums |= description.write(part, sums)
        version = version_of(sums, out)
        text = finished_card(whole, target, version)
        (part / "README.md").write_text(text, encoding="utf-8")
        export_folder.write_checksums(part, export_folder.digests(part, earlier=sums))
        if out.exists():
            export_folder.check_free(out, part)
        _put_in_place(part, out)
    except Exception as problem:
        shutil.rmtree(part, ignore_errors=True)
        if not isinstance(problem, OSError):
            raise
        raise _not_written(out, problem) from problem
    except BaseException:  # stopped by the user: treated as killed
        if not is_resumable:
            shutil.rmtree(part, ignore_errors=True)
        raise
    return number


def _not_added(name: str) -> ExportError:
    return ExportError(f"'{name}' cannot be added: it is a file of the export itself.")


def version_of(sums: Mapping[str, str], out: Path | None = None) -> str:
    """A version, as in "1.2.3", that only an export of this content has, or only one to this place.

    `datasets` caches what it reads from a folder with a card by the folder's last name, the card's
    list of files and its version, and not by the files. What it caches holds absolute paths.
    """
    content = json.dumps([str(out or ""), sorted(sums.items())])
    digest = hashlib.sha256(content.encode()).digest()
    return ".".join(str(int.from_bytes(digest[start : start + 3])) for start in (0, 3, 6))


def _not_written(out: Path, problem: OSError) -> ExportError:
    return ExportError(
        f"{out}: {problem.strerror or problem}. Nothing was kept; choose another folder."
    )


def check_target(out: Path, overwrite: bool) -> None:
    """Raises ExportError if the folder `out` holds what must not be replaced."""
    if out.is_file() or out.is_symlink():
        raise ExportError(f"{out} is a file. Give the name of a folder.")
    if not out.exists():
        return
    if any(out.iterdir()) and not (out / MARK).is_file():
        raise ExportError(f"{out} contains other files. Choose an empty or a new folder.")
    if (out / MARK).is_file() and not overwrite:
        raise ExportError(
            f"{out} holds an earlier export.",
            terminal="Choose another folder, or replace it: --overwrite.",
            page="Choose another folder, or replace it (More options).",
        )
    if (out / MARK).is_file():
        export_folder.check_replaceable(out)


def _sibling(out: Path, what: str) -> Path:
    """A sibling path named after this process and host: machines may share the folder."""
    return out.with_name(f".{out.name}.{what}-{os.getpid()}-{socket.gethostname()}")


def _clear_up(out: Path, part: Path | None) -> None:
    """Clean up after interrupted exports to `out`: restore an earlier export that was about to be
    replaced; rename an incomplete one to `part` to resume it, or remove it."""
    for leftover in out.parent.glob(f".{glob.escape(out.name)}.*-*-*"):
        what, process, host = leftover.name.removeprefix(f".{out.name}.").split("-", 2)
        if host != socket.gethostname() or not process.isdigit():
            continue
        if int(process) != os.getpid() and is_running(int(process)):
            continue
        if leftover.is_symlink() or not leftover.is_dir() or not what.startswith(("old", "part.")):
            continue  # not ours
        if what == "old" and not out.exists():
            leftover.rename(out)
            log.warning("%s: the earlier export was restored after an interrupted one", out)
        elif (
            part is not None
            and part.name.startswith(f".{out.name}.{what}-")
            and (leftover == part or not part.exists())
        ):
            leftover.rename(part)
            log.warning("%s: resuming an interrupted export", out)
        elif what == "old":
            export_folder.retire(leftover, out)
            log.warning(
                "%s: removed an earlier export that an interrupted one had replaced", leftover
            )
        else:
            shutil.rmtree(leftover, ignore_errors=True)
            log.warning("%s: removed the remains of an interrupted export", leftover)


def _put_in_place(part: Path, out: Path) -> None:
    """Rename `part` to `out`; an earlier export is removed only once the new one is in place."""
    old = _sibling(out, "old")
    if out.exists():
        os.rename(out, old)
    try:
        os.rename(part, out)
    except OSError:
        if old.exists():
            os.rename(old, out)
        raise
    if old.exists():
        export_folder.retire(old, out)
