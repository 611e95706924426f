"""LEMoN against the formulas of its authors' code, written out pair by pair."""

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.metrics import f1_score, roc_auc_score

from backend.engine.captions import Caption
from backend.engine.scoring.loading import load_scorer
from backend.engine.trajectories.driver import run_trajectories
from backend.engine.trajectories.exploring import Exploring
from backend.errors import ModelMismatch, TrainingError
from backend.features.lemon import lemon_fit
from backend.features.lemon.lemon import LemonScorer, LemonState, lemon_scores
from backend.features.lemon.lemon_fit import (
    FORMULA,
    Distances,
    LabelledPairs,
    LemonParameters,
    NeighbourBank,
    fit_as_published,
    fit_to_auc,
)
from tests.checkpoints import drawn_pairs, random_blip, random_clip

PARAMETERS = LemonParameters(4, 5, 3, 0.1, 5, 0.2, 4)


@pytest.fixture(scope="module")
def pairs() -> list:
    return drawn_pairs(12, seed=5)


@pytest.fixture(scope="module")
def scorer(pairs: list, tmp_path_factory: pytest.TempPathFactory) -> LemonScorer:
    base = load_scorer(str(random_clip(tmp_path_factory.mktemp("clip"))), "clip", "cpu")
    images = np.stack([s.numpy() for s in base.encode_images([image for image, _ in pairs])])
    captions = base.text_embeddings([text for _, text in pairs])
    return LemonScorer(base, PARAMETERS, NeighbourBank(range(100, 112), images, captions))  # pyrefly: ignore[bad-argument-type]


def by_hand(
    bank: NeighbourBank,
    image: np.ndarray,
    caption: np.ndarray,
    own_row: int,
    p: LemonParameters = PARAMETERS,
) -> float:
    """s as the authors' code computes it (run_lemon.py, lib/metrics/utils.py), one neighbour at a
    time: D, the search index's answer, is minus the cosine, or the squared Euclidean distance."""
    others = [j for j in range(len(bank)) if j != own_row]
    x, y = bank.images.astype(np.float64), bank.captions.astype(np.float64)
    image, caption = image.astype(np.float64), caption.astype(np.float64)

    def distance(a: np.ndarray, b: np.ndarray) -> float:
        return float(((a - b) ** 2).sum()) if p.euclidean else 1 - float(a @ b)

    def gap(a: np.ndarray, b: np.ndarray) -> float:
        return float(((a - b) ** 2).sum()) if p.euclidean else -float(a @ b)

    near_x = sorted(others, key=lambda j: distance(image, x[j]))[: p.neighbours]
    near_y = sorted(others, key=lambda j: distance(caption, y[j]))[: p.neighbours]
    d_n = sum(
        distance(caption, y[j])
        * math.exp(-p.tau_1n * gap(image, x[j]))
        * math.exp(-p.tau_2n * distance(x[j], y[j]))
        for j in near_x
    )
    d_m = sum(
        distance(image, x[j])
        * math.exp(-p.tau_1m * gap(caption, y[j]))
        * math.exp(-p.tau_2m * distance(x[j], y[j]))
        for j in near_y
    )
    near = d_n / len(near_x) * p.beta + d_m / len(near_y) * p.gamma
    return -(distance(image, caption) + near)


def values_of(parameters: LemonParameters) -> np.ndarray:
    """In the order that `Distances.of` takes them."""
    return np.array([getattr(parameters, name) for name in lemon_fit._NAMES])


def made_bank(count: int, seed: int) -> tuple[NeighbourBank, np.ndarray]:
    """Random unit vectors of related images and captions, and which captions are wrong."""
    rng = np.random.default_rng(seed)
    images = rng.normal(size=(count, 16)).astype(np.float32)
    captions = images + 0.6 * rng.normal(size=(count, 16)).astype(np.float32)
    wrong = np.arange(count) % 3 == 0
    captions[wrong] = np.roll(captions[wrong], 1, axis=0)
    images /= np.linalg.norm(images, axis=1, keepdims=True)
    captions /= np.linalg.norm(captions, axis=1, keepdims=True)
    return NeighbourBank(range(count), images, captions), wrong


@pytest.mark.parametrize(
    "parameters",
    [
        LemonParameters(),
        LemonParameters(7, 3, 60, 1.5, 0, 5, 10),
        LemonParameters(5, 20, 5, 0.1, 5, 5, 1, euclidean=True),
    ],
)
def test_scores_agree_with_the_authors_code_on_random_vectors(parameters: LemonParameters) -> None:
    bank, wrong = made_bank(60, 1)
    rows = [0, 9, 31]
    images, captions = bank.images[rows], bank.captions[rows]
    keys = np.array(rows)
    labelled = LabelledPairs(keys, images, captions, wrong[rows])
    distances = Distances(bank, labelled, parameters.neighbours, parameters.euclidean)
    wanted = [
        by_hand(bank, image, caption, row, parameters)
        for image, caption, row in zip(images, captions, rows, strict=True)
    ]
    # Relative where weights of exp(5) and more multiply the rounding of float32 inputs.
    np.testing.assert_allclose(-distances.of(values_of(parameters)), wanted, rtol=1e-6, atol=1e-6)
    near_x = bank.near_images(images, parameters.neighbours, rows)
    near_y = bank.near_captions(captions, parameters.neighbours, rows)
    for at, row in enumerate(rows):
        state = LemonState(torch.from_numpy(images[at]), row, near_x[at])
        alone = torch.from_numpy(captions[at : at + 1])
        scored = lemon_scores(alone, state, near_y[at : at + 1], bank, parameters)
        np.testing.assert_allclose(float(scored), wanted[at], rtol=1e-6, atol=1e-6)


