"""A small dataset in which some pictures occur more than once."""

from pathlib import Path

import pytest

from backend.workspace import Workspace
from tests.checkpoints import drawn_pairs
from tests.datasets.folders import image_folder
from tests.fixtures.shared import SharedFolder
from tests.jobs.opening import CLIP, OpenWorkspace, score_pairs

#: The number of different drawn pictures.
PAIRS = 16


def write_copies(folder: Path) -> None:
    """Sixteen drawn pictures; 2 has a JPEG copy and one with the same pixels, 5 a smaller copy, and
    7 a second caption."""
    pairs = drawn_pairs(PAIRS, seed=8)
    names = [f"{n}.png" for n in range(PAIRS)] + ["copy.jpg", "same.png", "small.png", "7.png"]
    captions = [text for _, text in pairs] + [
        "<b>A copy</b> ${7*6}",
        "The same. A dog.",
        "Small.",
        "Two.",
    ]
    rows = [
        {"id": f"{index}-{name}", "file_name": name, "caption": text}
        for index, (name, text) in enumerate(zip(names, captions, strict=True))
    ]
    image_folder(folder, rows, ())
    for number, (image, _) in enumerate(pairs):
        image.save(folder / f"{number}.png")
    pairs[2][0].save(folder / "copy.jpg", quality=95)
    pairs[2][0].save(folder / "same.png")
    small = pairs[5][0]
    small.resize((small.width - 12, small.height - 12)).save(folder / "small.png")


def score_copies(base: Path) -> None:
    """Import and score them as the dataset *pairs*, with the workspace's state in `base`/state."""
    write_copies(base / "pairs")
    score_pairs(base, **CLIP, author="Ada")


@pytest.fixture
def workspace(shared_folder: SharedFolder, open_workspace: OpenWorkspace) -> Workspace:
    """These pairs, scored."""
    scored = shared_folder("scored-copies", score_copies)
    return open_workspace(copy_of=scored, author="Ada", **CLIP)


def listed(workspace: Workspace, query: str) -> list[str]:
    """The ids of the pairs in a queue."""
    fields = workspace.review.queue_fields(1, query)
    assert fields is not None
    filter = workspace.review.filter_of(1, fields)
    return [row.external_id for row in workspace.review.queue_page(filter, limit=100).rows]
