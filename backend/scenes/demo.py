"""Draw the demo dataset anew: `python -m backend.scenes.demo`  (or `make demo`)

An ordinary imagefolder: pictures, `metadata.jsonl`. Half of the captions are wrong, in three ways;
some are abstract. What is wrong with which stands in `truth.jsonl`, which only evaluation reads.
"""

import argparse
import json
import random
import shutil
from dataclasses import dataclass
from pathlib import Path

from backend.captions import Caption
from backend.scenes.abstract import abstract_caption
from backend.scenes.grammar import Description, describe
from backend.scenes.noise import BalancedNoise, noun_swap, random_swap
from backend.scenes.renderer import render
from backend.scenes.world import Scene, make_scene
from backend.settings import DEMO

#: Far from the scenes that models were trained on, and from those they are measured on.
SEED = 2_000_000_000
PICTURE_SIZE = 384


@dataclass(frozen=True)
class DemoPair:
    """One pair and the truth about it."""

    caption: str
    original: str
    noise: str | None
    changed: tuple[tuple[int, int], ...]
    is_abstract: bool = False


def make_pairs(count: int, abstract: int, seed: int = SEED) -> tuple[list[Scene], list[DemoPair]]:
    """Scenes with captions: half of all pairs wrong, `abstract` of the others abstract."""
    lot = random.Random(seed)
    scenes = [make_scene(random.Random(seed + 1 + i)) for i in range(count)]
    described = [(scene, describe(scene, lot)) for scene in scenes]
    wanted = (["random", "noun", "fine-grained"] * count)[: count // 2]
    fates: list[str | None] = [*wanted, *["abstract"] * abstract]
    fates += [None] * (count - len(fates))
    lot.shuffle(fates)
    balanced = BalancedNoise()
    pairs = []
    for index, fate in enumerate(fates):
        scene, description = described[index]
        text = description.text
        if fate == "abstract":
            pairs.append(DemoPair(abstract_caption(lot), text, None, (), True))
        elif fate == "fine-grained":
            noise = balanced(description, scene, lot)
            if noise is None:
                pairs.append(_swapped(random_swap(index, described, lot), text, "random"))
            else:
                spans = Caption.parse(noise.description.text).spans
                changed = tuple(spans[i] for i in sorted(noise.changed))
                pairs.append(DemoPair(noise.description.text, text, fate, changed))
        elif fate is not None:
            swap = random_swap if fate == "random" else noun_swap
            pairs.append(_swapped(swap(index, described, lot), text, fate))
        else:
            pairs.append(DemoPair(text, text, None, ()))
    return scenes, pairs


def _swapped(other: Description, original: str, noise: str) -> DemoPair:
    """All of another scene's caption is wrong here: the whole text is marked."""
    return DemoPair(other.text, original, noise, ((0, len(other.text)),))


def write(folder: Path, count: int, abstract: int, size: int, seed: int = SEED) -> None:
    """Pictures, metadata.jsonl and truth.jsonl; what was in `folder` goes."""
    scenes, pairs = make_pairs(count, abstract, seed)
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "images").mkdir(parents=True)
    metadata, truth = [], []
    for index, (scene, pair) in enumerate(zip(scenes, pairs, strict=True)):
        identity = f"scene-{index:04d}"
        name = f"images/{identity}.webp"
        render(scene, size).save(folder / name, "WEBP", quality=90, method=4)
        metadata.append({"file_name": name, "id": identity, "caption": pair.caption})
        truth.append(
            {
                "id": identity,
                "is_error": pair.noise is not None,
                "noise": pair.noise,
                "changed": pair.changed,
                "is_abstract": pair.is_abstract,
                "original": pair.original,
            }
        )
    for file, rows in (("metadata.jsonl", metadata), ("truth.jsonl", truth)):
        lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        (folder / file).write_text(lines, encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=DEMO)
    parser.add_argument("--pairs", type=int, default=600)
    parser.add_argument("--abstract", type=int, default=45)
    given = parser.parse_args()
    write(given.out, given.pairs, given.abstract, PICTURE_SIZE)
    size = sum(path.stat().st_size for path in given.out.rglob("*") if path.is_file())
    print(f"{given.pairs} pairs in {given.out}, {size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
