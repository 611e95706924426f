"""Self-retrieval fine-tuning of the embedded captioner: what is gained, and what is invented.

    python -m backend.lab.evaluation.captioning --seeds 3
    python -m backend.lab.evaluation.captioning --quick        (one seed, fewer scenes)

Seed k fine-tunes the captioner of the k-th embedded training with each recipe, rewarded by the CLIP
of that training. The CLIPs of the other two trainings judge: they took no part in it. On drawn
scenes the truth of a caption is known, so what is invented is counted. Each finished (recipe, seed)
is stored in the folder and not repeated; an interrupted one continues from its last measurement.
"""

import argparse
import json
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from backend.engine import hub
from backend.engine.captioning.blip_policy import BlipPolicy
from backend.engine.captioning.curriculum import RANDOM, bag_curriculum
from backend.engine.captioning.policy import Policy, Samples
from backend.engine.captioning.self_retrieval import Receiver, Recipe, SelfRetrieval
from backend.engine.correction.captioner import load_captioner
from backend.engine.scoring.loading import load_scorer
from backend.engine.scoring.logit_scale import logit_scale_of
from backend.engine.scoring.protocol import Scorer
from backend.engine.specificity.bags import (
    candidate_bags,
    curated_bags,
    multimodal,
    nearest,
    unit,
)
from backend.engine.specificity.reference import (
    chair,
    cider_d,
    distinct_pairs,
    distinct_words,
    words_of,
)
from backend.engine.specificity.retrieval import USUAL_SCALE, recall_among_random, recall_at_1
from backend.errors import SettingsError
from backend.lab.evaluation.captioning_curve import Curve, draw
from backend.lab.scenes.bags import SceneBags, scene_bags
from backend.lab.scenes.caption_reading import claims_of
from backend.lab.scenes.grammar import describe
from backend.lab.scenes.labelled_scenes import DIRECTORIES, PICTURE_SIZE
from backend.lab.scenes.phrasing import NAMES
from backend.lab.scenes.renderer import render
from backend.lab.scenes.world import NOUNS
from backend.settings import MODELS

Floats = NDArray[np.float32]

#: Folders of the embedded trainings.
TRAININGS = (MODELS, MODELS / "seed-1", MODELS / "seed-2")
CAPTIONER = "scenes-blip-captioner"
#: The captioner before fine-tuning, trained by maximum likelihood.
START = "MLE"
SIZES = (3, 5, 7)
REFERENCES = 5
#: Added to a seed: scenes to train on, and scenes held out.
_TRAINED_ON, _HELD_OUT = 1_000, 2_000
_TOGETHER = 100
#: Words that name an object, in the singular and in the plural, by the object's name.
_OBJECTS = {word: noun for noun, names in NAMES.items() for pair in names for word in pair}


@dataclass(frozen=True)
class Named:
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
        Named(BAG_CURRI),
        Named("BagCurri + KL", kl=0.2),
        Named("BagCurri + strong KL", kl=1.0),
        Named("BagCurri + CIDEr", cider=0.5),
        Named("BagCurri + strong CIDEr", cider=2.0),
        Named("random", RANDOM),
        Named("BagCurri + references", teacher=0.5),
        Named("fixed 5", 5),
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


@dataclass(frozen=True)
class Retrieved:
    """R@1 by one model, as shares: among 99 random pictures, and in bags by their size."""

    rd100: float
    bags: dict[int, float]


@dataclass(frozen=True)
class Figures:
    """Greedy captions of the held-out scenes after `step` steps.

    `rewarded`: retrieval by the rewarding model; `judged`: by the two others, of which the first
    also mined the bags. `unique`: share true of no other picture in their bag of 3; `all_true`:
    share whose claims are all true, of all captions; `readable`: share that can be parsed; `true`,
    `false`: claims per caption; `words`: mean length; `pairs`: share of different word pairs within
    a caption (distinct-2)."""

    recipe: str
    seed: int
    step: int
    rewarded: Retrieved
    judged: tuple[Retrieved, Retrieved]
    unique: float
    all_true: float
    readable: float
    true: float
    false: float
    chair_objects: float
    chair_captions: float
    cider: float
    words: float
    distinct: int
    pairs: float


