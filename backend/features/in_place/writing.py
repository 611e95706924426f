"""Writing into a source: copies first, then each file as a whole, and back again.

Beside the source lies the folder `.bak`, with a folder for each run: the files as they were before,
and `journal.jsonl`, one line per file with its digests before and after, written before the file
is, and a last line when all are written. A program that is killed leaves each file as it was or as
it was to be; the next run continues, and `put_back` undoes either.

A dataset may come with such a folder, made by somebody else: no link in it is followed, and no
journal names a file outside of the source.
"""

import fcntl
import hashlib
import json
import os
import shutil
import stat
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor  # noqa: TID251  (see `write`)
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePath
from typing import Any, TypeGuard

from backend.datasets.safe_files.regular_files import flush, open_within, replacement
from backend.errors import DatasetError
from backend.features.in_place.report import LeftAlone
from backend.features.in_place.source_files import FileChange, Splice, state_of
from backend.progress import Progress, no_progress

COPIES, _JOURNAL, _FILES, _UNDONE = ".bak", "journal.jsonl", "files", "undone-"
#: Files that are copied, and noted, before the first of them is written.
_AT_ONCE = 200
#: Files that are written at once: disks confirm several together.
_WRITERS = 8
_BLOCK = 1 << 20
_CHANGED = "another program has written it meanwhile"


class _ChangedMeanwhile(Exception):
    """The file is not what it was when it was read."""


