"""Trajectories and gradients of labelled pairs: read from the cache, or computed and saved."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from backend.engine.captions import Caption
from backend.engine.correction.captioner import Captioner
from backend.engine.detection.cold_start import ScoreCaptions
from backend.engine.detection.localisation import WordWeights
from backend.engine.detection.word_weights import Spans, fit_word_weights
from backend.engine.expectation import Expectation, expectations
from backend.engine.noise.injection import inject
from backend.engine.noise.swaps import ImageCaption
from backend.engine.scoring.protocol import Embed, FloatArray, ImageState, Scorer
from backend.engine.trajectories.driver import run_trajectories
from backend.engine.trajectories.exploring import Exploring
from backend.engine.trajectories.trajectory import Trajectory
from research.evaluation.gradients import word_gradients
from research.evaluation.interventions import word_interventions
from research.evaluation.labelled import LabelledPairs
from research.evaluation.suspect_hits import WordScores
from research.evaluation.trajectory_cache import (
    cached_expectations,
    cached_trajectories,
    cached_words,
)

_BATCH = 16
#: Pairs among which LEMoN's authors look for neighbours.
BANK = 50_000


class LabelledSource:
    """Labelled pairs as the neighbours of a scorer (`PairSource`): all pairs outside `test` and
    outside the dataset's own validation part, including noisy ones, at most BANK of them, as in
    LEMoN's code. Keys are row indices.

    `fit`: "fix", or the objective by which a scorer is fitted to the labels of the validation part;
    without one, to those outside `test`.
    """

    def __init__(self, pairs: LabelledPairs, test: NDArray[np.bool_], fit: str) -> None:
        self._pairs, self._test, self._fit = pairs, test, fit

    @property
    def identity(self) -> Hashable:
        return self  # pairs are never shared between runs

    def vectors(
        self, model: str, embed: Embed
    ) -> Iterator[tuple[list[int], FloatArray, FloatArray]]:
        for first in range(0, len(self._pairs), _BATCH):
            captions = self._pairs.captions[first : first + _BATCH]
            rows = list(range(first, first + len(captions)))
            yield rows, *embed(_pictures(self._pairs, first), captions)

    def training_keys(self) -> NDArray[np.int64] | None:
        validation = self._pairs.validation
        rows = np.flatnonzero(~self._test if validation is None else ~self._test & ~validation)
        return np.sort(np.random.default_rng(0).permutation(rows)[:BANK])

    @property
    def objective(self) -> str:
        return self._fit

    def labels(self) -> Mapping[int, bool] | None:
        if self._fit == "fix":
            return None
        validation = self._pairs.validation
        rows = np.flatnonzero(~self._test if validation is None else validation)
        return {int(row): bool(self._pairs.wrong[row]) for row in rows}


def prepare(
    scorer: Scorer, pairs: LabelledPairs, test: NDArray[np.bool_], fit: str = "fix"
) -> None:
    """Prepare the scorer for these pairs; see `LabelledSource`."""
    scorer.prepare(LabelledSource(pairs, test, fit))


def trajectories_of(
    cache: Path,
    what: dict[str, Any],
    scorer: Scorer,
    exploring: Exploring,
    pairs: LabelledPairs,
    on_devices: Callable[[], list[Trajectory]] | None = None,
) -> list[Trajectory]:
    """The trajectories of the pairs, in order; images are opened lazily. `on_devices`: computes
    them elsewhere (`trajectories_on_devices`)."""
    key = {**_key(what, scorer), "explorer": exploring.name, **exploring.parameters()}

    def make() -> list[Trajectory]:
        by_index = dict(run_trajectories(scorer, states_of(scorer, pairs), exploring))
        return [by_index[index] for index in range(len(pairs))]

    return cached_trajectories(cache, key, pairs.captions, on_devices or make)


def with_captioner(
    cache: Path,
    what: dict[str, Any],
    captioner: Captioner | None,
    trajectories: Sequence[Trajectory],
    pairs: LabelledPairs,
) -> list[Trajectory]:
    """The trajectories with the captioner's expectations added; unchanged without a captioner."""
    if captioner is None:
        return list(trajectories)
    asking = captioner

    def make() -> list[Expectation]:
        made: list[Expectation] = []
        for first in range(0, len(pairs), _BATCH):
            texts = pairs.captions[first : first + _BATCH]
            made += expectations(asking, list(zip(_pictures(pairs, first), texts, strict=True)))
        return made

    key = {**what, "of": "expectations", "captioner": asking.identity}
    read = cached_expectations(cache, key, pairs.captions, make)
    return [replace(t, expectation=e) for t, e in zip(trajectories, read, strict=True)]


