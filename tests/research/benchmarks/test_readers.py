"""Each benchmark is read in the layout that its authors publish, or refused with counts."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from backend.engine.captions import Caption
from backend.errors import DatasetFormatError, SettingsError
from research.benchmarks.benchmark import Content, Pictures
from research.benchmarks.benchmark_registry import BENCHMARKS, benchmark_named
from tests.research.benchmarks.layouts import ENTRIES, LAYOUTS

#: (captions, wrong ones, comparisons) of the files in `layouts`.
EXPECTED = {
    "foil": (2 * ENTRIES, ENTRIES, ENTRIES),
    "sugarcrepe": (4 * ENTRIES, 2 * ENTRIES, 2 * ENTRIES),
    "sugarcrepe++": (3 * ENTRIES, ENTRIES, ENTRIES),
    "winoground": (2 * ENTRIES, ENTRIES, 3 * ENTRIES // 2),
    "aro": (2 * ENTRIES, ENTRIES, ENTRIES),
    "hat": (ENTRIES, ENTRIES // 3, 0),
    "nocaps-foil": (2 * ENTRIES, ENTRIES, ENTRIES),
    "mhaldetect": (2 * ENTRIES, ENTRIES, 0),
    "detailverifybench": (2 * ENTRIES, ENTRIES, 0),
    "seetrue": (ENTRIES, ENTRIES // 2, 0),
}


def read(name: str, path: Path, skip: bool = False) -> Content:
    pictures = Pictures(path.parent / "images", skip)
    return benchmark_named(name).content(path, pictures)


def test_every_benchmark_has_a_layout_here() -> None:
    assert LAYOUTS.keys() == BENCHMARKS.keys() == EXPECTED.keys()
    with pytest.raises(SettingsError, match="winoground"):
        benchmark_named("no-such")


@pytest.mark.parametrize("name", LAYOUTS)
def test_a_file_is_read_whole(name: str, tmp_path: Path) -> None:
    content = read(name, LAYOUTS[name](tmp_path))
    wrong = sum(item.is_wrong for item in content.items)
    assert (len(content.items), wrong, len(content.comparisons)) == EXPECTED[name]
    for comparison in content.comparisons:
        for high, low in comparison.orders:
            assert (content.items[high].is_wrong, content.items[low].is_wrong) == (False, True)
    marked = [item for item in content.items if item.wrong_words]
    assert all(item.is_wrong for item in marked)
    for item in marked:
        assert "purple" in [Caption.parse(item.caption).words[i] for i in item.wrong_words or ()]
    if name in ("foil", "hat", "nocaps-foil", "mhaldetect", "detailverifybench"):
        assert len(marked) == wrong


@pytest.mark.parametrize("name", LAYOUTS)
def test_missing_pictures_are_counted_and_left_out_only_on_request(
    name: str, tmp_path: Path
) -> None:
    path = LAYOUTS[name](tmp_path)
    whole = read(name, path)
    next(iter(sorted((tmp_path / "images").rglob("*.png")))).unlink()
    with pytest.raises(DatasetFormatError, match=r"^[12] of \d+ entries name a picture"):
        read(name, path)
    rest = read(name, path, skip=True)
    assert 0 < len(rest.items) < len(whole.items)
    assert any("were left out" in note for note in rest.notes)
    for each in sorted((tmp_path / "images").rglob("*.png")):
        each.unlink()
    with pytest.raises(DatasetFormatError):
        read(name, path, skip=True)


@pytest.mark.parametrize("name", LAYOUTS)
def test_another_layout_is_refused(name: str, tmp_path: Path) -> None:
    path = LAYOUTS[name](tmp_path)
    for file in path.glob("*") if path.is_dir() else [path]:
        text = '{"caption": "a dog"}\n' if file.suffix == ".jsonl" else '[{"caption": "a dog"}]'
        file.write_text("caption\na dog\n" if file.suffix == ".csv" else text)
    with pytest.raises(DatasetFormatError, match="not a file of"):
        read(name, path)
    for file in path.glob("*") if path.is_dir() else [path]:
        file.write_text("{")
    with pytest.raises(DatasetFormatError):
        read(name, path)


def edited(path: Path, change: Callable[[list[dict[str, object]]], None]) -> Path:
    entries = json.loads(path.read_text())
    change(entries)
    path.write_text(json.dumps(entries))
    return path


def test_duplicated_ids_are_counted(tmp_path: Path) -> None:
    path = edited(LAYOUTS["hat"](tmp_path), lambda entries: entries.extend(entries[:3]))
    with pytest.raises(DatasetFormatError, match=f"3 of {ENTRIES + 3} captions"):
        read("hat", path)


def test_entries_of_another_version_are_counted(tmp_path: Path) -> None:
    def rename(entries: list[dict[str, object]]) -> None:
        for entry in entries[:5]:
            entry["image"] = entry.pop("image_path")

    path = edited(LAYOUTS["hat"](tmp_path), rename)
    with pytest.raises(DatasetFormatError, match=f"5 of {ENTRIES} entries"):
        read("hat", path)


def test_another_number_of_entries_than_published_is_said(tmp_path: Path) -> None:
    (note,) = read("hat", LAYOUTS["hat"](tmp_path)).notes
    assert f"has {ENTRIES} entries, the published one 400" in note


def test_a_foil_without_its_original_is_judged_but_not_compared(tmp_path: Path) -> None:
    path = LAYOUTS["foil"](tmp_path)
    whole = json.loads(path.read_text())
    del whole["annotations"][0]
    path.write_text(json.dumps(whole))
    content = read("foil", path)
    assert (len(content.items), len(content.comparisons)) == (2 * ENTRIES - 1, ENTRIES - 1)
    assert content.notes == [f"1 of {ENTRIES} foils have no original caption."]


def test_marks_have_to_quote_the_text(tmp_path: Path) -> None:
    def shift(entries: list[dict[str, object]]) -> None:
        entries[2]["annotations"][0]["start"] = 1  # type: ignore[index]

    path = edited(LAYOUTS["mhaldetect"](tmp_path), shift)
    with pytest.raises(DatasetFormatError, match="entry 2"):
        read("mhaldetect", path)


def test_pictures_outside_the_folder_are_never_opened(tmp_path: Path) -> None:
    path = edited(
        LAYOUTS["hat"](tmp_path),
        lambda entries: entries[0].update(image_path="../hat-trainval.json"),
    )
    with pytest.raises(DatasetFormatError, match=f"1 of {ENTRIES} entries"):
        read("hat", path)