@contextmanager
def alone(folder: Path) -> Iterator[Path]:
    """The folder of the copies, which no other run uses meanwhile. Raises DatasetError."""
    copies = folder / COPIES
    try:
        copies.mkdir(exist_ok=True)
        descriptor = os.open(copies, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as problem:
        raise DatasetError(
            f"Nothing was changed: '{copies}' cannot be written ({problem.strerror}). The copies "
            "of the files as they are now go there."
        ) from problem
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _refuse_links(copies)
        yield copies
    except BlockingIOError as problem:
        raise DatasetError(
            "Another run is writing into this source. Wait until it ends."
        ) from problem
    finally:
        # Closing alone would leave it locked by a child that is just being forked elsewhere.
        fcntl.flock(descriptor, fcntl.LOCK_UN)
        os.close(descriptor)
        if not any(copies.iterdir()):
            copies.rmdir()


def _refuse_links(copies: Path) -> None:
    """A copy, or a line of the journal, would be written where the link leads. Raises DatasetError:
    this program makes none there."""
    for folder, folders, files in os.walk(copies):
        for path in (Path(folder, name) for name in (*folders, *files)):
            if path.is_symlink():
                raise DatasetError(
                    f"Nothing was changed: '{path}' is a link, and copies go nowhere else. Move "
                    f"'{copies}' away if it came with the dataset."
                )


@dataclass(frozen=True)
class _Entry:
    """What the journal says of a file; `before`: "" if there was none."""

    file: str
    before: str
    after: str


def write(
    folder: Path, copies: Path, changes: Sequence[FileChange], progress: Progress = no_progress
) -> tuple[Path, list[FileChange], list[LeftAlone]]:
    """The folder of this run, which is gone if no file was written, the files that were, and those
    that were not, and why. Raises DatasetError if the copies cannot be written."""
    run = _open_run(copies)
    _remove_parts(folder, run)
    earlier = {entry.file: entry for entry in _entries(run)}
    written_files: list[FileChange] = []
    left_alone: list[LeftAlone] = []
    # Waits for what is being written, also after an error: the next run must find it written.
    with ThreadPoolExecutor(_WRITERS) as pool:
        for start in range(0, len(changes), _AT_ONCE):
            batch = _copy_all(run, changes[start : start + _AT_ONCE], earlier, left_alone)
            for change, reason in zip(batch, pool.map(_replace, batch), strict=True):
                if reason:
                    left_alone.append(LeftAlone(change.name, reason, change.captions))
                else:
                    written_files.append(change)
            for place in {change.path.parent for change in batch}:
                flush(place)
            progress(len(written_files) + len(left_alone), len(changes), "Writing")
    if not written_files and not earlier:
        shutil.rmtree(run)
    else:
        _note(run, [None])
    return run, written_files, left_alone


def put_back(
    folder: Path, copies: Path, progress: Progress = no_progress
) -> tuple[int, list[LeftAlone], Path | None]:
    """Undo the newest run: how many files are as before, those that are not because somebody has
    changed them since, and where the copies of these are."""
    runs = _runs(copies)
    if not runs:
        return 0, [], None
    run = runs[-1]
    _remove_parts(folder, run)
    entries, count, left_alone = _entries(run), 0, []
    for number, entry in enumerate(entries):
        try:
            count += _restore(folder, run, entry)
        except _ChangedMeanwhile:
            left_alone.append(LeftAlone(entry.file, "it has been changed since"))
        except OSError as problem:
            left_alone.append(LeftAlone(entry.file, problem.strerror or str(problem)))
        if number % _AT_ONCE == 0:
            progress(number, len(entries), "Putting back")
    for place in {(folder / entry.file).parent for entry in entries}:
        if place.is_dir():
            flush(place)
    if left_alone:
        run = run.rename(run.with_name(_UNDONE + run.name))
        return count, left_alone, run
    shutil.rmtree(run)
    return count, [], None


def has_run(folder: Path) -> bool:
    """Whether there is a run to undo."""
    copies = folder / COPIES
    return copies.is_dir() and bool(_runs(copies))


def _runs(copies: Path) -> list[Path]:
    """The runs that have not been undone, the newest last."""
    return sorted(
        place
        for place in copies.iterdir()
        if (place / _JOURNAL).is_file() and not place.name.startswith(_UNDONE)
    )


def _open_run(copies: Path) -> Path:
    """The folder of the newest run if that was interrupted, else a new one."""
    runs = _runs(copies)
    if runs and _lines(runs[-1])[-1:] != [None]:
        return runs[-1]
    name = datetime.now(UTC).strftime("%Y%m%d-%H%M%S-%f")
    run = copies / name
    (run / _FILES).mkdir(parents=True)
    return run


def _note(run: Path, entries: Sequence[_Entry | None]) -> None:
    """Write lines of the journal, and have them on the disk; None: all files are written."""
    with (run / _JOURNAL).open("a", encoding="utf-8") as journal:
        for entry in entries:
            journal.write(json.dumps(vars(entry) if entry else {"is_complete": True}) + "\n")
        journal.flush()
        os.fsync(journal.fileno())


def _lines(run: Path) -> list[_Entry | None]:
    """What the journal says; a last line that a kill has cut says nothing, and its file was not
    written. Nor does one that is none of ours, or names a file outside of the source."""
    lines: list[_Entry | None] = []
    if not (run / _JOURNAL).is_file():
        return lines
    with (run / _JOURNAL).open(encoding="utf-8") as journal:
        for line in journal:
            try:
                values = json.loads(line)
                entry = None if "is_complete" in values else _Entry(**values)
                if entry is None or _is_below(PurePath(entry.file)):
                    lines.append(entry)
            except (ValueError, TypeError):
                continue
    return lines


def _is_below(name: PurePath) -> bool:
    return not name.is_absolute() and ".." not in name.parts


def _entries(run: Path) -> list[_Entry]:
    """What each file was before the run, and what it is after it. A run that was continued may have
    several lines of a file."""
    entries: dict[str, _Entry] = {}
    for entry in _lines(run):
        if entry is not None:
            earlier = entries.get(entry.file)
            before = earlier.before if _continues(earlier, entry.before) else entry.before
            entries[entry.file] = _Entry(entry.file, before, entry.after)
    return list(entries.values())


def _continues(earlier: _Entry | None, digest: str) -> TypeGuard[_Entry]:
    """Whether a file of this digest is what the run had written: what it was before is copied."""
    return earlier is not None and earlier.after == digest


def _copy_all(
    run: Path,
    changes: Sequence[FileChange],
    earlier: Mapping[str, _Entry],
    left_alone: list[LeftAlone],
) -> list[FileChange]:
    """Copy the files and note them; returns those that are still as they were read, and adds the
    others to `left_alone`. Raises DatasetError."""
    same_files, entries = [], []
    try:
        for folder in {change.name.rpartition("/")[0] for change in changes}:
            (run / _FILES / folder).mkdir(parents=True, exist_ok=True)
        for change in changes:
            try:
                entries.append(_copy(run, change, earlier.get(change.name)))
                same_files.append(change)
            except (_ChangedMeanwhile, FileNotFoundError):
                left_alone.append(LeftAlone(change.name, _CHANGED, change.captions))
        _note(run, entries)
    except OSError as problem:
        raise DatasetError(
            f"The copies in '{run}' cannot be written ({problem.strerror}). What was written "
            "before can be put back."
        ) from problem
    return same_files


def _copy(run: Path, change: FileChange, earlier: _Entry | None) -> _Entry:
    """Copy the file as it is, and find out what it will be."""
    after = hashlib.sha256()
    for block in _blocks(change):
        after.update(block)
    copy = run / _FILES / change.name
    if change.digest and not _continues(earlier, change.digest):
        _keep(change.path, copy)
    return _Entry(change.name, change.digest, after.hexdigest())


def _keep(path: Path, copy: Path) -> None:
    """Let `copy` be the file as it is: by a second name, since another file takes its place; by its
    content if it has more names, which others may write to, if the disk knows no such names, or if
    there is a copy already."""
    if os.stat(path).st_nlink == 1:
        try:
            return os.link(path, copy)
        except OSError:
            pass
    with replacement(copy) as part:
        shutil.copy2(path, part)


def _replace(change: FileChange) -> str:
    """Put the changed file in the place of the old one; why not, "" if it is there."""
    try:
        _write(change)
    except _ChangedMeanwhile:
        return _CHANGED
    except OSError as problem:
        return problem.strerror or str(problem)
    return ""


def _write(change: FileChange) -> None:
    """Raises _ChangedMeanwhile if the old file is not what was read any more."""
    with replacement(change.path, is_flushed=False) as part:
        with part.open("wb") as file:
            file.writelines(_blocks(change))
            file.flush()
            os.fsync(file.fileno())
            if change.digest:
                os.fchmod(file.fileno(), stat.S_IMODE(os.stat(change.path).st_mode))
        if state_of(change.path) != change.state:
            raise _ChangedMeanwhile


def _blocks(change: FileChange) -> Iterator[bytes]:
    """The content of the file when its captions are changed."""
    if change.content is not None:
        yield change.content
        return
    with change.path.open("rb") as file:
        for splice in sorted(change.splices, key=lambda splice: splice.start):
            yield from _until(file, splice.start)
            if file.read(len(splice.before)) != splice.before:
                raise _ChangedMeanwhile
            yield splice.after
        while block := file.read(_BLOCK):
            yield block


def _until(file: Any, end: int) -> Iterator[bytes]:
    while block := file.read(min(_BLOCK, end - file.tell())):
        yield block


def _restore(folder: Path, run: Path, entry: _Entry) -> bool:
    """Whether the file had to be put back."""
    path, copy = folder / entry.file, run / _FILES / entry.file
    digest = _digest_of(folder, path)
    if digest == entry.before:
        return False
    if digest != entry.after or (entry.before and _digest_of(run, copy) != entry.before):
        raise _ChangedMeanwhile
    if not entry.before:
        path.unlink()
        return True
    try:
        os.replace(copy, path)
    except OSError:  # on another disk
        with replacement(path) as part:
            shutil.copy2(copy, part)
    return True


def _digest_of(folder: Path, path: Path) -> str:
    """SHA-256 of the file; "" if there is none."""
    try:
        with open_within((folder.resolve(),), path) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]
    except FileNotFoundError:
        return ""