def word_weights_of(
    cache: Path,
    what: dict[str, Any],
    scorer: Scorer,
    captioner: Captioner | None,
    exploring: Exploring,
    pairs: LabelledPairs,
    test: NDArray[np.bool_],
    seed: int,
) -> WordWeights | None:
    """Suspect-word weights, fitted as in a cold start: on copies of the captions outside `test`, in
    which the program itself injects errors. No labels of the pairs are used."""
    rows = np.flatnonzero(~test).tolist()
    captions = [ImageCaption(str(pairs.groups[row]), pairs.captions[row]) for row in rows]
    made = [
        (row, noisy)
        for row, noisy in zip(rows, inject(captions, 1.0, ["fine_grained"], seed), strict=True)
        if noisy is not None
    ]
    changed: list[Spans] = [noisy.changed for _, noisy in made]
    key = {**what, "copies": "fine_grained"}
    score = score_captions(cache, key, scorer, captioner, exploring, pairs)
    return fit_word_weights(score([(row, noisy.text) for row, noisy in made]), changed)


def score_captions(
    cache: Path,
    what: dict[str, Any],
    scorer: Scorer,
    captioner: Captioner | None,
    exploring: Exploring,
    pairs: LabelledPairs,
) -> ScoreCaptions:
    """A function for the trajectories of other captions on the images of these pairs, by row."""

    def score(requests: Sequence[tuple[int, str]]) -> list[Trajectory]:
        rows, texts = [row for row, _ in requests], [text for _, text in requests]
        queried = LabelledPairs(
            texts, texts, np.ones(len(texts), np.bool_), [frozenset()] * len(texts),
            [""] * len(texts), [pairs.groups[row] for row in rows],
            lambda index: pairs.picture(rows[index]),
        )  # fmt: skip
        key = {**what, "rows": rows}
        trajectories = trajectories_of(cache, key, scorer, exploring, queried)
        return with_captioner(cache, key, captioner, trajectories, queried)

    return score


def gradients_of(
    cache: Path, what: dict[str, Any], scorer: Scorer, pairs: LabelledPairs
) -> list[WordScores]:
    """Gradient scores of the words, for pairs whose changed words are known; empty for others."""
    return _of_changed_pairs(cache, {**what, "of": "gradients"}, scorer, pairs, word_gradients)


def interventions_of(
    cache: Path, what: dict[str, Any], scorer: Scorer, pairs: LabelledPairs
) -> list[WordScores] | None:
    """Intervention scores of the words, for pairs whose changed words are known, empty for others;
    None for a scorer that compares pairs."""
    if scorer.info.compares_pairs:
        return None
    key = {**what, "of": "interventions"}
    return _of_changed_pairs(cache, key, scorer, pairs, word_interventions)


def _of_changed_pairs(
    cache: Path,
    what: dict[str, Any],
    scorer: Scorer,
    pairs: LabelledPairs,
    scores_of: Callable[[Scorer, Iterator[tuple[ImageState, Caption]]], Iterable[WordScores]],
) -> list[WordScores]:
    def make() -> list[WordScores]:
        rows = [row for row, changed in enumerate(pairs.changed) if changed]
        requests = (
            state for row, state in enumerate(states_of(scorer, pairs)) if pairs.changed[row]
        )
        by_row = dict(zip(rows, scores_of(scorer, requests), strict=True))
        return [by_row.get(row, np.zeros(0)) for row in range(len(pairs))]

    return cached_words(cache, _key(what, scorer), pairs.captions, make)


def states_of(scorer: Scorer, pairs: LabelledPairs) -> Iterator[tuple[ImageState, Caption]]:
    for first in range(0, len(pairs), _BATCH):
        for row, state in enumerate(scorer.encode_images(_pictures(pairs, first)), first):
            yield scorer.of_pair(state, row), Caption.parse(pairs.captions[row])


def _pictures(pairs: LabelledPairs, first: int) -> list[Image.Image]:
    return [pairs.picture(row) for row in range(first, min(first + _BATCH, len(pairs)))]


def _key(what: dict[str, Any], scorer: Scorer) -> dict[str, Any]:
    info = scorer.info
    return {**what, "revision": info.revision, "precision": info.precision, **info.parameters}
