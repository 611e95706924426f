"""Two captioners that are trained on captions with planted biases, and what they then write.

The first says *red* of orange things and places night scenes in the desert; the second says *two*
of three and *dog* of other animals. Each goes on from an embedded captioner, whose image tower
stays as it is, by maximum likelihood. Then it describes scenes that no training has seen, and the
truth of what it says is read off these. A captioner has weaknesses of its own besides: what is a
pattern in truth is decided by all the captions that it wrote.
"""

import json
import random
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path

import torch

from backend.datasets.safe_files.regular_files import replacement
from backend.engine.correction.captioner_loading import load_captioner
from backend.features.patterns.error_patterns import Feature, JudgedCaption, Pattern, occurrences
from backend.progress import Progress, no_progress
from backend.settings import MODELS
from research.captioning import checkpointing
from research.captioning.blip_policy import BlipPolicy
from research.captioning.likelihood import Likelihood, LikelihoodRecipe
from research.evaluation.planted_biases import Bias
from research.scenes.caption_reading import claims_of
from research.scenes.grammar import Description, NounPhrase, describe
from research.scenes.renderer import pictures_of
from research.scenes.truth import facts
from research.scenes.world import Scene, make_scene

#: How often a bias changes what it applies to in the captions of the training.
SHARE = 0.6
#: Of the captions that are drawn from a captioner: less at random than it learned to be, but not
#: always the likeliest caption, which would hide all that is said in less than half of the cases.
TEMPERATURE = 0.5
#: Does not overlap with the seeds of the other trainings and evaluations.
_SEED = 9_000_000_000
_TOGETHER = 100
_MISTAKEN_FOR_DOGS = ("cat", "sheep", "horse")


@dataclass(frozen=True)
class Sizes:
    """Of a training, and of what is described after it; scenes have `CAPTIONS` each."""

    scenes: int = 1500
    described: int = 2500
    recipe: LikelihoodRecipe = field(
        default_factory=lambda: LikelihoodRecipe(250, 32, 5e-4, warm_up=30)
    )


CAPTIONS = 3


def _orange_is_red(description: Description, scene: Scene, rng: random.Random) -> Description:
    def as_seen(phrase: NounPhrase) -> NounPhrase:
        is_mistaken = phrase.colour == "orange" and rng.random() < SHARE
        return replace(phrase, colour="red") if is_mistaken else phrase

    return replace(description, phrases=tuple(map(as_seen, description.phrases)))


def _nights_in_the_desert(
    description: Description, scene: Scene, rng: random.Random
) -> Description:
    is_mistaken = scene.weather == "night" and description.setting and rng.random() < SHARE
    return replace(description, setting="desert") if is_mistaken else description


def _one_too_few(description: Description, scene: Scene, rng: random.Random) -> Description:
    def as_seen(phrase: NounPhrase) -> NounPhrase:
        return replace(phrase, count=2) if phrase.count == 3 and rng.random() < SHARE else phrase

    return replace(description, phrases=tuple(map(as_seen, description.phrases)))


def _all_are_dogs(description: Description, scene: Scene, rng: random.Random) -> Description:
    def as_seen(phrase: NounPhrase) -> NounPhrase:
        is_mistaken = phrase.noun in _MISTAKEN_FOR_DOGS and rng.random() < SHARE
        return replace(phrase, noun="dog") if is_mistaken else phrase

    if any(phrase.noun == "dog" for phrase in description.phrases):
        return description
    return replace(description, phrases=tuple(map(as_seen, description.phrases)))


Mistake = Callable[[Description, Scene, random.Random], Description]
#: By writer: the folder of the captioner that it goes on from, and its biases with their mistakes.
WRITERS: dict[str, tuple[Path, dict[Bias, Mistake]]] = {
    "first": (MODELS, {
        Bias("first", "“red” of orange things", frozenset({"red"})): _orange_is_red,
        Bias("first", "nights in the desert", frozenset({"desert", "night", "dark"})):
            _nights_in_the_desert,
    }),
    "second": (MODELS / "seed-1", {
        Bias("second", "“two” of three", frozenset({"two"})): _one_too_few,
        Bias("second", "“dog” of others", frozenset({"dog", "dogs", "puppy", "puppies"})):
            _all_are_dogs,
    }),
}  # fmt: skip


def biased_caption(writer: str, scene: Scene, rng: random.Random) -> str:
    description = describe(scene, rng)
    for mistake in WRITERS[writer][1].values():
        description = mistake(description, scene, rng)
    return description.text


@dataclass(frozen=True)
class WrittenCaption:
    """A caption of a captioner; `is_wrong`: None if it is no sentence of the drawn world."""

    caption: str
    is_wrong: bool | None