@dataclass(frozen=True)
class HeldOut:
    """Scenes to measure on: `pictures` and bags of each model, the rewarding one first."""

    made: SceneBags
    images: torch.Tensor  #: for the policy
    scorers: Sequence[Scorer]
    pictures: Sequence[Floats]
    bags: dict[int, list[tuple[int, ...]]]
    references: list[list[str]]


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
        loaded = load_captioner(self._captioner)
        return BlipPolicy(loaded.model, loaded.processor)

    @cached_property
    def _training(self) -> tuple[SceneBags, torch.Tensor, Floats]:
        made = scene_bags(self.sizes.scenes, _TRAINED_ON + self.seed)
        images, (pictures,) = _encoded(made, self.policy(), self._scorers[:1])
        return made, images, pictures

    @cached_property
    def held_out(self) -> HeldOut:
        made = scene_bags(self.sizes.held_out, _HELD_OUT + self.seed)
        images, pictures = _encoded(made, self.policy(), self._scorers)
        # The judge mines, with the most detailed captions.
        judge = self._scorers[1]
        m = multimodal(pictures[1], judge.text_embeddings(made.captions["rich"]))
        bags = {
            size: [bag.members for bag in curated_bags(candidate_bags(m, pictures[1], size))]
            for size in SIZES
        }
        return HeldOut(
            made, images, self._scorers, pictures, bags, _references(made, self.seed)
        )  # fmt: skip

    def training(self, policy: Policy, recipe: Recipe) -> SelfRetrieval:
        made, images, pictures = self._training
        scorer = self._scorers[0]
        receiver = Receiver(pictures, scorer.text_embeddings, logit_scale_of(scorer, USUAL_SCALE))
        references = _references(made, _TRAINED_ON + self.seed)
        texts = [unit(scorer.text_embeddings(captions)).mean(0) for captions in references]
        near, _ = nearest(multimodal(pictures, np.stack(texts)))
        return SelfRetrieval(
            policy, receiver, lambda rows: images[list(rows)], near, recipe, references
        )


def run(trial: Trial, recipe: Named, folder: Path, report: Callable[[str], None]) -> list[Figures]:
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
            report(_line(rows[-1]))
            # The figures first: those after the checkpoint are measured again.
            _write_figures(folder, rows, sizes)
            torch.save(training.state(), checkpoint.with_suffix(".part"))
            checkpoint.with_suffix(".part").replace(checkpoint)
    policy.save(folder / _slug(recipe.name, trial.seed))
    return rows


def measure(policy: Policy, held_out: HeldOut, recipe: str, seed: int, step: int) -> Figures:
    """Greedy captions of the held-out scenes, retrieved, and compared with the truth."""
    captions = greedy_captions(policy, held_out.images)
    owners = np.arange(len(captions))
    retrieved = []
    for scorer, pictures in zip(held_out.scorers, held_out.pictures, strict=True):
        texts = unit(scorer.text_embeddings(captions))
        retrieved.append(
            Retrieved(
                recall_among_random(pictures, texts, owners, seed).share,
                {size: recall_at_1(bags, pictures, texts, owners).share
                 for size, bags in held_out.bags.items()},
            )
        )  # fmt: skip
    claims, facts = [claims_of(caption) for caption in captions], held_out.made.facts
    read = [(made, facts[row]) for row, made in enumerate(claims) if made is not None]
    unique = [
        claimed is not None and not any(claimed <= facts[other] for other in bag if other != row)
        for bag in held_out.bags[SIZES[0]]
        for row in bag
        for claimed in (claims[row],)
    ]
    # "No dog" mentions a dog, but does not claim it: what is claimed counts where it is known.
    mentioned = [
        caption if made is None else " ".join(sorted(made & set(NOUNS)))
        for caption, made in zip(captions, claims, strict=True)
    ]
    invented = chair(
        mentioned,
        [{thing.noun for thing in scene.things} for scene in held_out.made.scenes],
        _OBJECTS,
    )
    return Figures(
        recipe, seed, step, retrieved[0], (retrieved[1], retrieved[2]),
        unique=_mean(unique),
        all_true=sum(made <= known for made, known in read) / len(captions),
        readable=len(read) / len(captions),
        true=_mean([len(made & known) for made, known in read]),
        false=_mean([len(made - known) for made, known in read]),
        chair_objects=invented.of_objects,
        chair_captions=invented.of_captions,
        cider=_mean(cider_d(captions, held_out.references)),
        words=_mean([len(words_of(caption)) for caption in captions]),
        distinct=distinct_words(captions),
        pairs=distinct_pairs(captions),
    )  # fmt: skip


