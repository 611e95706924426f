"""Metrics of a captioner on drawn scenes: retrieval by judging models, and the truth."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
import torch
from numpy.typing import NDArray

from backend.engine.scoring.protocol import Scorer
from backend.engine.unit_vectors import unit
from backend.features.specificity.picture_bags import candidate_bags, curated_bags, multimodal
from research.bags_and_recall import recall_among_random, recall_at_1
from research.captioning.caption_metrics import (
    chair,
    cider_d,
    distinct_pairs,
    distinct_words,
    words_of,
)
from research.captioning.policy import Policy, Samples
from research.markdown_tables import table
from research.scenes.caption_reading import claims_of
from research.scenes.grammar import describe
from research.scenes.labelled_bags import SceneBags
from research.scenes.phrasing import NOUN_OF
from research.scenes.renderer import pictures_of
from research.scenes.world import NOUNS

Floats = NDArray[np.float32]

SIZES = (3, 5, 7)
REFERENCES = 5
#: Added to a seed: scenes held out.
HELD_OUT = 2_000
_TOGETHER = 100


@dataclass(frozen=True)
class RetrievalFigures:
    """R@1 by one model, as shares: among 99 random pictures, and in bags by their size."""

    rd100: float
    bags: dict[int, float]


@dataclass(frozen=True)
class Figures:
    """Greedy captions of the held-out scenes after `step` steps.

    `rewarded`: retrieval by the rewarding model; `judged`: by one or two not used in training, the
    first of which also mined the bags. `unique`: share true of no other picture in their bag of 3;
    `all_true`: share whose claims are all true, of all captions; `readable`: share that can be
    parsed; `true`, `false`: claims per caption; `words`: mean length; `pairs`: share of different
    word pairs within a caption (distinct-2); `reference_words`: mean length of the references, 0 if
    stored before it was measured."""

    recipe: str
    seed: int
    step: int
    rewarded: RetrievalFigures
    judged: tuple[RetrievalFigures, ...]
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
    reference_words: float = 0.0


@dataclass(frozen=True)
class HeldOut:
    """Scenes to measure on: `pictures` and bags of each model, the rewarding one first."""

    made: SceneBags
    images: torch.Tensor  #: for the policy
    scorers: Sequence[Scorer]
    pictures: Sequence[Floats]
    bags: dict[int, list[tuple[int, ...]]]
    references: list[list[str]]


def mined_bags(
    judge: Scorer, pictures: Floats, dataset: SceneBags
) -> dict[int, list[tuple[int, ...]]]:
    """Bags of similar pictures by their size. The judge, whose unit vectors are `pictures`, mines
    them with the most detailed captions."""
    m = multimodal(pictures, judge.text_embeddings(dataset.captions["rich"]))
    return {
        size: [bag.members for bag in curated_bags(candidate_bags(m, pictures, size))]
        for size in SIZES
    }


def measure(policy: Policy, held_out: HeldOut, recipe: str, seed: int, step: int) -> Figures:
    """Greedy captions of the held-out scenes, retrieved, and compared with the truth."""
    captions = greedy_captions(policy, held_out.images)
    owners = np.arange(len(captions))
    retrievals = []
    for scorer, pictures in zip(held_out.scorers, held_out.pictures, strict=True):
        texts = unit(scorer.text_embeddings(captions))
        retrievals.append(
            RetrievalFigures(
                recall_among_random(pictures, texts, owners, seed).share,
                {size: recall_at_1(bags, pictures, texts, owners).share
                 for size, bags in held_out.bags.items()},
            )
        )  # fmt: skip
    claims, facts = [claims_of(caption) for caption in captions], held_out.made.facts
    readings = [
        (claim_set, facts[row]) for row, claim_set in enumerate(claims) if claim_set is not None
    ]
    unique = [
        claim_set is not None
        and not any(claim_set <= facts[other] for other in bag if other != row)
        for bag in held_out.bags[SIZES[0]]
        for row in bag
        for claim_set in (claims[row],)
    ]
    # "No dog" mentions a dog, but does not claim it: claims are used where they are known.
    mentions = [
        caption if claim_set is None else " ".join(sorted(claim_set & set(NOUNS)))
        for caption, claim_set in zip(captions, claims, strict=True)
    ]
    hallucinations = chair(
        mentions,
        [{thing.noun for thing in scene.things} for scene in held_out.made.scenes],
        NOUN_OF,
    )
    return Figures(
        recipe, seed, step, retrievals[0], tuple(retrievals[1:]),
        unique=mean(unique),
        all_true=sum(claim_set <= truth for claim_set, truth in readings) / len(captions),
        readable=len(readings) / len(captions),
        true=mean([len(claim_set & truth) for claim_set, truth in readings]),
        false=mean([len(claim_set - truth) for claim_set, truth in readings]),
        chair_objects=hallucinations.of_objects,
        chair_captions=hallucinations.of_captions,
        cider=mean(cider_d(captions, held_out.references)),
        words=mean([len(words_of(caption)) for caption in captions]),
        distinct=distinct_words(captions),
        pairs=distinct_pairs(captions),
        reference_words=mean(
            [len(words_of(text)) for texts in held_out.references for text in texts]
        ),
    )  # fmt: skip


def greedy_captions(policy: Policy, images: torch.Tensor) -> list[str]:
    captions = []
    for first in range(0, len(images), _TOGETHER):
        samples: Samples = policy.sample(
            images[first : first + _TOGETHER], 0.0, torch.Generator().manual_seed(0)
        )
        captions += policy.text(samples)
    return captions


def images_of(dataset: SceneBags, policy: Policy) -> torch.Tensor:
    """The policy's images of all scenes."""
    pictures = pictures_of(dataset.scenes)
    parts = iter(lambda: list(islice(pictures, _TOGETHER)), [])
    return torch.cat([policy.images_of(part) for part in parts])


