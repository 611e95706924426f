"""Self-retrieval fine-tuning of the embedded captioner: what is gained, and what is invented.

    python -m research.evaluation.captioning --seeds 3
    python -m research.evaluation.captioning --quick        (one seed, fewer scenes)
    python -m research.evaluation.captioning --clipcap FOLDER     (see `captioning_clipcap`)

Seed k fine-tunes the captioner of the k-th embedded training with each recipe, rewarded by the CLIP
of that training. The CLIPs of the other two trainings judge: they took no part in it. On drawn
scenes the truth of a caption is known, so what is invented is counted. Each finished (recipe, seed)
is stored in the folder and not repeated; an interrupted one continues from its last measurement.
"""

import argparse
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from pydantic import TypeAdapter

from backend.datasets.safe_files.regular_files import replacement
from backend.engine import hub
from backend.engine.correction.captioner_loading import load_captioner
from backend.engine.scoring.loading import load_scorer
from backend.errors import SettingsError
from backend.settings import MODELS
from research.bags_and_recall import picture_vectors
from research.captioning.blip_policy import BlipPolicy
from research.captioning.caption_metrics import words_of
from research.captioning.curriculum import RANDOM, bag_curriculum
from research.captioning.policy import Policy
from research.captioning.self_retrieval import Receiver, Recipe, SelfRetrieval
from research.evaluation import captioning_clipcap
from research.evaluation.captioning_figures import (
    HELD_OUT,
    Figures,
    Floats,
    HeldOut,
    figures_table,
    images_of,
    line,
    measure,
    mined_bags,
    references_of,
)
from research.evaluation.labelled import DIRECTORIES
from research.markdown_tables import Mark, mark, marks_table, mean_of
from research.scenes.labelled_bags import SceneBags, scene_bags
from research.scenes.renderer import pictures_of

#: Folders of the embedded trainings.
TRAININGS = (MODELS, MODELS / "seed-1", MODELS / "seed-2")
CAPTIONER = "scenes-blip-captioner"
#: The captioner before fine-tuning, trained by maximum likelihood.
START = "MLE"
#: Added to a seed: scenes to train on.
_TRAINED_ON = 1_000


@dataclass(frozen=True)
class NamedRecipe:
    """A recipe of the comparison. `bags`: "curriculum", or the size of bags of all steps."""

    name: str
    bags: str | int = "curriculum"
    cider: float = 0.0
    kl: float = 0.0
    teacher: float = 0.0

    @property
    def anchored(self) -> bool:
        return bool(self.cider or self.kl or self.teacher)

    def of(self, steps: int, batch: int, seed: int) -> Recipe:
        sizes = bag_curriculum(steps) if self.bags == "curriculum" else [int(self.bags)] * steps
        return Recipe(
            sizes, batch, cider=self.cider, kl=self.kl, teacher=self.teacher, seed=seed,
            baseline="greedy" if self.cider else "running",
        )  # fmt: skip


BAG_CURRI = "BagCurri"
RECIPES = {
    recipe.name: recipe
    for recipe in (
        NamedRecipe(BAG_CURRI),
        NamedRecipe("BagCurri + KL", kl=0.2),
        NamedRecipe("BagCurri + strong KL", kl=1.0),
        NamedRecipe("BagCurri + CIDEr", cider=0.5),
        NamedRecipe("BagCurri + strong CIDEr", cider=2.0),
        NamedRecipe("random", RANDOM),
        NamedRecipe("BagCurri + references", teacher=0.5),
        NamedRecipe("fixed 5", 5),
    )
}


@dataclass(frozen=True)
class Sizes:
    """How much is trained and measured. Results of other sizes are not reused."""

    steps: int = 100
    batch: int = 60
    scenes: int = 1500
    held_out: int = 2000
    every: int = 25  #: steps between measurements


QUICK = Sizes(scenes=600, held_out=600)


