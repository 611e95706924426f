"""SugarCrepe (Hsieh et al., NeurIPS 2023), and SugarCrepe++ with a second true caption."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from backend.errors import DatasetFormatError
from research.benchmarks.benchmark import (
    Benchmark,
    Comparison,
    Content,
    Item,
    Pictures,
    PublishedFigure,
    check_fields,
    read_json,
)

_TITLE, _PLUS = "SugarCrepe", "SugarCrepe++"


def _files(path: Path, title: str) -> list[Path]:
    files = sorted(path.glob("*.json")) if path.is_dir() else [path]
    if not files:
        raise DatasetFormatError(
            f"There is no JSON file in {path}. {title}'s files are swap_obj.json, "
            "replace_att.json, …"
        )
    return files


def _entries(file: Path, title: str, *more: str) -> list[tuple[str, dict[str, Any]]]:
    """The entries of a file by their keys: an object by number, or a list."""
    whole = read_json(file, title)
    if not isinstance(whole, dict | list):
        raise DatasetFormatError(f"'{file}' is not a file of {title}: no object and no list.")
    values = whole.values() if isinstance(whole, dict) else whole
    fields = dict.fromkeys(("filename", "caption", "negative_caption", *more), str)
    entries = check_fields(values, fields, file, title)
    keys = whole.keys() if isinstance(whole, dict) else range(len(entries))
    return [(str(e.get("id", key)), e) for key, e in zip(keys, entries, strict=True)]


def _read(path: Path, pictures: Pictures) -> Content:
    return _read_as(SUGARCREPE, path, pictures, ("caption",))


def _read_plus(path: Path, pictures: Pictures) -> Content:
    return _read_as(SUGARCREPE_PLUS, path, pictures, ("caption", "caption2"))


def _read_as(
    benchmark: Benchmark, path: Path, pictures: Pictures, true: tuple[str, ...]
) -> Content:
    """`true`: the fields of the true captions, all of which have to score above the false one."""
    items: list[Item] = []
    comparisons: list[Comparison] = []
    notes: list[str] = []
    for file in _files(path, benchmark.title):
        entries = _entries(file, benchmark.title, *true[1:])
        notes += benchmark.note_size(file, len(entries))
        for key, entry in entries:
            picture = pictures.find(entry["filename"])
            if picture is None:
                continue
            rows = list(_items(entry, f"{file.stem}:{key}", picture, file.stem, true))
            false = len(items) + len(rows) - 1
            orders = tuple((len(items) + index, false) for index in range(len(true)))
            comparisons.append(Comparison(rows[0].group, orders, file.stem))
            items += rows
    return Content(items, comparisons, notes)


def _items(
    entry: dict[str, Any], name: str, picture: Path, kind: str, true: tuple[str, ...]
) -> Iterator[Item]:
    """The false caption last."""
    for field in (*true, "negative_caption"):
        is_wrong = field == "negative_caption"
        yield Item(f"{name}:{field}", picture, entry[field], is_wrong, kind, entry["filename"])


SUGARCREPE = Benchmark(
    "sugarcrepe", _TITLE, "its folder data, or one of its files", "github.com/RAIVNLab/sugar-crepe",
    _read, cited_for=("pairwise accuracy", "AUC"),
    published=(
        PublishedFigure("Qwen2.5-VL-7B", "AUC", 0.849, "HalDec-Bench, arXiv:2603.15253"),
    ),
    sizes={"add_obj.json": 2062, "add_att.json": 692, "replace_obj.json": 1652,
           "replace_att.json": 788, "replace_rel.json": 1406, "swap_obj.json": 245,
           "swap_att.json": 666},
)  # fmt: skip
SUGARCREPE_PLUS = Benchmark(
    "sugarcrepe++", _PLUS, "its folder data, or one of its files", "github.com/Sri-Harsha/scpp",
    _read_plus, cited_for=("pairwise accuracy", "AUC"),
    sizes={"replace_obj.json": 1652, "replace_att.json": 788, "replace_rel.json": 1406,
           "swap_obj.json": 245, "swap_att.json": 666},
)  # fmt: skip
