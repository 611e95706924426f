"""`evaluate composition`: does a scorer prefer the true caption to a hard negative?

The negative differs in one detail. Evaluated on drawn scenes by kind of error, and on SugarCrepe's
files if the user provides them. Its seven public files contain `filename` (an image of COCO's
val2017), `caption` and `negative_caption` by number; nothing is downloaded.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from PIL import Image

from backend.datasets.images import load_image
from backend.engine.scoring.protocol import Scorer
from backend.errors import DatasetFormatError, ImageError
from backend.progress import Progress, no_progress
from research.bags_and_recall import Recall
from research.evaluation.labelled import from_scenes
from research.markdown_tables import table

_BATCH = 32


@dataclass(frozen=True)
class Comparison:
    """An image with a true and a false caption; `kind`: name of the file, or kind of error."""

    kind: str
    image: Path | Image.Image
    caption: str
    negative: str


@dataclass(frozen=True)
class Accuracy:
    """Share of pairs whose true caption scores strictly higher, with a 95 % Wilson interval."""

    kind: str
    pairs: int
    accuracy: float
    low: float
    high: float


@dataclass(frozen=True)
class CompositionReport:
    model: str
    rows: list[Accuracy]


def evaluate_composition(
    scorer: Scorer, comparisons: Sequence[Comparison], progress: Progress = no_progress
) -> CompositionReport:
    """Accuracy by kind and overall; ties count as misses.

    Raises DatasetFormatError for an image that cannot be read."""
    hits: dict[str, list[bool]] = {}
    for first in range(0, len(comparisons), _BATCH):
        batch = comparisons[first : first + _BATCH]
        try:
            states = scorer.encode_images(
                [load_image(i.image) if isinstance(i.image, Path) else i.image for i in batch]
            )
        except ImageError as problem:
            raise DatasetFormatError(str(problem)) from problem
        requests = [
            (s, [item.caption, item.negative]) for s, item in zip(states, batch, strict=True)
        ]
        for item, (true, false) in zip(batch, scorer.score(requests), strict=True):
            hits.setdefault(item.kind, []).append(bool(true > false))
        progress(first + len(batch), len(comparisons), "Comparing captions")
    rows = [_accuracy(kind, of_kind) for kind, of_kind in sorted(hits.items())]
    rows.append(_accuracy("all", [hit for of_kind in hits.values() for hit in of_kind]))
    return CompositionReport(f"{scorer.info.kind} · {Path(scorer.info.model).name}", rows)


def drawn_comparisons(pairs: int, seed: int) -> list[Comparison]:
    """True captions of drawn scenes and their fine-grained corruptions, by what was changed."""
    made = from_scenes(pairs, "fine-grained", seed)
    return [
        Comparison(made.kinds[row], made.picture(row), made.originals[row], made.captions[row])
        for row in range(pairs)
        if made.changed[row]
    ]


def sugarcrepe(folder: Path, image_root: Path) -> list[Comparison]:
    """All comparisons of the JSON files in the folder. Raises DatasetFormatError if there is no
    file, or one is invalid or refers to a missing image."""
    files = sorted(folder.glob("*.json"))
    if not files:
        raise DatasetFormatError(
            f"There is no JSON file in {folder}. Put SugarCrepe's files there: add_att.json, …"
        )
    return [item for path in files for item in _read(path, image_root)]


def _read(path: Path, image_root: Path) -> Iterator[Comparison]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        entries = content.items() if isinstance(content, dict) else enumerate(content)
        listed = [(key, entry["filename"], entry["caption"], entry["negative_caption"])
                  for key, entry in entries]  # fmt: skip
    except (ValueError, KeyError, TypeError) as problem:
        raise DatasetFormatError(
            f"{path} is not a file of SugarCrepe: entries need filename, caption and "
            f"negative_caption ({problem})."
        ) from problem
    for key, name, caption, negative in listed:
        image = image_root / str(name)
        if not image.is_file():
            raise DatasetFormatError(f"{path}, entry {key}: there is no image {image}.")
        yield Comparison(path.stem, image, str(caption), str(negative))


def _accuracy(kind: str, hits: Sequence[bool]) -> Accuracy:
    recall = Recall(sum(hits), len(hits))
    return Accuracy(kind, len(hits), recall.share if hits else 0.0, *recall.interval)


def markdown(report: CompositionReport) -> str:
    rows = [
        (row.kind, row.pairs, f"{row.accuracy:.3f}", f"{row.low:.3f}–{row.high:.3f}")
        for row in report.rows
    ]
    head = ("kind", "pairs", "accuracy", "95 %")
    return f"True caption above its false twin, {report.model}.\n\n{table(head, rows)}"
