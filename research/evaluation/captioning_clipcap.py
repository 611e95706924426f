"""The drawn world's ClipCaps (`research.scenes.train_clipcap`), measured before and after
self-retrieval.

    python -m research.evaluation.captioning --clipcap FOLDER

They encode pictures with the first training's CLIP and are rewarded by the second's. The third's,
which took no part in their training, judges and mines the bags.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import get_args

from backend.engine import hub
from backend.engine.scoring.loading import load_scorer
from backend.errors import SettingsError
from backend.features.captioners.clipcap import load_clipcap
from backend.settings import MODELS
from research.bags_and_recall import picture_vectors
from research.captioning.clipcap_policy import ClipCapPolicy
from research.evaluation.captioning_figures import (
    HELD_OUT,
    SIZES,
    Figures,
    HeldOut,
    figures_table,
    images_of,
    line,
    measure,
    mined_bags,
)
from research.markdown_tables import Mark, mark, marks_table
from research.scenes.labelled_bags import scene_bags
from research.scenes.renderer import pictures_of
from research.scenes.train_clipcap import LONGEST, RECEIVER, Kind, references

JUDGE = MODELS / "seed-2" / "scenes-clip"
ORDINARY, RICH = get_args(Kind)
_NAME = re.compile(rf"({ORDINARY}|{RICH})-(\d+)(-self-retrieval)?")


@dataclass(frozen=True)
class Model:
    """A saved ClipCap: the captions that it was trained on and the seed of its scenes. `tuned`:
    fine-tuned by self-retrieval."""

    kind: Kind
    seed: int
    tuned: bool
    folder: Path

    @property
    def recipe(self) -> str:
        return recipe_of(self.kind, self.tuned)

    @property
    def steps(self) -> int:
        """Steps of its last training; 0 if its checkpoint has been deleted."""
        checkpoint = self.folder.with_name(f"{self.folder.name}.pt")
        if not checkpoint.exists():
            return 0
        return int(hub.read_tensors(checkpoint)["state"]["done"])


def recipe_of(kind: str, is_tuned: bool) -> str:
    return f"ClipCap {kind}, {'SR-L' if is_tuned else 'MLE'}"


def models_of(folder: Path) -> list[Model]:
    """The finished ClipCaps of a folder, by seed. Raises SettingsError if there are none."""
    models = []
    for path in sorted(folder.glob("*/model.safetensors")):
        if name := _NAME.fullmatch(path.parent.name):
            models.append(Model(name[1], int(name[2]), name[3] is not None, path.parent))  # pyrefly: ignore[bad-argument-type]
    if not models:
        raise SettingsError(
            f"'{folder}' has no ClipCap. Train some: "
            f"python -m research.scenes.train_clipcap {folder} --self-retrieval"
        )
    return sorted(models, key=lambda model: (model.seed, model.kind, model.tuned))


def evaluate(folder: Path, held_out: int, report: Callable[[str], None]) -> list[Figures]:
    """Figures of all ClipCaps of a folder, on `held_out` scenes of each seed; CIDEr-D and lengths
    compare with references of the kind that a model was trained on."""
    scorers = [load_scorer(str(clip), "clip", "cpu") for clip in (RECEIVER, JUDGE)]
    figures: list[Figures] = []
    for seed, models in groupby(models_of(folder), lambda model: model.seed):
        report(f"seed {seed}: drawing and encoding {held_out} scenes")
        dataset = scene_bags(held_out, HELD_OUT + seed)
        pictures = [picture_vectors(scorer, pictures_of(dataset.scenes)) for scorer in scorers]
        bags = mined_bags(scorers[1], pictures[1], dataset)
        for model in models:
            policy = ClipCapPolicy(load_clipcap(model.folder), LONGEST)
            held_out_data = HeldOut(
                dataset, images_of(dataset, policy), scorers, pictures, bags,
                references(dataset.scenes, model.kind, HELD_OUT + seed),
            )  # fmt: skip
            figures.append(measure(policy, held_out_data, model.recipe, seed, model.steps))
            report(line(figures[-1]))
    return figures


def marks(figures: Sequence[Figures]) -> list[Mark]:
    """The criteria that can be evaluated with these figures."""
    by_name = {(row.recipe, row.seed): row for row in figures}
    criteria: list[Mark] = []

    def pairs(name: str, since: str) -> list[tuple[Figures, Figures]]:
        """A model and the one that it is compared with, by seed."""
        return [
            (by_name[name, seed], by_name[since, seed])
            for seed in sorted({row.seed for row in figures})
            if (name, seed) in by_name and (since, seed) in by_name
        ]

    def add(
        what: str, target: str, values: Sequence[float], form: str, reaches: Callable[[float], bool]
    ) -> None:
        if values:
            criteria.append(mark(what, target, values, form, reaches))

    for kind in (ORDINARY, RICH):
        start, tuned = recipe_of(kind, False), recipe_of(kind, True)
        rows = [row for row in figures if row.recipe == start]
        readable, true = [row.readable for row in rows], [row.all_true for row in rows]
        add(f"{start}: readable", ">= 95%", readable, ".1%", lambda share: share >= 0.95)
        add(f"{start}: all claims true", ">= 35%", true, ".1%", lambda share: share >= 0.35)
        longer = [row.words / row.reference_words - 1 for row in rows]
        add(f"{start}: length against the references", "within 20 %", longer, "+.1%",
            lambda share: abs(share) <= 0.2)  # fmt: skip
        both = pairs(tuned, start)
        gains = [100 * (new.judged[0].rd100 - old.judged[0].rd100) for new, old in both]
        # A difference of shares that is exactly the least may be rounded down.
        add(f"{tuned}: judge's RD100", ">= +5 points", gains, "+.1f", lambda gain: gain >= 5 - 1e-9)
        ratios = [new.words / old.words for new, old in both if old.words]
        add(f"{tuned}: words, of {start}'s", ">= 90 %", ratios, ".1%", lambda share: share >= 0.9)
        rises = [
            (new.judged[0].bags[3] - old.judged[0].bags[3],
             new.rewarded.bags[3] - old.rewarded.bags[3])
            for new, old in both
        ]  # fmt: skip
        of_rewarded = [
            judge_rise / reward_rise for judge_rise, reward_rise in rises if reward_rise > 0
        ]
        add(f"{tuned}: the judge's rise of R@1 #3, of the rewarding model's", ">= 50 %",
            of_rewarded, ".0%", lambda share: share >= 0.5)  # fmt: skip
    for size in SIZES:
        ahead = [
            100 * (rich.judged[0].bags[size] - ordinary.judged[0].bags[size])
            for rich, ordinary in pairs(recipe_of(RICH, True), recipe_of(ORDINARY, True))
        ]
        add(f"SR-L, rich over ordinary start: judge's R@1 #{size}", "above 0", ahead, "+.1f",
            lambda gain: gain > 0)  # fmt: skip
    return criteria


def markdown(figures: Sequence[Figures]) -> str:
    """Two tables: figures, and marks."""
    return f"{figures_table(figures)}\n\n{marks_table(marks(figures), 'seed')}\n"