def references_of(dataset: SceneBags, seed: int) -> list[list[str]]:
    """Ordinary captions of each scene, `REFERENCES` of each."""
    rng = random.Random(f"references {seed}")
    return [[describe(scene, rng).text for _ in range(REFERENCES)] for scene in dataset.scenes]


def mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if len(values) else 0.0


# ------------------------------------------------------------------------------- report


def figures_table(figures: Sequence[Figures]) -> str:
    """A row for each measurement."""
    rows = []
    for row in figures:
        judge = row.judged[0]
        rows.append((
            row.recipe, row.seed, row.step, f"{judge.rd100:.3f}",
            *(f"{judge.bags[size]:.3f}" for size in SIZES),
            f"{row.rewarded.rd100:.3f}, {row.rewarded.bags[3]:.3f}",
            "".join(f"{other.rd100:.3f}, {other.bags[3]:.3f}" for other in row.judged[1:]),
            f"{row.unique:.3f}", f"{row.all_true:.3f}", f"{row.true:.2f}, {row.false:.2f}",
            f"{row.chair_objects:.3f}, {row.chair_captions:.3f}", f"{row.cider:.2f}",
            f"{row.words:.1f}", row.distinct, f"{row.pairs:.3f}", f"{row.readable:.3f}",
        ))  # fmt: skip
    head = ("recipe", "seed", "step", "RD100", "#3", "#5", "#7", "rewarding model's RD100, #3",
            "second judge's RD100, #3", "truly unique in #3", "all true", "true, false claims",
            "CHAIR I, S", "CIDEr-D", "words", "different words", "distinct-2",
            "readable")  # fmt: skip
    return table(head, rows)


def line(row: Figures) -> str:
    judge = row.judged[0]
    return (
        f"{row.recipe} {row.seed}, after {row.step}: RD100 {judge.rd100:.3f}, #3 "
        f"{judge.bags[3]:.3f}, all true {row.all_true:.3f}, claims {row.true:.2f} true, "
        f"{row.false:.2f} false, CIDEr-D {row.cider:.2f}, {row.words:.1f} words"
    )