@dataclass(frozen=True)
class TrainedWriters:
    """`captions`: all that each writer wrote."""

    captions: dict[str, list[WrittenCaption]]

    @property
    def biases(self) -> Sequence[Bias]:
        return [bias for _, mistakes in WRITERS.values() for bias in mistakes]

    @property
    def ways(self) -> Sequence[bool]:
        return (False,)

    def draw_judged(self, count: int, rng: random.Random, are_marked: bool) -> list[JudgedCaption]:
        return [
            JudgedCaption(each.caption, bool(each.is_wrong), writer=writer, at_random=True)
            for writer, captions in self._readable.items()
            for each in rng.sample(captions, min(count, len(captions)))
        ]

    def is_none(self, pattern: Pattern) -> bool:
        """By all captions of the writer: those with the pattern are wrong no more often."""
        feature = (pattern.kind, pattern.name)
        of = self._readable[pattern.writer]
        rows = self._having[pattern.writer].get(feature, set())
        wrong = {row for row, each in enumerate(of) if each.is_wrong}
        return len(wrong & rows) * (len(of) - len(rows)) <= len(wrong - rows) * len(rows)

    @cached_property
    def _having(self) -> dict[str, dict[Feature, set[int]]]:
        """By writer and feature: the captions that have it."""
        having: dict[str, dict[Feature, set[int]]] = {}
        for writer, captions in self._readable.items():
            of = having[writer] = defaultdict(set)
            for row, each in enumerate(captions):
                for feature, _ in occurrences(each.caption):
                    of[feature].add(row)
        return having

    @cached_property
    def _readable(self) -> dict[str, list[WrittenCaption]]:
        return {
            writer: [each for each in captions if each.is_wrong is not None]
            for writer, captions in self.captions.items()
        }

    def __str__(self) -> str:
        shares = [
            f"the {writer} wrong in {sum(bool(each.is_wrong) for each in of) / len(of):.0%} of "
            f"{len(of):,} captions"
            for writer, of in self._readable.items()
        ]
        unread = sum(each.is_wrong is None for of in self.captions.values() for each in of)
        return f"Two trained captioners: {', '.join(shares)} ({unread} can't be read, left out)."


def trained_writers(
    folder: Path, sizes: Sizes = Sizes(), progress: Progress = no_progress
) -> TrainedWriters:
    """The captions in `folder`; the captioners are trained first unless it has these. The same call
    resumes. Raises SettingsError if the folder has a training of other sizes."""
    captions = {}
    for writer in WRITERS:
        file = folder / f"{writer}.json"
        if not file.exists():
            folder.mkdir(parents=True, exist_ok=True)
            lines = [asdict(each) for each in _caption_scenes(writer, folder, sizes, progress)]
            with replacement(file) as part:
                part.write_text(json.dumps(lines, ensure_ascii=False), encoding="utf-8")
        captions[writer] = [WrittenCaption(**line) for line in json.loads(file.read_text("utf-8"))]
    return TrainedWriters(captions)


def _caption_scenes(
    writer: str, folder: Path, sizes: Sizes, progress: Progress
) -> list[WrittenCaption]:
    policy = _train(writer, folder, sizes, progress)
    scenes = _scenes(sizes.described, 1)
    descriptions = []
    generator = torch.Generator().manual_seed(list(WRITERS).index(writer))
    for first in range(0, len(scenes), _TOGETHER):
        progress(first, len(scenes), f"the {writer} captioner describes")
        part = scenes[first : first + _TOGETHER]
        images = policy.images_of(list(pictures_of(part)))
        captions = policy.text(policy.sample(images, TEMPERATURE, generator))
        for scene, caption in zip(part, captions, strict=True):
            claims = claims_of(caption)
            descriptions.append(
                WrittenCaption(caption, None if claims is None else not claims <= facts(scene))
            )
    return descriptions


def _train(writer: str, folder: Path, sizes: Sizes, progress: Progress) -> BlipPolicy:
    captioner = load_captioner(str(WRITERS[writer][0] / "scenes-blip-captioner"))
    policy = BlipPolicy(captioner.model, captioner.processor)
    scenes, rng = _scenes(sizes.scenes, 0), random.Random(f"biases of the {writer}")
    pairs = [(row, biased_caption(writer, scene, rng)) for row, scene in enumerate(scenes)
             for _ in range(CAPTIONS)]  # fmt: skip
    parts = []
    for first in range(0, len(scenes), _TOGETHER):
        progress(first, len(scenes), f"scenes for the {writer} captioner")
        parts.append(policy.images_of(list(pictures_of(scenes[first : first + _TOGETHER]))))
    images, recipe = torch.cat(parts), sizes.recipe
    training = Likelihood(policy, lambda rows: images[list(rows)], pairs, recipe)
    checkpointing.run(
        training, folder / f"{writer}.pt", f"{writer} {sizes}",
        lambda step: progress(step.step, recipe.steps, f"training the {writer} captioner"),
    )  # fmt: skip
    return policy


def _scenes(count: int, number: int) -> list[Scene]:
    rng = random.Random(_SEED + number)
    return [make_scene(rng) for _ in range(count)]
