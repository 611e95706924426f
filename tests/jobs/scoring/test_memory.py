"""The memory used by an import does not grow with the dataset, for good or bad rows."""

import tracemalloc
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from PIL import Image

from backend.datasets.reading.on_disk import SeenIds
from backend.settings import load_settings
from backend.workspace import Workspace

# Both fill the batches and buffers that an import holds; below that, the peak grows with the rows.
FEW, MANY = 3_000, 6_000


def table(folder: Path, rows: int, line: str) -> Path:
    Image.new("RGB", (8, 8), "red").save(folder / "a.png")
    with (folder / "metadata.csv").open("w", encoding="utf-8") as file:
        file.write("file_name,id,caption\n")
        for number in range(rows):
            whole = line if number else line.replace("gone.png", "a.png")  # one valid row
            file.write(whole.format(number=number))
    return folder


def peak(folder: Path, rows: int, write: Callable[[Path, int], Path]) -> float:
    """Peak MiB held by Python while that many rows were imported."""
    source = folder / f"pairs-{rows}"
    source.mkdir(parents=True)
    path = write(source, rows)
    workspace = Workspace(load_settings({"data_directory": str(folder / f"state-{rows}")}, {}))
    tracemalloc.start()
    report = workspace.jobs.import_dataset(path)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    workspace.store.close()
    assert report.added + report.problems == rows
    assert len(report.first_problems) == min(20, report.problems)
    return most / 2**20


@pytest.mark.parametrize(
    "write",
    [
        partial(table, line="a.png,row-{number},A red square number {number}\n"),
        pytest.param(partial(table, line="gone.png,row-{number},A\n"), marks=pytest.mark.nightly),
    ],
    ids=["good rows", "bad rows"],
)
def test_importing_streams(tmp_path: Path, write: Callable[[Path, int], Path]) -> None:
    # The first import of a process fills caches and is not measured.
    peak(tmp_path / "warm", 50, write)
    few, many = peak(tmp_path / "few", FEW, write), peak(tmp_path / "many", MANY, write)
    assert many < few + 0.4, (few, many)


def test_repeated_ids_are_recognised() -> None:
    seen_ids = SeenIds()
    names = [f"row-{number}" for number in range(20_000)]
    assert {seen_ids.add(name, "a dog") for name in names} == {None}
    assert {seen_ids.add(name, "a dog") for name in names} == {True}
    assert {seen_ids.add(name, "a cat") for name in names} == {False}
    assert [seen_ids.add("\ud800"), seen_ids.add("\ud800")] == [None, True]
    seen_ids.close()
