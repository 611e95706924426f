"""What TRACED reports (its Tables 1 to 6), to stand beside ours where the setting is the same.

`traced_tables.tsv` holds mean and standard error of every figure: percent, or seconds for 1,000
pairs on one L40. Baselines have the explorer "none".
"""

import csv
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_FILE = Path(__file__).parent / "traced_tables.tsv"
#: The papers' datasets, and words in a path that tell them.
_DATASETS = {"ms-coco": ("coco",), "flickr30k": ("flickr30k", "flickr30"), "mm-imdb": ("imdb",)}


@dataclass(frozen=True)
class Published:
    """One figure of the paper."""

    mean: float
    standard_error: float

    def __str__(self) -> str:
        return f"{self.mean:g} ± {self.standard_error:g}"


@cache
def _figures() -> dict[tuple[str, ...], Published]:
    with _FILE.open(encoding="utf-8", newline="") as file:
        return {
            (row["table"], row["dataset"], row["scorer"], row["explorer"], row["setting"],
             row["figure"]): Published(float(row["mean"]), float(row["standard_error"]))
            for row in csv.DictReader(file, delimiter="\t")
        }  # fmt: skip


def published(
    table: int, dataset: str | None, scorer: str, explorer: str, setting: str, figure: str
) -> Published | None:
    """The paper's figure; None where it has none for this.

    >>> published(6, "ms-coco", "clip", "elimination", "fine-grained", "auc_percent")
    Published(mean=69.9, standard_error=0.4)
    """
    if dataset is None:
        return None
    return _figures().get((str(table), dataset, scorer, explorer, setting, figure))


def papers_dataset(path: str) -> str | None:
    """Which of the paper's datasets lies at a path, by its names: dataset_coco.json, flickr30k/ …

    >>> papers_dataset("data/dataset_flickr30k.json"), papers_dataset("scenes")
    ('flickr30k', None)
    """
    lower = path.lower()
    return next(
        (name for name, words in _DATASETS.items() if any(word in lower for word in words)), None
    )
