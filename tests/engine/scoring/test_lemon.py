"""LEMoN against its formula written out pair by pair."""

import math
from pathlib import Path

import numpy as np
import pytest

from backend.engine.captions import Caption
from backend.engine.scoring.lemon import LemonScorer
from backend.engine.scoring.lemon_fit import fit_parameters
from backend.engine.scoring.loading import load_scorer
from backend.engine.scoring.neighbours import LemonParameters, NeighbourBank
from backend.engine.trajectories.driver import run_trajectories
from backend.engine.trajectories.exploring import Exploring
from backend.errors import ModelMismatch, SettingsError, TrainingError
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
    return LemonScorer(base, PARAMETERS, NeighbourBank(range(100, 112), images, captions))  # type: ignore[arg-type]


def by_hand(bank: NeighbourBank, image: np.ndarray, caption: np.ndarray, own_row: int) -> float:
    """d_1 + β d_n + γ d_m as the paper writes it, one neighbour at a time."""
    p = PARAMETERS
    others = [j for j in range(len(bank)) if j != own_row]

    def distance(a: np.ndarray, b: np.ndarray) -> float:
        return 1 - float(a @ b)

    near_x = sorted(others, key=lambda j: distance(image, bank.images[j]))[: p.neighbours]
    near_y = sorted(others, key=lambda j: distance(caption, bank.captions[j]))[: p.neighbours]
    d_n = sum(
        distance(caption, bank.captions[j])
        * math.exp(-p.tau_1n * distance(image, bank.images[j]))
        * math.exp(-p.tau_2n * distance(bank.images[j], bank.captions[j]))
        for j in near_x
    )
    d_m = sum(
        distance(image, bank.images[j])
        * math.exp(-p.tau_1m * distance(caption, bank.captions[j]))
        * math.exp(-p.tau_2m * distance(bank.images[j], bank.captions[j]))
        for j in near_y
    )
    near = d_n / len(near_x) * p.beta + d_m / len(near_y) * p.gamma
    return -(distance(image, caption) + near)


def test_scores_are_the_papers_formula(scorer: LemonScorer, pairs: list) -> None:
    bank = scorer.neighbours()
    states = scorer.encode_images([image for image, _ in pairs])
    captions = ["a red dog", pairs[0][1], ""]
    vectors = scorer.text_embeddings(captions)
    for row in (0, 7):
        state = scorer.of_pair(states[row], 100 + row)
        (scores,) = scorer.score([(state, captions)])
        wanted = [by_hand(bank, bank.images[row], vector, row) for vector in vectors]
        np.testing.assert_allclose(scores, wanted, atol=1e-5)


def test_a_pair_is_never_its_own_neighbour(scorer: LemonScorer, pairs: list) -> None:
    state = scorer.encode_images([pairs[3][0]])[0]
    assert 3 in state.near
    assert 3 not in scorer.of_pair(state, 103).near
    assert scorer.of_pair(state, 9999).own_row == -1


def test_trajectories_and_gradients_work_on_it(scorer: LemonScorer, pairs: list) -> None:
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


def test_without_a_dataset_it_says_what_to_do(scorer: LemonScorer) -> None:
    with pytest.raises(SettingsError, match="score DATASET"):
        LemonScorer(scorer.base, PARAMETERS).open_session()


def test_it_needs_embeddings(tmp_path: Path) -> None:
    base = load_scorer(str(random_blip(tmp_path)), "blip-itm", "cpu")
    with pytest.raises(ModelMismatch, match="blip-itc"):
        LemonScorer(base, PARAMETERS)  # type: ignore[arg-type]


def test_fitted_weights_are_never_worse_than_the_fixed_ones() -> None:
    rng = np.random.default_rng(0)
    images = rng.normal(size=(120, 16)).astype(np.float32)
    captions = images + 0.6 * rng.normal(size=(120, 16)).astype(np.float32)
    wrong = np.arange(120) % 3 == 0
    captions[wrong] = np.roll(captions[wrong], 1, axis=0)
    images /= np.linalg.norm(images, axis=1, keepdims=True)
    captions /= np.linalg.norm(captions, axis=1, keepdims=True)
    bank = NeighbourBank(range(120), images, captions)
    fitted = fit_parameters(bank, np.arange(120), wrong, neighbours=10)
    again = fit_parameters(bank, np.arange(120), wrong, neighbours=10)
    assert fitted == again
    assert fitted != LemonParameters(10)
    with pytest.raises(TrainingError, match="at least 10"):
        fit_parameters(bank, np.arange(12), wrong[:12])
