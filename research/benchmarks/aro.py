"""ARO (Yuksekgonul et al., ICLR 2023): relations and attributes of Visual Genome, exchanged.

Its two files name a part of each picture; the captions are about that part. Its other half,
shuffled captions of COCO and Flickr30k, is made by its authors' program and has no file to read.
"""

from pathlib import Path

from backend.errors import DatasetFormatError
from research.benchmarks.benchmark import (
    Benchmark,
    Comparison,
    Content,
    Item,
    Pictures,
    check_fields,
    read_json,
)

_TITLE = "ARO"
_NUMBER = (int, float)
_FIELDS: dict[str, type | tuple[type, ...]] = {
    "image_path": str, "true_caption": str, "false_caption": str, "bbox_x": _NUMBER,
    "bbox_y": _NUMBER, "bbox_w": _NUMBER, "bbox_h": _NUMBER,
}  # fmt: skip


def _read(path: Path, pictures: Pictures) -> Content:
    entries = read_json(path, _TITLE)
    if not isinstance(entries, list):
        raise DatasetFormatError(
            f"'{path}' is not a file of {_TITLE}: no list. Its files are "
            "visual_genome_relation.json and visual_genome_attribution.json."
        )
    items: list[Item] = []
    comparisons: list[Comparison] = []
    for number, entry in enumerate(check_fields(entries, _FIELDS, path, _TITLE)):
        name = entry["image_path"]
        if (picture := pictures.find(name, f"images/{name}")) is None:
            continue
        kind = str(entry.get("relation_name") or "attribution")
        x, y, width, height = (int(entry[f"bbox_{side}"]) for side in "xywh")
        for is_wrong, field in ((False, "true_caption"), (True, "false_caption")):
            items.append(
                Item(f"{path.stem}:{number}:{field}", picture, entry[field], is_wrong, kind, name,
                     box=(x, y, x + width, y + height))
            )  # fmt: skip
        comparisons.append(Comparison(name, ((len(items) - 2, len(items) - 1),), kind))
    return Content(items, comparisons)


ARO = Benchmark(
    "aro", _TITLE, "visual_genome_relation.json or visual_genome_attribution.json",
    "github.com/mertyg/vision-language-models-are-bows, dataset_zoo/aro_datasets.py", _read,
    cited_for=("pairwise accuracy", "AUC"),
)  # fmt: skip
