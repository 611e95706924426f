"""A dataset of fresh drawn scenes, clean or noisy: a folder of images with `metadata.jsonl`, to
import, and `truth.jsonl`, which nothing but an evaluation reads.

A line of `truth.jsonl`: `id`, `is_error`, `noise` (null for a right caption), `changed` (the
characters that make the caption wrong; none if it belongs to another picture) and `original`.
"""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from backend.engine.captions import Caption
from backend.errors import SettingsError
from research.evaluation.labelled import NOISES, from_scenes


@dataclass(frozen=True)
class DrawnReport:
    out: Path
    pairs: int
    wrong: int


def write(out: Path, pairs: int, rate: float, noise: str, seed: int) -> DrawnReport:
    """Write the pairs; `rate`: the share that is wrong, at most half. Raises SettingsError for a
    folder with content, an unknown noise, or more errors than could be made."""
    if noise not in NOISES:
        raise SettingsError(f"There is no noise '{noise}'; use {', '.join(NOISES)}.")
    if out.is_file() or (out.is_dir() and any(out.iterdir())):
        raise SettingsError(f"{out} is not empty. Name another folder.")
    sample = from_scenes(pairs, noise, seed)
    candidates = np.random.default_rng((seed, 4)).permutation(np.flatnonzero(sample.wrong))
    count = round(rate * pairs)
    if count > len(candidates):
        raise SettingsError(f"Only {len(candidates)} of {pairs} captions can be wrong.")
    wrong = set(candidates[:count].tolist())
    (out / "images").mkdir(parents=True)
    with (
        (out / "metadata.jsonl").open("w", encoding="utf-8") as metadata,
        (out / "truth.jsonl").open("w", encoding="utf-8") as truth,
    ):
        for index in range(pairs):
            name, original = f"images/{index:06d}.png", sample.originals[index]
            caption = sample.captions[index] if index in wrong else original
            spans = Caption.parse(caption).spans
            words = sorted(sample.changed[index]) if index in wrong else []
            sample.picture(index).save(out / name)
            row = {"id": str(index), "file_name": name, "caption": caption}
            about = {
                "id": str(index), "is_error": index in wrong,
                "noise": noise if index in wrong else None,
                "changed": [spans[word] for word in words], "original": original,
            }  # fmt: skip
            metadata.write(json.dumps(row) + "\n")
            truth.write(json.dumps(about) + "\n")
    return DrawnReport(out, pairs, len(wrong))
