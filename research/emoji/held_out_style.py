"""`python -m research.emoji.held_out_style FOLDER --pairs 800`: pictures by other people.

Trains BLIP (ITC and ITM), its captioner and CLIP from scratch by the recipe of the scenes, on emoji
in all styles but one, and evaluates the detection of errors on the held-out style and, as a
control, on one used in training. FOLDER holds the emoji sets (`python -m research.emoji.sets
FOLDER`) and everything made from them: after an interruption, the same command continues.

Three kinds of errors are injected: another picture's caption, one that shares a noun, and
fine-grained errors that exchange one word of a name, a number or a relation (`arrangement`). The
names and pictures are by other people; arrangements, errors and training are ours.
"""

import argparse
import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from backend.errors import SettingsError
from backend.progress import Progress, no_progress
from research.emoji.emoji_examples import EmojiWorld, open_emoji_examples, picture_of
from research.emoji.sets import STYLES, EmojiSets, licences
from research.evaluation.evaluate import EvaluationReport, Plan, evaluate
from research.evaluation.result_tables import markdown
from research.noise.changed_words import changed_spans
from research.noisy_dataset import COLUMN
from research.scenes.architecture import IMAGE_SIZE
from research.scenes.other_models import train_captioner, train_clip
from research.scenes.publishing import publish
from research.scenes.train import (
    CAPTIONER,
    CLIP,
    HELD_OUT_SEED,
    RETRIEVAL,
    SEEDS_APART,
    shortened,
)
from research.scenes.training import train_retrieval

#: Does not overlap with the seeds of training and of the training curves.
TEST_SEED = 2 * HELD_OUT_SEED
#: Number of scenes for the training curves.
CURVE_SCENES = 600
LIMITS = "This model only knows arrangements of emoji. For photographs choose another with --model."
NOISES = ("random", "noun", "recorded")
SCORERS = ("blip-itm", "blip-itc", "clip")


@dataclass(frozen=True)
class Trial:
    """`held_out`: the style not used in training; `share`: of the samples of the scenes' recipe."""

    folder: Path
    held_out: str = "noto"
    seed: int = 0
    share: float = 0.25
    scenes: int = 16_000
    pairs: int = 800

    @property
    def work(self) -> Path:
        return self.folder / f"without-{self.held_out}-seed-{self.seed}"

    @property
    def models(self) -> Path:
        return self.work / "models"

    @property
    def learnt_styles(self) -> tuple[str, ...]:
        return tuple(style for style in STYLES if style != self.held_out)


def train(trial: Trial) -> None:
    """Train those of the three models that are missing and publish them in `trial.models`.

    Raises SettingsError if they were trained with other settings."""
    _remember(trial)
    world = EmojiWorld(EmojiSets(trial.folder, trial.learnt_styles))
    examples = open_emoji_examples(
        trial.work / "examples", world, trial.scenes, trial.seed * SEEDS_APART
    )
    curve = open_emoji_examples(trial.work / "curve", world, CURVE_SCENES, HELD_OUT_SEED)
    schedule = shortened(RETRIEVAL, trial.share)
    learner = train_retrieval(examples, curve, schedule, trial.work, trial.seed, world.task)

    def offer(name: str, make: Callable[[], Any]) -> None:
        if not (trial.models / name / "traced.json").exists():
            publish(make(), name, trial.models, world.tokens, LIMITS)

    def captioner() -> Any:
        schedule = shortened(CAPTIONER, trial.share)
        return train_captioner(learner, examples, curve, schedule, trial.work, trial.seed)

    def clip() -> Any:
        schedule = shortened(CLIP, trial.share)
        return train_clip(learner, examples, curve, schedule, trial.work, trial.seed)

    offer("scenes-blip-itm", lambda: learner.model)
    offer("scenes-blip-captioner", captioner)
    offer("scenes-clip", clip)


def _remember(trial: Trial) -> None:
    """A checkpoint of another schedule must not be continued."""
    settings = {"share": trial.share, "scenes": trial.scenes}
    marker = trial.work / "trial.json"
    if marker.exists() and (before := json.loads(marker.read_text())) != settings:
        raise SettingsError(
            f"{trial.work} was made with --share {before['share']} --scenes {before['scenes']}. "
            "Use the same, or delete it."
        )
    trial.work.mkdir(parents=True, exist_ok=True)
    marker.write_text(json.dumps(settings))


def write_pairs(trial: Trial, style: str) -> Path:
    """Pictures in `style` and their captions as a dataset that records its errors; return it.

    Half of the captions are wrong in one detail. Pictures are the same for every style that draws
    their emoji."""
    place = trial.folder / "pairs" / f"{style}-{trial.pairs}"
    table = place / "data.jsonl"
    if table.exists():
        return table
    world = EmojiWorld(EmojiSets(trial.folder, (style,)))
    (place / "images").mkdir(parents=True, exist_ok=True)
    rows = []
    for i in range(trial.pairs):
        rng = random.Random(TEST_SEED + i)
        truth = world.arrangements.draw(rng)
        while not (wrong := world.arrangements.spoil(truth, rng)):
            truth = world.arrangements.draw(rng)
        name = f"images/{i:05}.png"
        picture_of(world.sets, truth, style, IMAGE_SIZE, rng)[0].save(place / name)
        record: dict[str, Any] = {"wrong": False}
        if is_wrong := i % 2 == 1:
            changed = [list(span) for span in changed_spans(truth.caption, wrong.caption)]
            record = {
                "wrong": True, "kind": "fine_grained", "kinds": [wrong.kind], "changed": changed,
            }  # fmt: skip
        rows.append(
            {
                "image": name,
                "caption": wrong.caption if is_wrong else truth.caption,
                "original_caption": truth.caption,
                COLUMN: record,
            }
        )
    temporary = table.with_suffix(".part")
    temporary.write_text(
        "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8"
    )
    temporary.replace(table)
    return table


def judge(trial: Trial, style: str, progress: Progress = no_progress) -> EvaluationReport:
    """Detection of the three noises in pictures of `style` by the trial's models."""
    plan = Plan(
        dataset=str(write_pairs(trial, style)),
        scorers=SCORERS,
        embedded=(trial.models,),
        noises=NOISES,
        seeds=1,
        first_seed=40 + trial.seed,
        pairs=trial.pairs,
        cache=trial.work / "cache",
    )
    return evaluate(plan, progress)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--held-out", choices=sorted(STYLES), default=Trial.held_out)
    parser.add_argument("--control", choices=sorted(STYLES), default="twemoji")
    parser.add_argument("--pairs", type=int, default=Trial.pairs)
    parser.add_argument("--seed", type=int, default=Trial.seed)
    parser.add_argument("--share", type=float, default=Trial.share, help="of the recipe's samples")
    parser.add_argument("--scenes", type=int, default=Trial.scenes, help="pictures to learn from")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    args = parser.parse_args()
    if args.control == args.held_out:
        parser.error(f"the control {args.control} is the held-out style; choose another")
    torch.set_num_threads(args.threads)
    torch.set_flush_denormal(True)
    trial = Trial(args.folder, args.held_out, args.seed, args.share, args.scenes, args.pairs)
    EmojiSets(trial.folder)  # fails early if one is missing
    train(trial)
    for style, what in ((trial.held_out, "kept out"), (args.control, "learnt")):
        report = judge(trial, style)
        table = f"### {style}, {what}\n\n{markdown(report)}\n"
        (trial.work / f"{style}.md").write_text(table, "utf-8")
        print(table, flush=True)
    print(licences())


if __name__ == "__main__":
    main()
