"""`evaluate selection`: what two-stage selection keeps of a drawn mixture with ground truth.

Of the captions, 50 % are right, 15 % have a fine-grained error, 8 % describe another scene that
shares a noun, 7 % an unrelated scene, 10 % are generic (one noun) and 10 % abstract. Nothing is
trained here.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from backend.engine.captions import Caption
from backend.engine.english.articles import article_for
from backend.engine.phrases.nonce import make_pools
from backend.engine.scoring.loading import load_scorer
from backend.engine.scoring.protocol import ImageState, Scorer
from backend.engine.statistics.highest import highest_share
from backend.features.selection.stages import select
from backend.jobs.selection_criteria import ALIGN_SHARE
from backend.progress import Progress, no_progress
from research.evaluation.labelled import DIRECTORIES, SEED
from research.evaluation.support import attributions, normalisation_of, supports
from research.markdown_tables import cell, cells, mean_of, table
from research.scenes.grammar import Description, describe
from research.scenes.noise import BalancedNoise, noun_swap, random_swap
from research.scenes.phrasing import COUNTS, NAMES, abstract_caption
from research.scenes.renderer import pictures_of
from research.scenes.world import Scene, make_scene

#: Categories of captions and their shares; the first three after "right" are errors.
SHARES = {
    "right": 0.5, "fine": 0.15, "noun": 0.08, "random": 0.07, "generic": 0.1, "abstract": 0.1,
}  # fmt: skip
WRONG = ("fine", "noun", "random")
KEEP = 0.5
#: Does not overlap with the seeds of other evaluations.
_SEED = SEED + 500_000_000
_BATCH = 48


@dataclass(frozen=True)
class Mixture:
    """Scenes with one caption each; `sorts`: the captions' categories, keys of SHARES."""

    scenes: list[Scene]
    captions: list[str]
    sorts: list[str]


@dataclass(frozen=True)
class RuleFigures:
    """The pairs that one rule keeps of a mixture. `pool`, `count`: pairs that stage one and stage
    two keep; `kept`: share kept of each category; `wrong`: share of errors among the kept;
    `phrases`: mean number of tested phrases per kept caption."""

    rule: str
    seed: int
    pool: int
    count: int
    kept: dict[str, float]
    wrong: float
    phrases: float


@dataclass(frozen=True)
class SelectionEvaluation:
    """`correlation`: Pearson's r of support and s_0 within the pool, by seed (paper: 0.084)."""

    scorer: str
    pairs: int
    results: list[RuleFigures]
    correlation: list[float]


def make_mixture(count: int, seed: int) -> Mixture:
    """`count` new scenes with captions; deterministic for a given seed."""
    rng = random.Random(_SEED + 1_000_000 * seed)
    pairs: list[tuple[Scene, Description]] = []
    for _ in range(count):
        scene = make_scene(rng)
        pairs.append((scene, describe(scene, rng)))
    sorts = [sort for sort, share in SHARES.items() for _ in range(round(share * count))][:count]
    sorts += ["right"] * (count - len(sorts))
    rng.shuffle(sorts)
    balanced_noise = BalancedNoise()
    captions = []
    for index, sort in enumerate(sorts):
        scene, description = pairs[index]
        text = description.text
        if sort == "fine":
            false = balanced_noise(description, scene, rng)
            if false is None:
                sorts[index] = "right"
            else:
                text = false.description.text
        elif sort in ("noun", "random"):
            swap = noun_swap if sort == "noun" else random_swap
            text = swap(index, pairs, rng).text
        elif sort == "generic":
            thing = rng.choice(scene.things)
            name = NAMES[thing.noun][0][thing.count > 1]
            article = article_for(name) if thing.count == 1 else COUNTS[thing.count]
            text = f"{article.capitalize()} {name}."
        elif sort == "abstract":
            text = abstract_caption(rng)
        captions.append(text)
    return Mixture([scene for scene, _ in pairs], captions, sorts)


@dataclass(frozen=True)
class PhraseMeasurements:
    """Arrays [pairs]; `support` and `weakest` are NaN if no phrase could be tested."""

    s_0: NDArray[np.float64]
    support: NDArray[np.float64]
    weakest: NDArray[np.float64]
    phrases: NDArray[np.int64]


