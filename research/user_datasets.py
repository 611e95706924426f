"""Captions that go a user's way: written as a dataset and imported into a store of their own."""

import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from PIL import Image

from backend.progress import Progress, no_progress
from backend.settings import load_settings
from backend.workspace import Workspace

#: A picture, or its file.
Picture = Image.Image | Path


@contextmanager
def import_pairs(
    captions: Iterable[tuple[int, str]],
    picture: Callable[[int], Picture],
    settings: Mapping[str, Any],
    progress: Progress = no_progress,
) -> Iterator[tuple[Workspace, int]]:
    """A workspace and its only dataset, which end with the block.

    `captions`: each with the number of its picture; their ids are row numbers. `picture(number)`:
    called once for each. `settings`: those that are not None differ from the defaults."""
    with TemporaryDirectory() as base:
        folder = Path(base) / "pairs"
        folder.mkdir()
        files: dict[int, str] = {}
        lines = []
        for row, (number, caption) in enumerate(captions):
            if number not in files:
                files[number] = _save(picture(number), folder, number)
            lines.append(
                json.dumps({"file_name": files[number], "id": str(row), "caption": caption})
            )
        (folder / "metadata.jsonl").write_text("\n".join(lines), encoding="utf-8")
        overrides = {name: value for name, value in settings.items() if value is not None}
        workspace = Workspace(load_settings({"data_directory": f"{base}/state", **overrides}, {}))
        try:
            yield workspace, workspace.jobs.import_dataset(folder, progress=progress).dataset_id
        finally:
            workspace.store.close()


def _save(picture: Picture, folder: Path, number: int) -> str:
    """Its name in the folder. A file is linked to, or copied from another file system; symbolic
    links may not lead out of a dataset's folder."""
    if isinstance(picture, Image.Image):
        picture.save(folder / f"{number}.png")
        return f"{number}.png"
    name = f"{number}{picture.suffix}"
    try:
        os.link(picture.resolve(), folder / name)
    except OSError:
        shutil.copyfile(picture, folder / name)
    return name
