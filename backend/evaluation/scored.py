"""Trajectories and gradients of labelled pairs: from the cache, or computed and kept."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from backend.captions import Caption
from backend.evaluation.gradients import word_gradients
from backend.evaluation.labelled import LabelledPairs
from backend.evaluation.localisation import WordScores
from backend.evaluation.trajectory_cache import cached_trajectories, cached_words
from backend.scoring.lemon import LemonParameters, LemonScorer, NeighbourBank
from backend.scoring.lemon_fit import fit_parameters
from backend.scoring.protocol import ImageState, Scorer
from backend.trajectories.driver import run_trajectories
from backend.trajectories.exploring import Exploring
from backend.trajectories.trajectory import Trajectory

_BATCH = 16


def prepare(
    scorer: Scorer, pairs: LabelledPairs, test: NDArray[np.bool_], fit: bool = False
) -> None:
    """Give LEMoN its neighbours, which are the pairs themselves, noise included (as in its paper).

    `fit`: LEMoN_OPT, its weights fitted to the labels outside `test`.
    """
    if not isinstance(scorer, LemonScorer):
        return
    rows = range(len(pairs))
    vectors = [
        state.float().cpu().numpy()
        for first in rows[::_BATCH]
        for state in scorer.base.encode_images(_pictures(pairs, first))
    ]
    captions = scorer.base.text_embeddings(pairs.captions)
    scorer.bank = NeighbourBank(list(rows), np.stack(vectors).astype(np.float32), captions)
    scorer.parameters = LemonParameters()
    if fit:
        known = np.flatnonzero(~test)
        scorer.parameters = fit_parameters(scorer.bank, known, pairs.wrong[known])


def trajectories_of(
    cache: Path,
    what: dict[str, Any],
    scorer: Scorer,
    exploring: Exploring,
    pairs: LabelledPairs,
) -> list[Trajectory]:
    """One a pair, in order; images are opened as they are needed."""
    key = {**_key(what, scorer), "explorer": exploring.name, **exploring.parameters()}

    def make() -> list[Trajectory]:
        found = dict(run_trajectories(scorer, states_of(scorer, pairs), exploring))
        return [found[index] for index in range(len(pairs))]

    return cached_trajectories(cache, key, pairs.captions, make)


def gradients_of(
    cache: Path, what: dict[str, Any], scorer: Scorer, pairs: LabelledPairs
) -> list[WordScores]:
    """A gradient score a word, of the pairs whose changed words are known; empty for the others."""
    rows = [row for row, changed in enumerate(pairs.changed) if changed]

    def make() -> list[WordScores]:
        asked = (one for row, one in enumerate(states_of(scorer, pairs)) if pairs.changed[row])
        found = dict(zip(rows, word_gradients(scorer, asked), strict=True))
        return [found.get(row, np.zeros(0)) for row in range(len(pairs))]

    return cached_words(cache, {**_key(what, scorer), "of": "gradients"}, pairs.captions, make)


def states_of(scorer: Scorer, pairs: LabelledPairs) -> Iterator[tuple[ImageState, Caption]]:
    for first in range(0, len(pairs), _BATCH):
        for row, state in enumerate(scorer.encode_images(_pictures(pairs, first)), first):
            yield scorer.of_pair(state, row), Caption.parse(pairs.captions[row])


def _pictures(pairs: LabelledPairs, first: int) -> list[Image.Image]:
    return [pairs.picture(row) for row in range(first, min(first + _BATCH, len(pairs)))]


def _key(what: dict[str, Any], scorer: Scorer) -> dict[str, Any]:
    info = scorer.info
    weights = scorer.parameters.as_dict() if isinstance(scorer, LemonScorer) else {}
    return {**what, "revision": info.revision, "precision": info.precision, **weights}
