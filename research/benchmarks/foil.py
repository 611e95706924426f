"""FOIL-COCO (Shekhar et al., ACL 2017): one noun of a caption replaced by a related one."""

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
)

_TITLE = "FOIL-COCO"
_SOURCE = "HalDec-Bench, arXiv:2603.15253"


def _read(path: Path, pictures: Pictures) -> Content:
    """Annotations that share `id`, the id of COCO's annotation, are a caption and its foils."""
    whole = read_json(path, _TITLE)
    if not isinstance(whole, dict) or not {"images", "annotations"} <= whole.keys():
        raise DatasetFormatError(
            f"'{path}' is not a file of {_TITLE}: it needs 'images' and 'annotations'. Its files "
            "are foilv1.0_train_2017.json and foilv1.0_test_2017.json."
        )
    images = {
        image["id"]: image["file_name"]
        for image in check_fields(whole["images"], {"id": int, "file_name": str}, path, _TITLE)
    }
    annotations = check_fields(
        whole["annotations"],
        {"id": int, "image_id": int, "caption": str, "foil": bool, "foil_word": str,
         "target_word": str}, path, _TITLE,
    )  # fmt: skip
    unknown = [a["image_id"] for a in annotations if a["image_id"] not in images]
    if unknown:
        raise DatasetFormatError(
            f"{len(unknown):,} of {len(annotations):,} annotations of '{path}' name an image that "
            f"'images' lacks, {trim(str(unknown[0]))} first."
        )
    originals = {a["id"]: a["caption"] for a in annotations if not a["foil"]}
    items: list[Item] = []
    right: dict[int, int] = {}
    foils: list[tuple[int, int]] = []
    for number, entry in enumerate(annotations):
        name = images[entry["image_id"]]
        picture = pictures.find(name, f"val2014/{name}", f"train2014/{name}")
        if picture is None:
            continue
        if entry["foil"]:
            foils.append((entry["id"], len(items)))
        else:
            right[entry["id"]] = len(items)
        items.append(
            Item(
                f"{entry['id']}:{entry.get('foil_id', number)}" if entry["foil"] else
                str(entry["id"]), picture, entry["caption"], entry["foil"],
                entry["target_word"] if entry["foil"] else "",
                str(entry["image_id"]),
                _new_words(originals.get(entry["id"]), entry["caption"]) if entry["foil"] else None,
            )
        )  # fmt: skip
    comparisons = [
        Comparison(items[row].group, ((right[key], row),), items[row].kind)
        for key, row in foils
        if key in right
    ]
    alone = len(foils) - len(comparisons)
    notes = [f"{alone:,} of {len(foils):,} foils have no original caption."] if alone else []
    return Content(items, comparisons, notes)


def _new_words(original: str | None, foil: str) -> frozenset[int] | None:
    """The words of the foil that its original lacks; None without an original."""
    if original is None:
        return None
    runs = changes(lower_words(original), lower_words(foil))
    return frozenset(word for run in runs for word in run.new)


FOIL = Benchmark(
    "foil", _TITLE, "foilv1.0_test_2017.json", "foilunitn.github.io", _read,
    cited_for=("AUC", "pairwise accuracy", "top suspect word"),
    published=(PublishedFigure("Qwen2.5-VL-7B", "AUC", 0.855, _SOURCE),),
)  # fmt: skip
