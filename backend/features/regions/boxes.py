"""`score --out FILE.json`: boxes of words in COCO's layout, for tools that show them on pictures.

* `images`: the pictures of pairs whose words were looked for: `id`, `file_name` as the dataset
  calls it, `width`, `height`;
* `annotations`: a box for each word that something in the picture speaks for: `id`, `image_id`,
  `category_id`, `bbox` [x, y, width, height], `area`, `iscrowd` 0, an empty `segmentation`; and of
  ours `pair_id` (the dataset's own id), `caption`, `word`, its characters `start` and `end`,
  `weight`, and `p_error` of its claim, or else of its pair (null: unknown);
* `categories`: each word in small letters, `id` and `name`.

Pixels are those of the upright picture. A word for which nothing in the picture speaks has no box.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from backend.counts import count_of
from backend.datasets.cells import split_proof
from backend.datasets.safe_files.containers import locate
from backend.datasets.safe_files.images import image_size
from backend.errors import ImageError, NotScored, UnsafePath
from backend.features.regions import queries
from backend.features.regions.queries import RegionRow
from backend.jobs import export_scores
from backend.jobs.scoring.stored_claims import KnownClaim, known_claims
from backend.store import Store
from db.queries import dataset_queries, pair_queries
from db.queries.pair_queries import PairRow

#: Pairs read per batch, with three statements.
_AT_ONCE = 1_000


@dataclass(frozen=True)
class BoxesReport:
    """`boxes` of words in `pictures` were written to `out`; `absent` words have none, because
    nothing in the picture speaks for them. `unreadable`: pictures that cannot be opened any more,
    or are others than were imported; they are left out with their words."""

    out: Path
    boxes: int
    pictures: int
    absent: int
    unreadable: int

    def in_words(self) -> str:
        words = (
            f"{self.boxes:,} box{'' if self.boxes == 1 else 'es'} in "
            f"{count_of(self.pictures, 'picture')} written to {self.out}; "
            f"{count_of(self.absent, 'word')} without a box: nothing in the picture speaks for "
            f"{'it' if self.absent == 1 else 'them'}."
        )
        if self.unreadable:
            unreadable = count_of(self.unreadable, "picture")
            words += f" Left out: {unreadable} that cannot be opened or changed."
        return words


def check_looked(store: Store, dataset_id: int) -> int:
    """The run that has the dataset's regions. Raises NotScored if words were never looked for."""
    run_id = store.read(queries.run_of, dataset_id)
    if run_id is None:
        name = store.read(dataset_queries.get_dataset, dataset_id).name
        raise NotScored(
            f"Words of '{name}' were not looked for in its pictures, so there are no boxes.",
            terminal="Look for them: add --regions. For a table, let the file end in .jsonl, "
            ".parquet or .csv.",
        )
    return run_id


def write(store: Store, dataset_id: int, out: Path) -> BoxesReport:
    """Write the boxes of all pairs; the file is written atomically. Raises as `check_looked`, and
    ExportError."""
    run_id = check_looked(store, dataset_id)
    dataset = store.read(dataset_queries.get_dataset, dataset_id)
    images: dict[str, dict[str, Any] | None] = {}
    categories: dict[str, int] = {}
    boxes = absent = 0
    with (
        export_scores.new_file(out, (out.suffix,)) as part,
        part.open("w", encoding="utf-8", newline="\n") as file,
    ):
        about = {"description": f"Suspect words of {dataset.name}, by TRACED Curator"}
        file.write(f'{{"info": {_json(about)}, "licenses": [],\n"annotations": [')
        for pair, regions, claims in _pairs_with_regions(store, dataset_id, run_id):
            if pair.image_path not in images:
                images[pair.image_path] = _image(Path(dataset.root), pair, len(images) + 1)
            image = images[pair.image_path]
            if image is None:
                continue
            for region in regions:
                if region.box is None:
                    absent += 1
                    continue
                word = pair.caption[region.start : region.end]
                category = categories.setdefault(word.lower(), len(categories) + 1)
                boxes += 1
                annotation = {
                    "id": boxes, "image_id": image["id"], "category_id": category,
                    **_box_cells(region.box), "pair_id": pair.external_id, "caption": pair.caption,
                    "word": word, "start": region.start, "end": region.end,
                    "weight": round(region.weight, 4), "p_error": _p_error(pair, claims, region),
                }  # fmt: skip
                file.write(("," if boxes > 1 else "") + "\n" + _json(annotation))
        readable = [image for image in images.values() if image is not None]
        file.write('],\n"images": ')
        _write_list(file, readable)
        file.write(',\n"categories": ')
        _write_list(file, [{"id": number, "name": name} for name, number in categories.items()])
        file.write("}\n")
    return BoxesReport(out, boxes, len(readable), absent, len(images) - len(readable))


def _pairs_with_regions(
    store: Store, dataset_id: int, run_id: int
) -> Iterator[tuple[PairRow, tuple[RegionRow, ...], Sequence[KnownClaim]]]:
    """In order of import, each with its claims."""
    for pairs in store.batches(
        lambda session, after: pair_queries.pairs_after(session, dataset_id, after, _AT_ONCE)
    ):
        with store.reading() as session:
            regions = queries.of_run(session, run_id, [pair.id for pair in pairs])
            claims = known_claims(session, [pair for pair in pairs if pair.id in regions])
        for pair in pairs:
            if of_pair := regions.get(pair.id):
                yield pair, of_pair, claims.get(pair.id, ())


def _image(root: Path, pair: PairRow, number: int) -> dict[str, Any] | None:
    """The pair's picture; None if it cannot be opened, or is another one now."""
    try:
        width, height = image_size(locate(root, pair.image_path))
    except (ImageError, UnsafePath, OSError):
        return None
    name, _ = split_proof(pair.image_path)
    return {"id": number, "file_name": name, "width": width, "height": height}


def _box_cells(box: tuple[float, float, float, float]) -> dict[str, Any]:
    """
    >>> _box_cells((2, 1, 5.5, 3))
    {'bbox': [2, 1, 3.5, 2], 'area': 7.0, 'iscrowd': 0, 'segmentation': []}
    """
    x0, y0, x1, y1 = (round(edge, 2) for edge in box)
    width, height = round(x1 - x0, 2), round(y1 - y0, 2)
    return {
        "bbox": [x0, y0, width, height], "area": round(width * height, 2), "iscrowd": 0,
        "segmentation": [],
    }  # fmt: skip


def _p_error(pair: PairRow, claims: Sequence[KnownClaim], region: RegionRow) -> float | None:
    for each in claims:
        if each.claim.start <= region.start < each.claim.end:
            return each.numbers["p_error"]
    return pair.p_error


def _write_list(file: Any, values: Sequence[dict[str, Any]]) -> None:
    file.write("[" + ",\n".join(map(_json, values)) + "]")


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
