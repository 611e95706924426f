"""Generate the demo dataset: `python -m research.scenes.demo`  (or `make demo`)

It is an ordinary imagefolder with pictures and `metadata.jsonl`. Half of the captions are wrong, in
three ways; some are abstract. The ground truth is in `truth.jsonl`, which only the evaluation
reads. Three pictures are there twice, saved again more coarsely: near duplicates. The demo is then
scored and packed for the first start of the program
(`backend.jobs.scored_demo`); `--scores-only` keeps the existing pictures and does only that.
"""

import argparse
import json
import random
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from backend.engine.captions import Caption
from backend.jobs.scored_demo import ARCHIVE, pack
from backend.jobs.scoring.suggest import likely_wrong
from backend.settings import DEMO, load_settings
from backend.workspace import Workspace
from research.scenes.grammar import Description, describe
from research.scenes.noise import BalancedNoise, noun_swap, random_swap
from research.scenes.phrasing import abstract_caption
from research.scenes.renderer import render
from research.scenes.world import Scene, make_scene

#: Does not overlap with the seeds of training and evaluation.
SEED = 2_000_000_000
PICTURE_SIZE = 384
#: Pictures that are there twice, and the quality of their files.
COPIES = 3
_QUALITY, _QUALITY_OF_COPIES = 90, 55


@dataclass(frozen=True)
class DemoPair:
    """One pair with its ground truth. `changed`: character spans of the wrong words."""

    caption: str
    original: str
    noise: str | None
    changed: tuple[tuple[int, int], ...]
    is_abstract: bool = False


def make_pairs(count: int, abstract: int, seed: int = SEED) -> tuple[list[Scene], list[DemoPair]]:
    """Scenes with captions: half of all pairs are wrong, `abstract` of the others are abstract."""
    rng = random.Random(seed)
    scenes = [make_scene(random.Random(seed + 1 + i)) for i in range(count)]
    true_pairs = [(scene, describe(scene, rng)) for scene in scenes]
    kinds = (["random", "noun", "fine-grained"] * count)[: count // 2]
    plan: list[str | None] = [*kinds, *["abstract"] * abstract]
    plan += [None] * (count - len(plan))
    rng.shuffle(plan)
    sampler = BalancedNoise()
    pairs = []
    for index, error in enumerate(plan):
        scene, description = true_pairs[index]
        text = description.text
        if error == "abstract":
            pairs.append(DemoPair(abstract_caption(rng), text, None, (), True))
        elif error == "fine-grained":
            noise = sampler(description, scene, rng)
            if noise is None:
                pairs.append(_swap(random_swap(index, true_pairs, rng), text, "random"))
            else:
                spans = Caption.parse(noise.description.text).spans
                error_spans = tuple(spans[i] for i in sorted(noise.changed))
                pairs.append(DemoPair(noise.description.text, text, error, error_spans))
        elif error is not None:
            swap = random_swap if error == "random" else noun_swap
            pairs.append(_swap(swap(index, true_pairs, rng), text, error))
        else:
            pairs.append(DemoPair(text, text, None, ()))
    return scenes, pairs


def _swap(other: Description, original: str, noise: str) -> DemoPair:
    """A pair with another scene's caption; the whole text is marked as wrong."""
    return DemoPair(other.text, original, noise, ((0, len(other.text)),))


def plant_copies(scenes: list[Scene], pairs: list[DemoPair], copies: int, seed: int) -> set[int]:
    """Give the last right pairs the scenes of the first ones, with a caption of their own; returns
    which pairs have one."""
    rng = random.Random(seed - 1)
    right = [n for n, pair in enumerate(pairs) if pair.noise is None and not pair.is_abstract]
    duplicates = right[len(right) - copies :]
    for original, copy in zip(right, duplicates, strict=False):
        text = describe(scenes[original], rng).text
        scenes[copy], pairs[copy] = scenes[original], DemoPair(text, text, None, ())
    return set(duplicates)


def write(
    folder: Path, count: int, abstract: int, size: int, seed: int = SEED, copies: int = 0
) -> None:
    """Write pictures, metadata.jsonl and truth.jsonl; deletes the previous contents of `folder`."""
    scenes, pairs = make_pairs(count, abstract, seed)
    duplicates = plant_copies(scenes, pairs, copies, seed)
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "images").mkdir(parents=True)
    metadata, truth = [], []
    for index, (scene, pair) in enumerate(zip(scenes, pairs, strict=True)):
        identity = f"scene-{index:04d}"
        name = f"images/{identity}.webp"
        quality = _QUALITY_OF_COPIES if index in duplicates else _QUALITY
        render(scene, size).save(folder / name, "WEBP", quality=quality, method=4)
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


def score(archive: Path = ARCHIVE) -> None:
    """Score all of the demo dataset, and pack the results into `archive`."""
    with tempfile.TemporaryDirectory() as folder:
        workspace = Workspace(load_settings({"data_directory": folder}, {}))
        dataset_id = workspace.find_or_import(str(DEMO))
        # Of the pictures that the model knows, one in a hundred is not recognised.
        workspace.jobs.score(dataset_id, _show, anyway=True)
        workspace.jobs.run("support", dataset_id, _show)
        for kind in ("specificity", "duplicates", "map"):
            workspace.jobs.run(kind, dataset_id, _show)
        # What would wait until a pair is opened: the chances beside suggestions.
        for pair_id in likely_wrong(workspace.store, dataset_id):
            workspace.review.complete(pair_id)
        pack(workspace.store, workspace.settings.data_directory, archive)
        workspace.store.close()


def _show(done: int, total: int, message: str) -> None:
    print(f"\r{message}: {done} of {total}   ", end="", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=600)
    parser.add_argument("--abstract", type=int, default=45)
    parser.add_argument("--scores-only", action="store_true", help="keep the pictures")
    args = parser.parse_args()
    if not args.scores_only:
        write(DEMO, args.pairs, args.abstract, PICTURE_SIZE, copies=COPIES)
        size = sum(path.stat().st_size for path in DEMO.rglob("*") if path.is_file())
        print(f"{args.pairs} pairs in {DEMO}, {size / 1e6:.1f} MB")
    score()
    print(f"\nTheir scores in {ARCHIVE}, {ARCHIVE.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