def greedy_captions(policy: Policy, images: torch.Tensor) -> list[str]:
    captions = []
    for first in range(0, len(images), _TOGETHER):
        samples: Samples = policy.sample(
            images[first : first + _TOGETHER], 0.0, torch.Generator().manual_seed(0)
        )
        captions += policy.text(samples)
    return captions


def _encoded(
    made: SceneBags, policy: BlipPolicy, scorers: Sequence[Scorer]
) -> tuple[torch.Tensor, list[Floats]]:
    """The policy's images, and each scorer's unit vectors, of all scenes."""
    images: list[torch.Tensor] = []
    vectors: list[list[Any]] = [[] for _ in scorers]
    for first in range(0, len(made.scenes), _TOGETHER):
        part = made.scenes[first : first + _TOGETHER]
        pictures = [render(scene, PICTURE_SIZE) for scene in part]
        images.append(policy.images_of(pictures))
        for scorer, of in zip(scorers, vectors, strict=True):
            of.append(scorer.image_embeddings(scorer.encode_images(pictures)))
    return torch.cat(images), [unit(np.concatenate(of)) for of in vectors]


def _references(made: SceneBags, seed: int) -> list[list[str]]:
    """Ordinary captions of each scene, `REFERENCES` of each."""
    rng = random.Random(f"references {seed}")
    return [[describe(scene, rng).text for _ in range(REFERENCES)] for scene in made.scenes]


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if len(values) else 0.0


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
            stored = read_figures(folder, name, seed, sizes)
            if stored is None:
                trial = trial or Trial(seed, sizes, report)
                if name == START:
                    stored = [measure(trial.policy(), trial.held_out, START, seed, 0)]
                    report(_line(stored[0]))
                    _write_figures(folder, stored, sizes)
                else:
                    stored = run(trial, RECIPES[name], folder, report)
            figures += stored
    return figures


def read_figures(folder: Path, name: str, seed: int, sizes: Sizes) -> list[Figures] | None:
    """Stored figures of a finished recipe and seed; None if these sizes have not been measured."""
    rows = _read(folder, name, seed, sizes)
    return rows if rows and rows[-1].step == (0 if name == START else sizes.steps) else None


def _read(folder: Path, name: str, seed: int, sizes: Sizes) -> list[Figures]:
    """What has been measured so far, maybe nothing."""
    path = folder / f"{_slug(name, seed)}.json"
    if not path.exists():
        return []
    saved = json.loads(path.read_text(encoding="utf-8"))
    if saved["sizes"] != asdict(sizes) or saved["recipe"] != _parameters(name):
        return []
    return [
        Figures(
            **{
                **row,
                "rewarded": _retrieved(row["rewarded"]),
                "judged": tuple(_retrieved(judged) for judged in row["judged"]),
            }
        )
        for row in saved["figures"]
    ]


def _retrieved(saved: dict[str, Any]) -> Retrieved:
    return Retrieved(saved["rd100"], {int(size): r for size, r in saved["bags"].items()})


