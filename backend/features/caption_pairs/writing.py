"""Exports of pairs of captions to learn from: a better and a worse text about the same picture.

Both formats are read by others' programs: `preference` has the columns of TRL's vision datasets
(`trl-lib/rlaif-v`), `hard-negatives` those of NegCLIP's reader, with which open_clip was extended.
The pairs that differ least come first.
"""

import csv
import json
from collections.abc import Iterable
from itertools import zip_longest
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from backend.datasets.export_row import (
    COLUMNS,
    FIELDS,
    ExportRow,
    Target,
    arrow_values,
    own_values,
)
from backend.datasets.writing.export_images import SplitNames, image_and_ending
from backend.datasets.writing.shard_writing import FEATURES, IMAGE
from backend.datasets.writing.source_exchanges import question_of
from backend.datasets.writing.table_writing import ImagePaths, csv_loader
from backend.errors import ExportError
from backend.features.caption_pairs.comparisons import CaptionPair

#: The question where the source has none.
_PROMPT = "Describe the image."
#: Images written at once.
_GROUP = 100

_PART = pa.struct([("type", pa.string()), ("text", pa.string())])
_TURN = pa.struct([("role", pa.string()), ("content", pa.list_(_PART))])
_TEXT = {"dtype": "string", "_type": "Value"}
_TURNS = [{"role": _TEXT, "content": [{"type": _TEXT, "text": _TEXT}]}]
_PAIR = [
    ("basis", pa.string()), ("decided_by", pa.string()), ("words_changed", pa.int64()),
    ("kinds", pa.string()),
]  # fmt: skip
_SCHEMA = pa.schema(
    [("images", pa.list_(IMAGE)), ("prompt", pa.list_(_TURN)), ("chosen", pa.list_(_TURN)),
     ("rejected", pa.list_(_TURN)), *_PAIR, *FIELDS],
    metadata={"huggingface": json.dumps({"info": {"features": {
        "images": {"feature": {"_type": "Image"}, "_type": "Sequence"},
        **dict.fromkeys(("prompt", "chosen", "rejected"), _TURNS),
        **{name: {"dtype": str(kind), "_type": "Value"} for name, kind in _PAIR},
        **{name: feature for name, feature in FEATURES.items() if name != "image"},
    }}})},
)  # fmt: skip


def write_preference(rows: Iterable[ExportRow], target: Target) -> int:
    """Write `train.parquet`, …: a picture, a question, the better and the worse answer. Returns
    the number of pairs."""
    count = longest = 0
    splits = SplitNames()
    for split, pairs in _by_split(rows, splits).items():
        target.files[split] = f"{split}.parquet"
        longest = max([longest, *(_words_to_tell(pair) for _, pair in pairs)])
        with pq.ParquetWriter(target.part / f"{split}.parquet", _SCHEMA) as writer:
            for first in range(0, len(pairs), _GROUP):
                group = enumerate(pairs[first : first + _GROUP], count)
                cells = [_preference(number, row, pair, target) for number, (row, pair) in group]
                writer.write_table(pa.Table.from_pylist(cells, _SCHEMA))
                count += len(cells)
    if longest:
        target.changes.remarks.append(
            "TRL's `DPOTrainer` cuts picture, question and answer together at `max_length`, which "
            "is 1,024 tokens unless you set it; the picture alone can take more. A pair is told "
            f"apart by its first {longest:,} words or fewer: what is cut before teaches nothing. "
            "`max_length=None` cuts nothing."
        )
    splits.report(target.changes, "parquet")
    return count


def _words_to_tell(pair: CaptionPair) -> int:
    """How many words of the two texts have to be read until they differ."""
    words = zip_longest(pair.chosen.split(), pair.rejected.split())
    return next((number for number, (one, other) in enumerate(words, 1) if one != other), 0)