class Trial:
    """One seed: its scenes, drawn and encoded once, and its three CLIPs."""

    def __init__(self, seed: int, sizes: Sizes, report: Callable[[str], None]) -> None:
        self.seed, self.sizes = seed, sizes
        report(f"seed {seed}: drawing and encoding {sizes.scenes} + {sizes.held_out} scenes")
        trainings = [TRAININGS[(seed + k) % len(TRAININGS)] for k in range(len(TRAININGS))]
        self._captioner = str(trainings[0] / CAPTIONER)
        self._scorers = [
            load_scorer(str(folder / DIRECTORIES["clip"]), "clip", "cpu") for folder in trainings
        ]

    def policy(self) -> BlipPolicy:
        """The captioner before fine-tuning."""
        captioner = load_captioner(self._captioner)
        return BlipPolicy(captioner.model, captioner.processor)

    @cached_property
    def _training(self) -> tuple[SceneBags, torch.Tensor, Floats]:
        dataset = scene_bags(self.sizes.scenes, _TRAINED_ON + self.seed)
        pictures = picture_vectors(self._scorers[0], pictures_of(dataset.scenes))
        return dataset, images_of(dataset, self.policy()), pictures

    @cached_property
    def held_out(self) -> HeldOut:
        dataset = scene_bags(self.sizes.held_out, HELD_OUT + self.seed)
        pictures = [
            picture_vectors(scorer, pictures_of(dataset.scenes)) for scorer in self._scorers
        ]
        return HeldOut(
            dataset, images_of(dataset, self.policy()), self._scorers, pictures,
            mined_bags(self._scorers[1], pictures[1], dataset), references_of(dataset, self.seed),
        )  # fmt: skip

    def training(self, policy: Policy, recipe: Recipe) -> SelfRetrieval:
        dataset, images, pictures = self._training
        receiver = Receiver.of(self._scorers[0], pictures)
        references = references_of(dataset, _TRAINED_ON + self.seed)
        return SelfRetrieval(
            policy, receiver, lambda rows: images[list(rows)], receiver.neighbours(references),
            recipe, references,
        )  # fmt: skip


def run(
    trial: Trial, recipe: NamedRecipe, folder: Path, report: Callable[[str], None]
) -> list[Figures]:
    """Train with a recipe, measure, and store; the captioner is saved in `folder`/RECIPE-SEED."""
    sizes, policy = trial.sizes, trial.policy()
    training = trial.training(policy, recipe.of(sizes.steps, sizes.batch, trial.seed))
    checkpoint = folder / f"{_slug(recipe.name, trial.seed)}.pt"
    rows = _read(folder, recipe.name, trial.seed, sizes)
    if rows and checkpoint.exists():
        training.restore(hub.read_tensors(checkpoint))
    rows = [row for row in rows if row.step <= training.done]
    for figures in training.steps():
        if figures.step % 10 == 0:
            report(
                f"{recipe.name} {trial.seed}: step {figures.step}, bags of {figures.bag}, reward "
                f"{figures.reward:.3f} (spread {figures.spread:.2f}), CIDEr/10 {figures.cider:.3f} "
                f"(spread {figures.cider_spread:.2f}), {figures.words:.1f} tokens, "
                f"KL {figures.kl:.2f}, gradient {figures.gradient:.2f}"
            )
        if figures.step % sizes.every == 0 or figures.step == sizes.steps:
            rows.append(measure(policy, trial.held_out, recipe.name, trial.seed, figures.step))
            report(line(rows[-1]))
            # The figures first: those after the checkpoint are measured again.
            _write_figures(folder, rows, sizes)
            with replacement(checkpoint) as part:
                torch.save(training.state(), part)
    policy.save(folder / _slug(recipe.name, trial.seed))
    return rows


# ------------------------------------------------------------------------------- all runs


def evaluate(
    recipes: Sequence[str],
    seeds: Sequence[int],
    sizes: Sizes,
    folder: Path,
    report: Callable[[str], None],
) -> list[Figures]:
    """All figures, seed by seed; those that `folder` already has are read from it."""
    figures: list[Figures] = []
    for seed in seeds:
        trial: Trial | None = None
        for name in (START, *recipes):
            rows = read_figures(folder, name, seed, sizes)
            if rows is None:
                trial = trial or Trial(seed, sizes, report)
                if name == START:
                    rows = [measure(trial.policy(), trial.held_out, START, seed, 0)]
                    report(line(rows[0]))
                    _write_figures(folder, rows, sizes)
                else:
                    rows = run(trial, RECIPES[name], folder, report)
            figures += rows
    return figures


def read_figures(folder: Path, name: str, seed: int, sizes: Sizes) -> list[Figures] | None:
    """Stored figures of a finished recipe and seed; None if these sizes have not been measured."""
    rows = _read(folder, name, seed, sizes)
    return rows if rows and rows[-1].step == (0 if name == START else sizes.steps) else None


def _read(folder: Path, name: str, seed: int, sizes: Sizes) -> list[Figures]:
    path = folder / f"{_slug(name, seed)}.json"
    if not path.exists():
        return []
    document = json.loads(path.read_text(encoding="utf-8"))
    if document["sizes"] != asdict(sizes) or document["recipe"] != _parameters(name):
        return []
    return TypeAdapter(list[Figures]).validate_python(document["figures"])


def _write_figures(folder: Path, figures: Sequence[Figures], sizes: Sizes) -> None:
    first = figures[0]
    document = {
        "sizes": asdict(sizes),
        "recipe": _parameters(first.recipe),
        "figures": [asdict(row) for row in figures],
    }
    folder.mkdir(parents=True, exist_ok=True)
    with replacement(folder / f"{_slug(first.recipe, first.seed)}.json") as part:
        part.write_text(json.dumps(document, indent=1), encoding="utf-8")


