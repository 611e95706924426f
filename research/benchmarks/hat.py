"""HAT (Petryk et al., NAACL 2024): captions by models and people, with hallucinated words marked;
and nocaps-FOIL from the same authors, one object of a caption replaced."""

from itertools import accumulate
from pathlib import Path

from backend.datasets.cells import trim
from backend.engine.captions import changes, lower_words
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
    word_indices,
)

_TITLE, _NOCAPS = "HAT", "nocaps-FOIL"
_LAYOUT = "github.com/DavidMChan/aloha"


def _read(path: Path, pictures: Pictures) -> Content:
    entries = check_fields(
        _list(path, _TITLE),
        {"sample_id": str, "caption": str, "image_path": str, "grounding": list,
         "contains_hallucination": bool}, path, _TITLE,
    )  # fmt: skip
    items = []
    for entry in entries:
        if (picture := pictures.find(entry["image_path"])) is None:
            continue
        words = _wrong_words(entry["caption"], entry["grounding"], entry["sample_id"], path)
        kind = "by a model" if entry.get("is_machine_generated") else "by a person"
        items.append(
            Item(entry["sample_id"], picture, entry["caption"], entry["contains_hallucination"],
                 kind, entry["image_path"], words)
        )  # fmt: skip
    return Content(items, notes=HAT.note_size(path, len(entries)))


def _wrong_words(caption: str, grounding: list[object], name: str, path: Path) -> frozenset[int]:
    """`grounding`: (word, whether it is hallucinated), by spaces."""
    try:
        marks = [(str(word), bool(is_wrong)) for word, is_wrong in grounding]  # type: ignore[misc]
    except (TypeError, ValueError):
        marks = []
    if " ".join(word for word, _ in marks) != caption:
        raise DatasetFormatError(
            f"'{path}' is not a file of {_TITLE}: the words of 'grounding' are not those of the "
            f"caption in '{trim(name)}'."
        )
    ends = list(accumulate(len(word) + 1 for word, _ in marks))
    return word_indices(
        caption,
        [(end - len(word) - 1, end - 1)
         for (word, is_wrong), end in zip(marks, ends, strict=True) if is_wrong],
    )  # fmt: skip


def _read_nocaps(path: Path, pictures: Pictures) -> Content:
    entries = check_fields(
        _list(path, _NOCAPS), {"image_path": str, "baseline": str, "foil": str}, path, _NOCAPS
    )
    items: list[Item] = []
    comparisons: list[Comparison] = []
    for number, entry in enumerate(entries):
        name = entry["image_path"]
        if (picture := pictures.find(name)) is None:
            continue
        kind = str(entry.get("domain") or "")
        runs = changes(lower_words(entry["baseline"]), lower_words(entry["foil"]))
        words = frozenset(word for run in runs for word in run.new)
        items += [
            Item(f"{number}:baseline", picture, entry["baseline"], False, kind, name),
            Item(f"{number}:foil", picture, entry["foil"], True, kind, name, words),
        ]
        comparisons.append(Comparison(name, ((len(items) - 2, len(items) - 1),), kind))
    return Content(items, comparisons)


def _list(path: Path, title: str) -> list[object]:
    entries = read_json(path, title)
    if not isinstance(entries, list):
        raise DatasetFormatError(f"'{path}' is not a file of {title}: no list.")
    return entries


HAT = Benchmark(
    "hat", _TITLE, "hat-trainval.json", _LAYOUT, _read,
    cited_for=("AUC", "average precision", "F1", "top suspect word", "F1 by word"),
    published=(PublishedFigure("Qwen2.5-VL-7B", "AUC", 0.680, "HalDec-Bench, arXiv:2603.15253"),),
    sizes={"hat-trainval.json": 400},
)  # fmt: skip
NOCAPS_FOIL = Benchmark(
    "nocaps-foil", _NOCAPS, "nocaps-val-foil.json", _LAYOUT, _read_nocaps,
    cited_for=("average precision", "AUC", "pairwise accuracy", "top suspect word"),
)  # fmt: skip