def _preference(number: int, row: ExportRow, pair: CaptionPair, target: Target) -> dict[str, Any]:
    data, ending = image_and_ending(row.image_path)
    target.changes.packed |= row.extra.keys()
    question = question_of(row) or _PROMPT
    return {
        "images": [{"bytes": data, "path": f"{number:09d}{ending}"}],
        "prompt": _turn("user", {"type": "image"}, {"type": "text", "text": question}),
        "chosen": _turn("assistant", {"type": "text", "text": pair.chosen}),
        "rejected": _turn("assistant", {"type": "text", "text": pair.rejected}),
        **_about(pair),
        **arrow_values(row),
    }


def _turn(role: str, *content: dict[str, str]) -> list[dict[str, Any]]:
    return [{"role": role, "content": list(content)}]


def _about(pair: CaptionPair) -> dict[str, Any]:
    values = (pair.basis, pair.decided_by, pair.words, " ".join(pair.kinds))
    return dict(zip((name for name, _ in _PAIR), values, strict=True))


def write_hard_negatives(rows: Iterable[ExportRow], target: Target) -> int:
    """Write `train.tsv`, …: a right text, and a list of wrong ones in `neg_caption`. Of captions
    of several claims, the only one that differs stands for the caption. `neg_image` lists another
    row of the file. Returns the number of right texts."""
    count = 0
    paths, splits = ImagePaths(target, "filepath"), SplitNames()
    for split, pairs in _by_split(rows, splits, only_right=True).items():
        by_text: dict[tuple[str, str], tuple[ExportRow, list[CaptionPair]]] = {}
        for row, pair in pairs:
            text = (pair.claim or (pair.chosen,))[0]
            by_text.setdefault((row.id, text), (row, []))[1].append(pair)
        texts = list(by_text.items())
        images = [row.image_path for _, (row, _) in texts]
        target.files[split] = f"{split}.tsv"
        with (target.part / f"{split}.tsv").open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, delimiter="\t", lineterminator="\n")
            names = ("filepath", "title", "neg_caption", "neg_image", *(name for name, _ in _PAIR))
            writer.writerow([*names, *COLUMNS, "extra"])
            for number, ((_, text), (row, negatives)) in enumerate(texts):
                wrong = [(pair.claim or (pair.chosen, pair.rejected))[1] for pair in negatives]
                kinds = dict.fromkeys(kind for pair in negatives for kind in pair.kinds)
                first = negatives[0]
                values = {**own_values(row), "tags": " ".join(row.tags)}
                writer.writerow([
                    paths.of(row.image_path), text, repr(wrong), [_other(images, number)],
                    first.basis, first.decided_by, first.words, " ".join(kinds),
                    *("" if value is None else value for value in values.values()),
                    json.dumps(row.extra, ensure_ascii=False) if row.extra else "",
                ])  # fmt: skip
                target.changes.packed |= row.extra.keys()
        count += len(texts)
    if not count:
        raise ExportError(
            "No caption that was found wrong has a right one beside it: hard negatives need "
            "corrections, or a right caption of the same picture. Nothing was written."
        )
    texts_of = [(name, pa.string()) for name in ("filepath", "title", "neg_caption", "neg_image")]
    target.loader |= csv_loader([*texts_of, *_PAIR, *FIELDS])
    target.changes.remarks.append(
        "`neg_caption` and `neg_image` are lists in Python's notation, as NegCLIP's reader expects "
        "them. `neg_image` is the number of a row with another picture, not of a similar one."
    )
    splits.report(target.changes)
    paths.report()
    return count


def _other(images: list[Any], number: int) -> int:
    """The next row of another picture; the row itself if there is none."""
    size = len(images)
    following = ((number + step) % size for step in range(1, size))
    return next((n for n in following if images[n] != images[number]), number)


def _by_split(
    rows: Iterable[ExportRow], splits: SplitNames, only_right: bool = False
) -> dict[str, list[tuple[ExportRow, CaptionPair]]]:
    """The pairs of each split, those that differ least first, then in the order of the rows."""
    by_split: dict[str, list[tuple[ExportRow, CaptionPair]]] = {}
    for row in rows:
        if pairs := [(row, pair) for pair in row.content if pair.is_right or not only_right]:
            by_split.setdefault(splits.of(row.split), []).extend(pairs)
    for of_split in by_split.values():
        of_split.sort(key=lambda each: each[1].words)
    return by_split