def test_scores_follow_the_papers_formula(scorer: LemonScorer, pairs: list) -> None:
    bank = scorer.neighbours()
    states = scorer.encode_images([image for image, _ in pairs])
    captions = ["a red dog", pairs[0][1], ""]
    vectors = scorer.text_embeddings(captions)
    for row in (0, 7):
        state = scorer.of_pair(states[row], 100 + row)
        (scores,) = scorer.score([(state, captions)])
        wanted = [by_hand(bank, bank.images[row], vector, row) for vector in vectors]
        np.testing.assert_allclose(scores, wanted, atol=1e-5)


def test_trajectories_and_gradients_work_with_lemon(scorer: LemonScorer, pairs: list) -> None:
    state = scorer.of_pair(scorer.encode_images([pairs[0][0]])[0], 100)
    caption = Caption.parse(pairs[0][1])
    ((_, trajectory),) = run_trajectories(scorer, [(state, caption)])
    assert trajectory.steps == len(caption)
    captions = [trajectory.caption_at(step) for step in range(trajectory.steps + 1)]
    np.testing.assert_allclose(trajectory.scores, scorer.score([(state, captions)])[0], atol=1e-5)
    how = Exploring("fast-gcd", steps=2, top=8)
    ((_, replaced),) = run_trajectories(scorer, [(state, caption)], how)
    assert replaced.steps == 2
    # Along the gradient s must rise more than for words drawn at random.
    session = scorer.open_session()
    (text,) = scorer.reader.tokenise([caption.text])
    (gains,) = session.replacement_gains([(state, text)])
    allowed = np.flatnonzero(scorer.reader.replaceable(True))
    order = allowed[np.argsort(gains[1, allowed])]
    (tried,) = session.score([(state, [(text[0], int(v), *text[2:]) for v in order])])
    assert tried[-20:].mean() > tried[:20].mean()


def test_a_scorer_without_embeddings_is_refused(tmp_path: Path) -> None:
    base = load_scorer(str(random_blip(tmp_path)), "blip-itm", "cpu")
    with pytest.raises(ModelMismatch, match="blip-itc"):
        LemonScorer(base, PARAMETERS)  # pyrefly: ignore[bad-argument-type]


def test_fitted_weights_are_never_worse_than_the_fixed_ones() -> None:
    bank, wrong = made_bank(120, 0)
    labelled = LabelledPairs(np.arange(120), bank.images, bank.captions, wrong)
    start = LemonParameters(10)
    fitted = fit_to_auc(bank, labelled, start)
    assert fitted == fit_to_auc(bank, labelled, start)

    def auc(p: LemonParameters) -> float:
        return float(roc_auc_score(wrong, Distances(bank, labelled, 10, False).of(values_of(p))))

    assert auc(fitted) > auc(start)
    few = LabelledPairs(np.arange(12), bank.images[:12], bank.captions[:12], wrong[:12])
    for fit in (fit_to_auc, fit_as_published):
        with pytest.raises(TrainingError, match="at least 10"):
            fit(bank, few, start)


def test_the_published_fit_has_the_highest_f1_of_grid_and_searches(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bank, wrong = made_bank(60, 2)
    monkeypatch.setattr(lemon_fit, "_STARTS", (1.0,))
    rows = np.arange(0, 60, 2)  # the others are neighbours only
    labelled = LabelledPairs(rows, bank.images[rows], bank.captions[rows], wrong[rows])
    fitted = fit_as_published(bank, labelled, counts=(2, 5, 400))
    assert fitted.neighbours in (2, 5, 59)

    def f1(p: LemonParameters) -> float:
        scores = Distances(bank, labelled, p.neighbours, p.euclidean).of(values_of(p))
        return max(f1_score(labelled.wrong, scores >= threshold) for threshold in scores)

    reached = f1(fitted)
    for k, euclidean in ((2, False), (5, True), (59, False)):
        assert reached >= f1(LemonParameters(k, euclidean=euclidean))
        assert reached >= f1(LemonParameters(k, 20, 20, 5, 5, 5, 5, euclidean))


def test_only_the_training_part_is_searched_for_neighbours(
    scorer: LemonScorer, pairs: list
) -> None:
    class Source:
        identity = "split"
        objective = "fix"

        def vectors(self, model, embed):  # pyrefly: ignore[implicit-any-parameter, unannotated-return]
            yield (
                list(range(12)),
                *embed([image for image, _ in pairs], [text for _, text in pairs]),
            )

        def training_keys(self) -> np.ndarray:
            return np.arange(0, 12, 2)

        def labels(self) -> None:
            return None

    split = LemonScorer(scorer.base, PARAMETERS)
    split.prepare(Source())
    assert split.neighbours().keys.tolist() == [0, 2, 4, 6, 8, 10]
    assert split.of_pair(split.encode_images([pairs[1][0]])[0], 1).own_row == -1
    assert split.info.parameters["formula"] == FORMULA