def _remove_parts(folder: Path, run: Path) -> None:
    """Remove what a kill has left of files that were being written."""
    for entry in _entries(run):
        path = folder / entry.file
        path.with_name(f".{path.name}.part").unlink(missing_ok=True)


def unified_diff(changes: Sequence[FileChange], most: int) -> tuple[str, bool]:
    """The changes as `patch` reads them, up to about `most` characters; whether that is all."""
    lines: list[str] = []
    size = 0
    for change in changes:
        name = "/dev/null" if not change.digest else f"a/{change.name}"
        lines += [f"--- {name}", f"+++ b/{change.name}"]
        for splice in change.splices:
            if size > most:
                return "\n".join(lines), False
            piece = list(_hunk(splice, change.encoding))
            size += sum(map(len, piece))
            lines += piece
    return "\n".join(lines), True


def _hunk(splice: Splice, encoding: str) -> Iterator[str]:
    parts = [content.decode(encoding, "replace") for content in (splice.before, splice.after)]
    before, after = (part.split("\n") for part in parts)
    counts = [len(part) - (part[-1] == "") for part in (before, after)]
    starts = [splice.line if count else splice.line - 1 for count in counts]
    yield f"@@ -{starts[0]},{counts[0]} +{starts[1]},{counts[1]} @@"
    for mark, part in (("-", before), ("+", after)):
        yield from (mark + line for line in (part if part[-1] else part[:-1]))
        if part[-1]:
            yield "\\ No newline at end of file"
