"""A source that other tools write: looked at again and again, and imported when they have."""

import os
import time
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

from backend.datasets.read_options import ReadOptions
from backend.datasets.reading.sidecars import folders_below
from backend.datasets.safe_files.regular_files import typed_path
from backend.errors import DatasetError, DatasetNotFound, NotFound, TracedError
from backend.features.in_place.applying import not_own
from backend.features.in_place.source_files import state_of
from backend.jobs.dataset_reports import ImportReport
from backend.progress import Progress, no_progress
from backend.workspace import Workspace
from db.queries import dataset_queries
from db.queries.dataset_queries import DatasetRow

#: Looks for which files may change before they are imported all the same.
_MOST_LOOKS = 6


def source_to_watch(dataset: DatasetRow, data_directory: Path) -> Path:
    """Where its files are, which may be gone just now. Raises DatasetError for what no other tool
    writes, and where nobody knows how it was read."""
    if reason := not_own(dataset, data_directory):
        raise DatasetError(f"{reason} There is nothing to watch.")
    if dataset.imported_at is None:
        raise DatasetError(
            f"'{dataset.name}' was imported by an earlier version, which did not keep how it was "
            f"read. Import '{dataset.source}' once more, under the same name."
        )
    return typed_path(dataset.source)


def state_of_source(source: Path) -> str:
    """What changes when a file of the source does; "" if it is not there."""
    if not os.path.exists(source):
        return ""
    state = sha256()
    if source.is_file():
        state.update(repr(state_of(source)).encode())
        return state.hexdigest()
    for folder, names in folders_below(source):
        for name in sorted(names):
            path = folder / name
            try:
                about: object = state_of(path)
            except OSError as problem:
                about = problem.errno
            state.update(f"{path}\0{about}\0".encode("utf-8", "surrogateescape"))
    return state.hexdigest()


class Watch:
    """`look`: the state of the source, "" while it is gone; `take`: imports it; `say`: tells what
    is wrong; `clock`: seconds that pass."""

    def __init__(
        self,
        look: Callable[[], str],
        take: Callable[[], None],
        say: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._look, self._take, self._say, self._clock = look, take, say, clock
        #: As it was when the last import began, and at the last look.
        self._taken = self._seen = ""
        self._looks = 0
        self._said = ""
        #: Seconds that the last look took.
        self._look_time = 0.0

    def pause(self, every: float) -> float:
        """Seconds until the next turn: `every`, or more for a source that takes long to look at,
        so that looking takes a tenth of the time at most."""
        return max(every, 9 * self._look_time)

    def turn(self) -> None:
        """Look at the source, and import it if it has changed and is at rest: a file that is still
        written is half a caption. What never rests is imported after a few looks, and again when
        more was written. What goes wrong is said once, and tried again at the next turn. Raises
        NotFound if the dataset was deleted."""
        began = self._clock()
        try:
            state = self._look()
        except OSError as problem:  # such as a share that is away
            self._tell(problem)
            return
        finally:
            self._look_time = self._clock() - began
        is_at_rest = state == self._seen or not self._taken
        self._seen = state
        self._looks = self._looks + 1 if state != self._taken else 0
        if not state:
            self._tell(DatasetNotFound("The source is gone. It is taken when it is back."))
        elif not self._looks:
            self._said = ""
        elif is_at_rest or self._looks >= _MOST_LOOKS:
            try:
                self._take()
            except NotFound:
                raise
            except (TracedError, OSError) as problem:
                self._tell(problem)
            else:
                self._taken, self._looks, self._said = state, 0, ""

    def _tell(self, problem: Exception) -> None:
        if str(problem) != self._said:
            self._said = str(problem)
            self._say(self._said)


def take(workspace: Workspace, dataset_id: int, progress: Progress = no_progress) -> ImportReport:
    """Import the source again, read as by its last import, with the captions that have changed.
    Raises as an import, and as `source_to_watch`."""
    dataset = workspace.store.read(dataset_queries.get_dataset, dataset_id)
    source = source_to_watch(dataset, workspace.settings.data_directory)
    return workspace.jobs.import_dataset(
        source, dataset.name, progress, "take", options=ReadOptions.parse(dataset.read_options)
    )
