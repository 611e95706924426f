"""What importing holds in memory does not grow with the dataset, good rows or bad."""

import tracemalloc
from pathlib import Path

import pytest
from PIL import Image

from backend.datasets.seen_ids import SeenIds
from backend.settings import load_settings
from backend.workspace import Workspace

FEW, MANY = 3_000, 15_000


def peak(folder: Path, rows: int, line: str) -> float:
    """MiB that Python held at most while so many rows were imported."""
    source = folder / f"pairs-{rows}"
    source.mkdir(parents=True)
    Image.new("RGB", (8, 8), "red").save(source / "a.png")
    with (source / "metadata.csv").open("w", encoding="utf-8") as table:
        table.write("file_name,id,caption\n")
        for number in range(rows):
            table.write(line.format(number=number))
    workspace = Workspace(load_settings({"data_directory": str(folder / f"state-{rows}")}, {}))
    tracemalloc.start()
    report = workspace.import_dataset(source)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    workspace.store.close()
    assert report.added + report.problems == rows
    assert len(report.first_problems) == min(20, report.problems)
    return most / 2**20


@pytest.mark.parametrize(
    "line", ["a.png,row-{number},A red square number {number}\n", "gone.png,row-{number},A\n"]
)
def test_importing_streams(tmp_path: Path, line: str) -> None:
    # The first import of a process fills caches, so it does not count.
    peak(tmp_path / "warm", 500, line)
    few, many = peak(tmp_path / "few", FEW, line), peak(tmp_path / "many", MANY, line)
    assert many < few + 1.0, (few, many)


def test_an_id_that_comes_again_is_known() -> None:
    seen = SeenIds()
    names = [f"row-{number}" for number in range(20_000)]
    assert all(seen.add(name) for name in names)
    assert not any(seen.add(name) for name in names)
    assert seen.add("\ud800")
    assert not seen.add("\ud800")
    seen.close()
