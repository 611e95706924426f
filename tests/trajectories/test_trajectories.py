"""Elimination against a plain loop, on real model classes."""

from collections.abc import Sequence

import numpy as np
import pytest

from backend.captions import Caption
from backend.scoring.loading import load_scorer
from backend.scoring.protocol import FloatArray, ImageState, Scorer, ScorerInfo
from backend.trajectories.driver import run_trajectories
from backend.trajectories.trajectory import Trajectory
from tests.checkpoints import drawn_pairs, random_blip, random_clip


@pytest.fixture(scope="module", params=["clip", "blip-itc", "blip-itm"])
def scorer(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Scorer:
    folder = tmp_path_factory.mktemp("model")
    made = random_clip(folder) if request.param == "clip" else random_blip(folder)
    return load_scorer(str(made), request.param, "cpu")


def plain_elimination(scorer: Scorer, state: ImageState, caption: Caption) -> list[str]:
    """Algorithm 2 as it is written: delete, score, keep the best, one pair, one call a step."""
    left = list(range(len(caption)))
    captions = [caption.text]
    while left:
        candidates = [
            caption.without(set(range(len(caption))) - set(left) | {word}) for word in left
        ]
        scores = {text: float(scorer.score([(state, [text])])[0][0]) for text in candidates}
        best = max(range(len(left)), key=lambda k: (round(scores[candidates[k]], 6), -k))
        captions.append(candidates[best])
        left.pop(best)
    return captions


def test_trajectories_are_those_of_the_plain_loop(scorer: Scorer) -> None:
    pairs = drawn_pairs(5, seed=3)
    states = scorer.encode_images([image for image, _ in pairs])
    captions = [Caption.parse(text) for _, text in pairs]
    found = dict(run_trajectories(scorer, zip(states, captions, strict=True), live=3))
    assert sorted(found) == list(range(5))
    for index, caption in enumerate(captions):
        trajectory = found[index]
        plain = plain_elimination(scorer, states[index], caption)
        steps = [trajectory.caption_at(step) for step in range(trajectory.steps + 1)]
        scores = scorer.score([(states[index], plain)])[0]
        np.testing.assert_allclose(trajectory.scores, scores, atol=1e-4)
        assert steps[-1] == ""
        # Scores that are equal to six digits may fall either way.
        assert steps == plain or np.abs(np.diff(np.sort(scores))).min() < 1e-5


def test_first_step_scores_and_similarities(scorer: Scorer) -> None:
    image, text = drawn_pairs(1, seed=8)[0]
    state = scorer.encode_images([image])[0]
    caption = Caption.parse(text)
    ((_, trajectory),) = run_trajectories(scorer, [(state, caption)])
    without = [caption.without([word]) for word in range(len(caption))]
    np.testing.assert_allclose(
        trajectory.first_step_scores, scorer.score([(state, without)])[0], atol=1e-5
    )
    vectors = scorer.text_embeddings(
        [trajectory.caption_at(t) for t in range(trajectory.steps + 1)]
    )
    np.testing.assert_allclose(trajectory.similarities, vectors @ vectors[0], atol=1e-5)
    assert trajectory.similarities[0] == 1
    assert len(trajectory.scores) == len(trajectory.similarities) == len(caption) + 1


def test_a_caption_without_words_has_no_steps(scorer: Scorer) -> None:
    state = scorer.encode_images([drawn_pairs(1)[0][0]])[0]
    found = dict(
        run_trajectories(scorer, [(state, Caption.parse("!!!")), (state, Caption.parse(""))])
    )
    assert [found[i].steps for i in (0, 1)] == [0, 0]
    assert len(found[0].scores) == 1


def test_words_behind_the_context_are_never_deleted(scorer: Scorer) -> None:
    state = scorer.encode_images([drawn_pairs(1)[0][0]])[0]
    caption = Caption.parse("dog cat " * 30)
    ((_, trajectory),) = run_trajectories(scorer, [(state, caption)])
    assert trajectory.truncated
    assert trajectory.steps == scorer.words_read(caption.text) < len(caption)
    assert max(trajectory.removed) < trajectory.steps


class LengthScorer:
    """Scores a caption by a table of words, so that the right trajectory is known."""

    info = ScorerInfo("clip", "table", "0", "cpu", "")

    def __init__(self, worth: dict[str, float]) -> None:
        self.worth = worth
        self.calls = 0

    def encode_images(self, images: Sequence[object]) -> list[ImageState]:
        return list(images)

    def score(self, requests: Sequence[tuple[ImageState, Sequence[str]]]) -> list[FloatArray]:
        self.calls += 1
        return [
            np.array(
                [sum(self.worth.get(w, 0) for w in text.split()) for text in texts], np.float32
            )
            for _, texts in requests
        ]

    def text_embeddings(self, captions: Sequence[str]) -> FloatArray:
        return np.ones((len(captions), 1), np.float32)

    def words_read(self, caption: str) -> int:
        return len(Caption.parse(caption))


def run_one(scorer: LengthScorer, text: str) -> Trajectory:
    ((_, trajectory),) = run_trajectories(scorer, [(None, Caption.parse(text))])
    return trajectory


def test_the_worst_word_goes_first_and_ties_go_to_the_first_word() -> None:
    scorer = LengthScorer({"bad": -2.0, "worse": -3.0, "good": 1.0})
    trajectory = run_one(scorer, "good bad worse so so good")
    assert trajectory.removed == (2, 1, 3, 4, 0, 5)
    assert trajectory.scores.tolist() == [-3, 0, 2, 2, 2, 1, 0]
    assert trajectory.peak == 2
    assert trajectory.deletion_gains.tolist() == [-1, 2, 3, 0, 0, -1]


def test_pairs_share_rounds() -> None:
    scorer = LengthScorer({})
    dict(run_trajectories(scorer, [(None, Caption.parse("a b c d"))] * 10))
    assert scorer.calls == 5  # x_0 and four steps, for all ten together
