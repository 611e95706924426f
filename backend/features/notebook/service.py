"""The review page beside code that goes on.

import traced_curator

board = traced_curator.review(frame, images="photos")
board                 # in a notebook: the page, or the link to it
board.verdicts()      # a DataFrame, at any time
board.close()
"""

import hashlib
import json
import threading
from datetime import date
from pathlib import Path, PurePath
from types import TracebackType
from typing import Any

import numpy as np
import pandas as pd

from backend.datasets.read_options import ReadOptions
from backend.errors import DatasetFormatError, TracedError, missing_packages
from backend.features.notebook.display import NotebookDataset, render_in
from backend.settings import Settings, load_settings
from backend.workspace import Workspace
from traced_ui.listening import listen
from traced_ui.server import create_app, end, make_server

#: Column of a frame's file with the number of each row.
_ROW = "row_of_frame"
_HEIGHT = 900
#: Columns of `Board.verdicts`, as `NotebookDataset.queue` names them.
VERDICT_COLUMNS = [
    "pair_id", "caption", "decision", "corrected_caption", "enriches", "note", "p_error",
]  # fmt: skip


def review(
    data: "pd.DataFrame | str | Path | NotebookDataset",
    images: str | Path | None = None,
    *,
    background: bool = True,
    score: bool = True,
    port: int = 0,
    image_column: str | None = None,
    caption_column: str | None = None,
    **settings: Any,
) -> "Board":
    """Open the review page for captions, and go on; its verdicts are `Board.verdicts()`.

    `data`: a DataFrame with a row per pair, a dataset's name, or a path to import; or an open
    dataset, whose settings are used. `images`: the folder that image paths are relative to, by
    default the working folder. `image_column`, `caption_column`: by default detected by name.
    `score`: score pairs without scores meanwhile, where models are installed. `background` False:
    return once Ctrl-C has closed the page. `port`: 0 takes any that is free. `settings`: those of
    the command line, such as `data_directory`, `author`, `frame`.

    The same frame opens the same dataset again, with its verdicts. Raises DatasetNotFound,
    DatasetFormatError, SettingsError, PortInUse.
    """
    is_open = isinstance(data, NotebookDataset)
    workspace = data.workspace if is_open else Workspace(load_settings(settings))
    try:
        dataset_id, index = (
            (data.id, None) if is_open
            else _imported(workspace, data, images, image_column, caption_column)
        )  # fmt: skip
        board = Board(workspace, dataset_id, index, port)
    except TracedError:
        if not is_open:
            workspace.store.close()
        raise
    if score and not missing_packages():
        workspace.prepare(workspace.summary(dataset_id).name)
    if not background:
        board.wait()
    return board


def _imported(
    workspace: Workspace,
    data: "pd.DataFrame | str | Path",
    images: str | Path | None,
    image_column: str | None,
    caption_column: str | None,
) -> "tuple[int, pd.Index | None]":
    """The dataset's id, and the index of the frame that it is from."""
    root = Path(images or ".").expanduser().resolve()
    options = ReadOptions(
        image_root=root, image_column=image_column, caption_column=caption_column,
        id_column=_ROW if isinstance(data, pd.DataFrame) else None,
    )  # fmt: skip
    if isinstance(data, pd.DataFrame):
        path = _written(data, root, workspace.settings)
        return workspace.jobs.import_dataset(path, options=options).dataset_id, data.index
    if images is None:
        return workspace.find_or_import(str(data)), None
    return workspace.jobs.import_dataset(data, options=options).dataset_id, None


def _written(frame: pd.DataFrame, root: Path, settings: Settings) -> Path:
    """The frame's text and numbers as a file, named by its content. Raises DatasetFormatError."""
    if _ROW in frame.columns:
        raise DatasetFormatError(f"The frame has a column '{_ROW}'. Rename it: it numbers rows.")
    table = frame.astype(object).where(frame.notna(), None)
    lines = []
    for row, cells in enumerate(table.to_dict("records")):
        try:
            lines.append(json.dumps({_ROW: str(row), **cells}, default=_plain) + "\n")
        except (TypeError, ValueError) as problem:
            raise DatasetFormatError(
                f"Row {row} of the frame holds something that is no text, number, date or list: "
                f"{problem}. Leave that column out; pictures are named by their paths."
            ) from problem
    content = "".join(lines).encode("ascii")
    name = hashlib.sha256(content + str(root).encode()).hexdigest()[:12]
    path = settings.data_directory / "frames" / f"frame-{name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def _plain(value: Any) -> Any:
    """A cell for JSON: numbers of NumPy, dates, paths. Raises TypeError for others."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    if isinstance(value, date | pd.Timestamp):
        return value.isoformat()
    if isinstance(value, PurePath):
        return str(value)
    raise TypeError(f"a {type(value).__name__}")


class Board:
    """A review page that is served by a thread of this process, until `close`."""

    def __init__(
        self, workspace: Workspace, dataset_id: int, index: "pd.Index | None", port: int
    ) -> None:
        self.dataset = NotebookDataset(workspace, dataset_id)
        self._index = index
        settings = workspace.settings
        self._socket = listen(settings.host, port)
        login = not settings.no_login and workspace.accounts.has_accounts()
        self._server = make_server(create_app(workspace, dataset_id, login))
        place = f"{settings.host}:{self._socket.getsockname()[1]}"
        self.url = f"http://{place}{settings.root_path}/?dataset={dataset_id}"
        self._thread = threading.Thread(
            target=self._server.run, kwargs={"sockets": [self._socket]}, daemon=True, name="board"
        )
        self._thread.start()

    def verdicts(self) -> pd.DataFrame:
        """The verdicts so far, by the index of the frame, or else by the dataset's own ids."""
        table = self.dataset.queue("review=decided").set_index("external_id")
        if self._index is not None:
            rows = [int(row) for row in table.index]
            table.index = self._index.take(rows)
        return table[VERDICT_COLUMNS].sort_index()

    def wait(self) -> None:
        """Wait until Ctrl-C, then close the page; verdicts can be read afterwards as well."""
        try:
            self._thread.join()
        except KeyboardInterrupt:
            self._stop()

    def close(self) -> None:
        """End the server and its jobs, and close the database; no verdict is lost."""
        self._stop()
        end(self.dataset.workspace)

    def _stop(self) -> None:
        self._server.should_exit = True
        self._thread.join()
        self._socket.close()

    def __enter__(self) -> "Board":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Board({self.url})"

    def _repr_html_(self) -> str:
        """The page, where the setting `frame` names the notebook's; a link to it elsewhere."""
        is_framed = self.dataset.workspace.settings.frame
        return render_in("board.html", url=self.url, height=_HEIGHT if is_framed else None)