def _write_figures(folder: Path, figures: Sequence[Figures], sizes: Sizes) -> None:
    first = figures[0]
    saved = {
        "sizes": asdict(sizes),
        "recipe": _parameters(first.recipe),
        "figures": [asdict(row) for row in figures],
    }
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{_slug(first.recipe, first.seed)}.json"
    beside = path.with_suffix(".part")
    beside.write_text(json.dumps(saved, indent=1), encoding="utf-8")
    beside.replace(path)


def _parameters(name: str) -> dict[str, Any]:
    return {"name": name} if name == START else asdict(RECIPES[name])


def _slug(name: str, seed: int) -> str:
    return f"{'-'.join(words_of(name))}-{seed}"


# ------------------------------------------------------------------------------- report


@dataclass(frozen=True)
class Mark:
    """An acceptance criterion, the values of each seed, and whether all of them reach it."""

    what: str
    wanted: str
    measured: str
    reached: bool


def marks(figures: Sequence[Figures]) -> list[Mark]:
    """The criteria that can be evaluated with these figures."""
    last = {(row.recipe, row.seed): row for row in figures}
    for row in figures:
        if row.step > last[row.recipe, row.seed].step:
            last[row.recipe, row.seed] = row
    seeds = sorted({seed for name, seed in last if name == START})
    made = []

    def gains(name: str, of: Callable[[Figures], float], since: str = START) -> list[float]:
        return [
            100 * (of(last[name, seed]) - of(last[since, seed]))
            for seed in seeds
            if (name, seed) in last and (since, seed) in last
        ]

    def add(what: str, least: float, values: list[float], reached: bool | None = None) -> None:
        if values:
            listed = ", ".join(f"{value:+.1f}" for value in values)
            # A difference of shares that is exactly the least may be rounded down.
            met = min(values) >= least - 1e-9 if reached is None else reached
            made.append(Mark(what, f">= {least:+g} points", listed, met))

    def judge_rd100(row: Figures) -> float:
        return row.judged[0].rd100

    def judge_in_3(row: Figures) -> float:
        return row.judged[0].bags[3]

    add(f"{BAG_CURRI}: judge's RD100", 5, gains(BAG_CURRI, judge_rd100))
    for size, least in ((3, 4), (7, 5)):
        add(f"{BAG_CURRI}: judge's R@1 #{size}", least,
            gains(BAG_CURRI, lambda row, size=size: row.judged[0].bags[size]))  # type: ignore[misc]  # fmt: skip
    for name in (name for name, recipe in RECIPES.items() if recipe.anchored):
        add(f"{name}: all claims true", -3, gains(name, lambda row: row.all_true))
        add(f"{name}: judge's RD100", 4, gains(name, judge_rd100))
    ahead = gains(BAG_CURRI, judge_in_3, "random")
    if ahead:
        error = f" (mean {np.mean(ahead):+.1f}" + (
            f", SE {np.std(ahead, ddof=1) / len(ahead) ** 0.5:.1f})" if len(ahead) > 1 else ")"
        )
        add(f"{BAG_CURRI} over random: judge's R@1 #3{error}", 2, ahead, bool(np.mean(ahead) >= 2))
    rewarded = gains(BAG_CURRI, lambda row: row.rewarded.bags[3])
    for number, judge in enumerate(("first", "second")):
        risen = gains(BAG_CURRI, lambda row, number=number: row.judged[number].bags[3])  # type: ignore[misc]
        values = [100 * a / b for a, b in zip(risen, rewarded, strict=True) if b > 0]
        if values:
            listed = ", ".join(f"{value:.0f} %" for value in values)
            made.append(
                Mark(f"{BAG_CURRI}: rise of R@1 #3 by the {judge} judge, of the rewarding model's",
                     ">= 50 %", listed, min(values) >= 50)
            )  # fmt: skip
    return made