def _parameters(name: str) -> dict[str, Any]:
    return {"name": name} if name == START else asdict(RECIPES[name])


def _slug(name: str, seed: int) -> str:
    return f"{'-'.join(words_of(name))}-{seed}"


# ------------------------------------------------------------------------------- report


def marks(figures: Sequence[Figures]) -> list[Mark]:
    """The criteria that can be evaluated with these figures."""
    last = {(row.recipe, row.seed): row for row in figures}
    for row in figures:
        if row.step > last[row.recipe, row.seed].step:
            last[row.recipe, row.seed] = row
    seeds = sorted({seed for name, seed in last if name == START})
    criteria: list[Mark] = []

    def gains(name: str, of: Callable[[Figures], float], since: str = START) -> list[float]:
        return [
            100 * (of(last[name, seed]) - of(last[since, seed]))
            for seed in seeds
            if (name, seed) in last and (since, seed) in last
        ]

    def add(what: str, least: float, name: str, of: Callable[[Figures], float]) -> None:
        if values := gains(name, of):
            # A difference of shares that is exactly the least may be rounded down.
            criteria.append(mark(f"{name}: {what}", f">= {least:+g} points", values, "+.1f",
                                 lambda gain: gain >= least - 1e-9))  # fmt: skip

    def judge_in(size: int, number: int = 0) -> Callable[[Figures], float]:
        return lambda row: row.judged[number].bags[size]

    add("judge's RD100", 5, BAG_CURRI, lambda row: row.judged[0].rd100)
    add("judge's R@1 #3", 4, BAG_CURRI, judge_in(3))
    add("judge's R@1 #7", 5, BAG_CURRI, judge_in(7))
    for name in (name for name, recipe in RECIPES.items() if recipe.anchored):
        add("all claims true", -3, name, lambda row: row.all_true)
        add("judge's RD100", 4, name, lambda row: row.judged[0].rd100)
    if ahead := gains(BAG_CURRI, judge_in(3), "random"):
        mean = mean_of(ahead)
        error = "" if mean.standard_error is None else f", SE {mean.standard_error:.1f}"
        what = f"{BAG_CURRI} over random: judge's R@1 #3 (mean {mean.mean:+.1f}{error})"
        criteria.append(mark(what, ">= +2 points", ahead, "+.1f", lambda gain: mean.mean >= 2))
    reward_gains = gains(BAG_CURRI, lambda row: row.rewarded.bags[3])
    for number, judge in enumerate(("first", "second")):
        judge_gains = gains(BAG_CURRI, judge_in(3, number))
        if shares := [100 * a / b for a, b in zip(judge_gains, reward_gains, strict=True) if b > 0]:
            what = f"{BAG_CURRI}: rise of R@1 #3 by the {judge} judge, of the rewarding model's"
            percentages = ", ".join(f"{share:.0f} %" for share in shares)
            criteria.append(Mark(what, ">= 50 %", percentages, min(shares) >= 50))
    return criteria


def markdown(figures: Sequence[Figures]) -> str:
    """Two tables: figures, and marks."""
    return f"{figures_table(figures)}\n\n{marks_table(marks(figures), 'seed')}\n"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--seeds", type=int, default=1, help="trainings to fine-tune, 1 to 3")
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--quick", action="store_true", help="fewer scenes")
    parser.add_argument("--steps", type=int)
    parser.add_argument("--recipe", action="append", choices=list(RECIPES))
    parser.add_argument("--folder", type=Path, default=Path("data/captioning"))
    parser.add_argument(
        "--clipcap", type=Path, metavar="FOLDER",
        help="measure the ClipCaps that research.scenes.train_clipcap wrote there instead",
    )  # fmt: skip
    parser.add_argument("--markdown", type=Path, help="also write the tables there")
    parser.add_argument("--held-out", type=int, help="scenes to measure on")
    args = parser.parse_args(arguments)
    sizes = QUICK if args.quick else Sizes()
    if args.held_out is not None:
        sizes = replace(sizes, held_out=args.held_out)
    if args.steps is not None:
        if args.steps < 1:
            raise SettingsError("At least one step is needed.")
        sizes = replace(sizes, steps=args.steps)

    def report(text: str) -> None:
        print(f"{time.process_time():.0f} s: {text}", flush=True)

    if args.clipcap is not None:
        if args.recipe:
            raise SettingsError("--recipe belongs to the BLIP captioner.")
        tables = captioning_clipcap.markdown(
            captioning_clipcap.evaluate(args.clipcap, sizes.held_out, report)
        )
    else:
        seeds = range(args.first_seed, args.first_seed + args.seeds)
        figures = evaluate(args.recipe or list(RECIPES), seeds, sizes, args.folder, report)
        tables = markdown(figures)
    print(tables)
    if args.markdown:
        args.markdown.write_text(tables, encoding="utf-8")


if __name__ == "__main__":
    main()
