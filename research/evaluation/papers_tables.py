"""Results published in TRACED (Tables 1 to 6), for comparison with ours in the same setting.

`traced_tables.tsv` contains mean and standard error of every result: percent, or seconds for 1,000
pairs on one L40. Baselines have the explorer "none".
"""

import csv
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_FILE = Path(__file__).parent / "traced_tables.tsv"
#: The paper's datasets, and substrings of a path that identify them.
_DATASETS = {"ms-coco": ("coco",), "flickr30k": ("flickr30k", "flickr30"), "mm-imdb": ("imdb",)}


@dataclass(frozen=True)
class Published:
    """One published result."""

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
    """The published result; None if there is none for this setting.

    >>> published(6, "ms-coco", "clip", "elimination", "fine-grained", "auc_percent")
    Published(mean=69.9, standard_error=0.4)
    """
    if dataset is None:
        return None
    return _figures().get((str(table), dataset, scorer, explorer, setting, figure))


def papers_dataset(path: str) -> str | None:
    """The paper's dataset that a path refers to, by its name: dataset_coco.json, flickr30k/ …

    >>> papers_dataset("data/dataset_flickr30k.json"), papers_dataset("scenes")
    ('flickr30k', None)
    """
    lower = path.lower()
    return next(
        (name for name, words in _DATASETS.items() if any(word in lower for word in words)), None
    )