def markdown(figures: Sequence[Figures]) -> str:
    """Two tables: figures, and marks."""
    lines = [
        "| recipe | seed | step | RD100 | #3 | #5 | #7 | rewarding model's RD100, #3 | second "
        "judge's RD100, #3 | truly unique in #3 | all true | true, false claims | CHAIR I, S "
        "| CIDEr-D | words | different words | distinct-2 | readable |",
        "|" + "---|" * 18,
    ]
    for row in figures:
        judge, second = row.judged
        bags = " | ".join(f"{judge.bags[size]:.3f}" for size in SIZES)
        lines.append(
            f"| {row.recipe} | {row.seed} | {row.step} | {judge.rd100:.3f} | {bags} | "
            f"{row.rewarded.rd100:.3f}, {row.rewarded.bags[3]:.3f} | {second.rd100:.3f}, "
            f"{second.bags[3]:.3f} | {row.unique:.3f} | {row.all_true:.3f} | {row.true:.2f}, "
            f"{row.false:.2f} | {row.chair_objects:.3f}, {row.chair_captions:.3f} | "
            f"{row.cider:.2f} | {row.words:.1f} | {row.distinct} | {row.pairs:.3f} | "
            f"{row.readable:.3f} |"
        )
    table = ["| mark | must reach | measured, by seed | reached |", "|---|---|---|---|"]
    table += [
        f"| {mark.what} | {mark.wanted} | {mark.measured} | {'yes' if mark.reached else '**no**'} |"
        for mark in marks(figures)
    ]
    return "\n".join(lines) + "\n\n" + "\n".join(table) + "\n"


def curves(figures: Sequence[Figures]) -> list[Curve]:
    """One curve a recipe: (all-true share, judge's R@1 #3) at each step, averaged over the seeds
    that have the recipe, from the start of the same seeds."""
    made = []
    for name in RECIPES:
        of = [row for row in figures if row.recipe == name]
        seeds = {row.seed for row in of}
        of += [row for row in figures if row.recipe == START and row.seed in seeds]
        steps = sorted({row.step for row in of})
        if not seeds:
            continue
        means = []
        for step in steps:
            at = [row for row in of if row.step == step]
            means.append((_mean([row.all_true for row in at]),
                          _mean([row.judged[0].bags[3] for row in at])))  # fmt: skip
        made.append(Curve(f"{name} ({len(seeds)} of {_seeds(figures)} seeds)", means, steps))
    return made


def _seeds(figures: Sequence[Figures]) -> int:
    return len({row.seed for row in figures})


def _line(row: Figures) -> str:
    judge = row.judged[0]
    return (
        f"{row.recipe} {row.seed}, after {row.step}: RD100 {judge.rd100:.3f}, #3 "
        f"{judge.bags[3]:.3f}, all true {row.all_true:.3f}, claims {row.true:.2f} true, "
        f"{row.false:.2f} false, CIDEr-D {row.cider:.2f}, {row.words:.1f} words"
    )


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--seeds", type=int, default=1, help="trainings to fine-tune, 1 to 3")
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--quick", action="store_true", help="fewer scenes")
    parser.add_argument("--steps", type=int)
    parser.add_argument("--recipe", action="append", choices=list(RECIPES))
    parser.add_argument("--folder", type=Path, default=Path("data/captioning"))
    parser.add_argument("--markdown", type=Path, help="also write the tables there")
    parser.add_argument("--figure", type=Path, help="write the curve there, an SVG")
    given = parser.parse_args(arguments)
    sizes = QUICK if given.quick else Sizes()
    if given.steps is not None:
        if given.steps < 1:
            raise SettingsError("At least one step is needed.")
        sizes = replace(sizes, steps=given.steps)
    seeds = range(given.first_seed, given.first_seed + given.seeds)
    figures = evaluate(
        given.recipe or list(RECIPES), seeds, sizes, given.folder,
        lambda line: print(f"{time.process_time():.0f} s: {line}", flush=True),
    )  # fmt: skip
    tables = markdown(figures)
    print(tables)
    if given.markdown:
        given.markdown.write_text(tables, encoding="utf-8")
    if given.figure:
        given.figure.write_text(draw(curves(figures)), encoding="utf-8")


if __name__ == "__main__":
    main()
