"""`evaluate composition`: does a scorer prefer the true caption to a hard negative?

The negative differs in one detail. Evaluated on drawn scenes by kind of error; on published files:
`evaluate --benchmark sugarcrepe`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from PIL import Image

from backend.engine.scoring.protocol import Scorer
from backend.progress import Progress, no_progress
from research.bags_and_recall import Recall
from research.evaluation.labelled import from_scenes
from research.markdown_tables import table

_BATCH = 32


@dataclass(frozen=True)
class Comparison:
    """An image with a true and a false caption; `kind`: of the error."""

    kind: str
    image: Image.Image
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
    """Accuracy by kind and overall; ties count as misses."""
    hits: dict[str, list[bool]] = {}
    for first in range(0, len(comparisons), _BATCH):
        batch = comparisons[first : first + _BATCH]
        states = scorer.encode_images([item.image for item in batch])
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
    sample = from_scenes(pairs, "fine-grained", seed)
    return [
        Comparison(
            sample.kinds[row], sample.picture(row), sample.originals[row], sample.captions[row]
        )
        for row in range(pairs)
        if sample.changed[row]
    ]


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