def measure(scorer: Scorer, mixture: Mixture) -> PhraseMeasurements:
    """Match and support of each pair; support is normalised over the pool of stage one."""
    states: list[ImageState] = []
    s_0: list[float] = []
    for first in range(0, len(mixture.scenes), _BATCH):
        captions = mixture.captions[first : first + _BATCH]
        pictures = pictures_of(mixture.scenes[first : first + _BATCH])
        image_states = scorer.encode_images(list(pictures))
        requests = [
            (state, [caption]) for state, caption in zip(image_states, captions, strict=True)
        ]
        s_0 += [float(scores[0]) for scores in scorer.score(requests)]
        states += image_states
    pools = make_pools(scorer.reader, scorer.open_session().embed)
    parsed_captions = map(Caption.parse, mixture.captions)
    phrases = attributions(scorer, pools, zip(states, parsed_captions, strict=True))
    match = np.array(s_0)
    pool = highest_share(match, np.ones(len(match), np.bool_), ALIGN_SHARE)
    scale = normalisation_of(phrases[row] for row in np.flatnonzero(pool))
    support = np.array([supports(scale, of_pair) for of_pair in phrases])
    counts = np.array([sum(phrase.covered for phrase in of_pair) for of_pair in phrases])
    return PhraseMeasurements(match, support[:, 0], support[:, 1], counts)


def rules(
    measurement: PhraseMeasurements, seed: int
) -> dict[str, tuple[float, NDArray[np.float64]]]:
    """Share kept by stage one and the values ranked in stage two, by rule."""
    rng = np.random.default_rng(seed)
    few = measurement.phrases < 2
    return {
        "random 50": (1.0, rng.random(len(measurement.s_0))),
        "alignment 50": (ALIGN_SHARE, measurement.s_0),
        "support (the paper's mean)": (ALIGN_SHARE, measurement.support),
        "worst phrase (ours)": (ALIGN_SHARE, measurement.weakest),
        "support, 2 phrases at least": (ALIGN_SHARE, np.where(few, np.nan, measurement.support)),
        "worst phrase, 2 phrases at least": (
            ALIGN_SHARE,
            np.where(few, np.nan, measurement.weakest),
        ),
    }


def evaluate_selection(
    pairs: int,
    seeds: int,
    first_seed: int,
    model_folders: Sequence[Path],
    name: str = "clip",
    progress: Progress = no_progress,
) -> SelectionEvaluation:
    """Evaluate all rules with one embedded model per seed.

    Raises ModelUnavailable, SettingsError for too few pairs."""
    results: list[RuleFigures] = []
    correlation = []
    for number, seed in enumerate(range(first_seed, first_seed + seeds)):
        progress(number, seeds, f"{name}, seed {seed}")
        folder = model_folders[min(number, len(model_folders) - 1)]
        mixture = make_mixture(pairs, seed)
        measurement = measure(load_scorer(str(folder / DIRECTORIES[name]), name), mixture)
        everything, sorts = np.ones(pairs, np.bool_), np.array(mixture.sorts)
        for rule, (align, values) in rules(measurement, seed).items():
            selection = select(measurement.s_0, values, everything, align, KEEP)
            mask = selection.kept
            results.append(
                RuleFigures(
                    rule=rule,
                    seed=seed,
                    pool=int(selection.pool.sum()),
                    count=int(mask.sum()),
                    kept={sort: float(mask[sorts == sort].mean()) for sort in SHARES},
                    wrong=float(np.isin(sorts[mask], WRONG).mean()),
                    phrases=float(measurement.phrases[mask].mean()),
                )
            )
        pool = highest_share(measurement.s_0, everything, ALIGN_SHARE)
        pool &= ~np.isnan(measurement.support)
        correlation.append(
            float(np.corrcoef(measurement.s_0[pool], measurement.support[pool])[0, 1])
        )
    return SelectionEvaluation(name, pairs, results, correlation)


def markdown(evaluation: SelectionEvaluation) -> str:
    """A table of means over seeds; error shares with their standard error."""
    seeds = len(evaluation.correlation)
    rows = []
    for rule in dict.fromkeys(result.rule for result in evaluation.results):
        group = [result for result in evaluation.results if result.rule == rule]
        shares = [f"{mean_of([result.kept[sort] for result in group]).mean:.2f}" for sort in SHARES]
        phrases = mean_of([result.phrases for result in group]).mean
        rows.append([rule, *shares, *cells(group, "wrong"), f"{phrases:.1f}"])
    return (
        f"Drawn world, {evaluation.scorer}, {seeds} trainings × {evaluation.pairs:,} pairs; half "
        f"are kept.\n\n{table(['rule', *SHARES, 'wrong among the kept', 'phrases'], rows)}\n\n"
        f"r(support, s_0) within the pool: {cell(evaluation.correlation)} (the paper's: 0.084)."
    )
