"""Elimination against a plain loop, on real model classes."""

import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from backend.engine.captions import Caption
from backend.engine.scoring.forwarding import ForwardingSession
from backend.engine.scoring.loading import load_scorer
from backend.engine.scoring.protocol import (
    BoolArray,
    FloatArray,
    ImageState,
    Independent,
    Scorer,
    ScorerInfo,
    TokenReader,
    Tokens,
    Work,
)
from backend.engine.scoring.tokens import HubReader
from backend.engine.trajectories.driver import run_trajectories
from backend.engine.trajectories.exploring import Exploring
from backend.engine.trajectories.trajectory import Trajectory
from backend.errors import SettingsError
from backend.settings import MODELS
from research.bench.reference import ReferenceSession
from research.evaluation.labelled import DIRECTORIES
from tests.checkpoints import drawn_pairs, random_blip, random_clip
from tests.engine.trajectories.comparison import assert_same_trajectory

#: Tokens that the models of these tests read, including special tokens. The cost of elimination
#: grows with about the cube of this number.
CONTEXT = 12


def with_short_context(scorer: Scorer) -> Scorer:
    assert isinstance(scorer.reader, HubReader)
    assert scorer.reader.context > CONTEXT
    scorer.reader.context = CONTEXT
    return scorer


@pytest.fixture(scope="module", params=["clip", "blip-itc", "blip-itm"])
def scorer(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Scorer:
    folder = tmp_path_factory.mktemp("model")
    made = random_clip(folder) if request.param == "clip" else random_blip(folder)
    return with_short_context(load_scorer(str(made), request.param, "cpu"))


@pytest.fixture(scope="module", params=sorted(DIRECTORIES))
def embedded(request: pytest.FixtureRequest) -> Scorer:
    kind = request.param
    return with_short_context(load_scorer(str(MODELS / DIRECTORIES[kind]), kind, "cpu"))


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


def test_trajectories_equal_those_of_the_plain_loop(scorer: Scorer) -> None:
    pairs = drawn_pairs(4, seed=3)
    states = scorer.encode_images([image for image, _ in pairs])
    captions = [Caption.parse(" ".join(text.split()[:8])) for _, text in pairs]
    by_index = dict(run_trajectories(scorer, zip(states, captions, strict=True), live=3))
    assert sorted(by_index) == list(range(4))
    for index, caption in enumerate(captions):
        trajectory = by_index[index]
        plain = plain_elimination(scorer, states[index], caption)
        steps = [trajectory.caption_at(step) for step in range(trajectory.steps + 1)]
        scores = scorer.score([(states[index], plain)])[0]
        np.testing.assert_allclose(trajectory.scores, scores, atol=1e-4)
        assert steps[-1] == ""
        # Scores that are equal to six digits may be ordered either way.
        assert steps == plain or np.abs(np.diff(np.sort(scores))).min() < 1e-5


def test_first_step_scores_and_similarities_equal_direct_scoring(scorer: Scorer) -> None:
    image, text = drawn_pairs(1, seed=8)[0]
    state = scorer.encode_images([image])[0]
    caption = Caption.parse(" ".join(text.split()[:10]))
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


@pytest.mark.parametrize("explorer", ["elimination", "fast-gcd"])
def test_the_auxiliary_score_is_the_other_score_along_the_same_captions(
    explorer: Any, tmp_path: Path
) -> None:
    """ITM's trajectory keeps ITC's cosines: those of the same checkpoint loaded as ITC."""
    folder = str(random_blip(tmp_path))
    matching, contrast = (load_scorer(folder, kind, "cpu") for kind in ("blip-itm", "blip-itc"))
    image, text = drawn_pairs(1, seed=8)[0]
    caption = Caption.parse(text)
    exploring = Exploring(explorer, steps=2, top=4)
    ((_, trajectory),) = run_trajectories(
        matching, [(matching.encode_images([image])[0], caption)], exploring
    )
    state = contrast.encode_images([image])[0]
    along = [trajectory.caption_at(t) for t in range(trajectory.steps + 1)]
    without = [caption.without([word]) for word in range(len(caption))]
    assert trajectory.auxiliary is not None
    if explorer == "elimination":  # other explorers' captions may be tokenised differently
        (wanted,) = contrast.score([(state, along)])
        np.testing.assert_allclose(trajectory.auxiliary.scores, wanted, atol=1e-5)
    (alone,) = contrast.score([(state, without)])
    np.testing.assert_allclose(trajectory.auxiliary.first_step_scores, alone, atol=1e-5)
    assert len(trajectory.auxiliary.scores) == trajectory.steps + 1


def test_no_auxiliary_score_if_there_is_none_or_none_is_wanted(scorer: Scorer) -> None:
    image, text = drawn_pairs(1, seed=8)[0]
    pair = (scorer.encode_images([image])[0], Caption.parse(text))
    ((_, trajectory),) = run_trajectories(scorer, [pair])
    assert (trajectory.auxiliary is not None) == (scorer.info.kind == "blip-itm")
    ((_, silent),) = run_trajectories(scorer, [pair], Exploring(auxiliary=False))
    assert silent.auxiliary is None
    np.testing.assert_array_equal(silent.scores, trajectory.scores)


def test_words_beyond_the_context_are_never_deleted(scorer: Scorer) -> None:
    state = scorer.encode_images([drawn_pairs(1)[0][0]])[0]
    caption = Caption.parse("a red dog and two cats " * 10)
    ((_, trajectory),) = run_trajectories(scorer, [(state, caption)])
    assert trajectory.truncated
    assert trajectory.steps == scorer.reader.words_read(caption.text) < len(caption)
    assert max(trajectory.removed) < trajectory.steps
    # Nor do they move into the context as earlier words are deleted.
    beyond = range(trajectory.steps, len(caption))
    left = [caption.without({*trajectory.removed[:t], *beyond}) for t in range(trajectory.steps)]
    (scores,) = scorer.score([(state, left)])
    np.testing.assert_allclose(trajectory.scores[:-1], scores, atol=1e-4)


class WordReader:
    """Every word is a token; words that are not known are all token 0."""

    context = 99
    vocabulary = 99

    def __init__(self, words: Sequence[str]) -> None:
        self.words = ["?", *words]

    def tokenise(self, captions: Sequence[str]) -> list[Tokens]:
        return [tuple(map(self._number, caption.split())) for caption in captions]

    def spans(self, caption: str) -> list[tuple[int, int]]:
        return list(Caption.parse(caption).spans)

    def decode(self, tokens: Tokens) -> str:
        return " ".join(self.words[token] for token in tokens)

    def words_read(self, caption: str) -> int:
        return len(Caption.parse(caption))

    def replaceable(self, whole_words: bool) -> BoolArray:
        return np.arange(len(self.words)) > 0

    def _number(self, word: str) -> int:
        return self.words.index(word) if word in self.words else 0


class TableScorer(Independent):
    """Scores a caption by a table of words, so that the right trajectory is known."""

    info = ScorerInfo("clip", "table", "0", "cpu", "")
    live = 48
    work = Work()
    embedding_work = Work()

    def __init__(self, worth: dict[str, float]) -> None:
        self.worth = worth
        self.reader: TokenReader = WordReader(list(worth))
        self.words = ["?", *worth]

    def open_session(self) -> "TableScorer":
        return self

    def image_embeddings(self, states: Sequence[ImageState]) -> None:
        return None

    def encode_images(self, images: Sequence[object]) -> list[ImageState]:
        return list(images)

    def score(self, requests: Sequence[tuple[ImageState, Sequence[Any]]]) -> list[FloatArray]:
        return [
            np.array([sum(self._worth(t) for t in text) for text in texts], np.float32)
            for _, texts in requests
        ]

    def embed(self, texts: Sequence[Tokens]) -> FloatArray:
        return np.ones((len(texts), 1), np.float32)

    def text_embeddings(self, captions: Sequence[str]) -> FloatArray:
        return np.ones((len(captions), 1), np.float32)

    def replacement_gains(self, requests: Sequence[tuple[ImageState, Tokens]]) -> list[FloatArray]:
        worth = np.array([self._worth(t) for t in range(len(self.words))], np.float32)
        return [np.tile(worth, (len(text), 1)) for _, text in requests]

    def _worth(self, token: int) -> float:
        return self.worth.get(self.words[token], 0)


class TwoSessions(TableScorer):
    """Nobody's first call is answered before another session is asked."""

    def __init__(self, worth: dict[str, float]) -> None:
        super().__init__(worth)
        self.both = threading.Barrier(2, timeout=60)

    def open_sessions(self) -> "list[WaitingSession]":
        return [WaitingSession(self), WaitingSession(self)]


class WaitingSession(ForwardingSession):
    session: TwoSessions
    is_first = True
    is_computing = False

    def score(self, requests: Sequence[tuple[ImageState, Sequence[Any]]]) -> list[FloatArray]:
        if self.is_first:
            self.is_first = False
            self.session.both.wait()
        return super().score(requests)


class OneFails(TwoSessions):
    """The first session's call fails while the other's is computed."""

    def open_sessions(self) -> "list[WaitingSession]":
        self.sessions: list[WaitingSession] = [FailingSession(self), SlowSession(self)]
        return self.sessions


class FailingSession(WaitingSession):
    def score(self, requests: Sequence[tuple[ImageState, Sequence[Any]]]) -> list[FloatArray]:
        super().score(requests)
        raise MemoryError


class SlowSession(WaitingSession):
    def score(self, requests: Sequence[tuple[ImageState, Sequence[Any]]]) -> list[FloatArray]:
        self.is_computing = True
        answer = super().score(requests)
        time.sleep(0.2)
        self.is_computing = False
        return answer


def test_no_session_computes_any_more_when_another_has_failed() -> None:
    scorer = OneFails({"bad": -2.0, "good": 1.0})
    pairs = [(None, Caption.parse("good bad")) for _ in range(4)]
    with pytest.raises(MemoryError):
        list(run_trajectories(scorer, pairs, live=2))
    assert not scorer.sessions[1].is_computing


def test_a_session_prepares_its_call_while_the_answer_to_another_is_computed() -> None:
    words = {"bad": -2.0, "worse": -3.0, "good": 1.0}
    captions = [Caption.parse(text) for text in ("good bad worse", "worse good", "bad", "good bad")]
    pairs = [(None, caption) for caption in captions]
    for name in ("elimination", "fast-gcd"):
        how = Exploring(name, steps=2, top=2)
        together = dict(run_trajectories(TwoSessions(words), pairs, how, live=2))
        alone = dict(run_trajectories(TableScorer(words), pairs, how))
        for index, trajectory in alone.items():
            assert_same_trajectory(together[index], trajectory)


def run_one(scorer: TableScorer, text: str, **how: Any) -> Trajectory:
    pairs = [(None, Caption.parse(text))]
    ((_, trajectory),) = run_trajectories(scorer, pairs, Exploring(**how))
    return trajectory


def test_the_worst_word_is_removed_first_and_ties_go_to_the_first_word() -> None:
    scorer = TableScorer({"bad": -2.0, "worse": -3.0, "good": 1.0})
    trajectory = run_one(scorer, "good bad worse so so good")
    assert trajectory.removed == (2, 1, 3, 4, 0, 5)
    assert trajectory.scores.tolist() == [-3, 0, 2, 2, 2, 1, 0]
    assert trajectory.peak == 2
    assert trajectory.deletion_gains.tolist() == [-1, 2, 3, 0, 0, -1]


def test_minimising_removes_the_best_word_first() -> None:
    scorer = TableScorer({"bad": -2.0, "good": 1.0})
    trajectory = run_one(scorer, "so good bad", direction="minimise")
    assert trajectory.removed == (1, 0, 2)
    assert trajectory.scores.tolist() == [-1, -2, -2, 0]


class Pressing(TableScorer):
    """Worth of words as in a table, but "bad" only counts together with "worse": once that is
    removed, its deletion gains nothing. Counts the texts that it scores."""

    scored_texts = 0

    def score(self, requests: Sequence[tuple[ImageState, Sequence[Any]]]) -> list[FloatArray]:
        self.scored_texts += sum(len(texts) for _, texts in requests)
        bad, worse = (1 + list(self.worth).index(word) for word in ("bad", "worse"))
        return [
            scores + np.array([2.0 * (bad in t and worse not in t) for t in texts], np.float32)
            for scores, (_, texts) in zip(super().score(requests), requests, strict=True)
        ]


def test_lazy_elimination_rescores_only_the_most_promising_words() -> None:
    worth = {"bad": -2.0, "worse": -3.0, "poor": -1.0, "good": 1.0}
    text = "good bad worse so poor good"
    exact, lazy = Pressing(worth), Pressing(worth)
    wanted = run_one(exact, text)
    actual = run_one(lazy, text, lazy=2)
    # "bad" was promising at step 1 but no longer is, so that "poor" is removed before it.
    assert actual.removed == wanted.removed
    np.testing.assert_array_equal(actual.first_step_scores, wanted.first_step_scores)
    assert exact.scored_texts == 1 + 6 * 7 // 2
    assert lazy.scored_texts == 1 + 6 + 2 * 4 + 1
    # Only the most promising word is rescored: the order of step 1.
    hasty = run_one(Pressing(worth), text, lazy=1)
    assert hasty.removed == (2, 1, 4, 3, 0, 5)


def test_a_first_step_equals_that_of_the_whole_trajectory(scorer: Scorer) -> None:
    for name in ["elimination", "gcd", "fast-gcd"]:
        image, text = drawn_pairs(1, seed=4)[0]
        state = scorer.encode_images([image])[0]
        pairs = [(state, Caption.parse(words)) for words in (text, "dog", "")]
        how = Exploring(name, steps=3, top=8, candidates=9)
        whole = dict(run_trajectories(scorer, pairs, how))
        first = dict(run_trajectories(scorer, pairs, replace(how, whole=False)))
        assert all(trajectory.whole for trajectory in whole.values())
        for index, trajectory in first.items():
            assert_same_trajectory(trajectory, whole[index].first_step())
            assert trajectory.whole == whole[index].first_step().whole
        assert (first[0].steps, first[0].whole) == (1, False)
        # A caption of one word has no second deletion; without words, nothing is left to do.
        assert first[1].whole == (name == "elimination")
        assert first[2].whole
        assert replace(how, whole=False).parameters() == how.parameters(), "the same run"


def test_lazy_is_recorded_and_valid_only_for_elimination() -> None:
    lazy = Exploring(lazy=2)
    assert Exploring().parameters() == {k: v for k, v in lazy.parameters().items() if k != "lazy"}
    assert Exploring.from_run(lazy.name, lazy.parameters()) == lazy
    wrong: dict[str, Any]
    for wrong in ({"lazy": 0}, {"name": "gcd", "lazy": 2}):
        with pytest.raises(SettingsError, match="lazy"):
            Exploring(**wrong)


def test_fast_gcd_replaces_the_worst_word_by_the_best() -> None:
    scorer = TableScorer({"bad": -2.0, "good": 1.0, "best": 3.0})
    trajectory = run_one(scorer, "So, bad dog!", name="fast-gcd", steps=2, top=2)
    # "So," and "dog!" are unknown: worth nothing, and then the first of them is replaced.
    assert trajectory.captions == ("So, best dog!", "best, best dog!")
    assert trajectory.scores.tolist() == [-2, 3, 6]
    assert trajectory.removed == (1, 0)
    assert trajectory.deletion_gains.tolist() == [0, 2, 0]


def test_gcd_is_determined_by_its_seed_whatever_else_is_in_the_batch() -> None:
    words = {f"w{i}": float(i % 7) for i in range(40)}
    how = Exploring("gcd", steps=4, top=8, candidates=5, seed=3)
    captions = [Caption.parse(text) for text in ("w0 w7 w14", "w1 w2", "w0 w7 w14 w21")]
    together = dict(run_trajectories(TableScorer(words), [(None, c) for c in captions], how))
    for index, caption in enumerate(captions):
        ((_, alone),) = run_trajectories(TableScorer(words), [(None, caption)], how)
        assert alone.captions == together[index].captions
    other = Exploring("gcd", steps=4, top=8, candidates=5, seed=4)
    ((_, changed),) = run_trajectories(TableScorer(words), [(None, captions[0])], other)
    assert changed.captions != together[0].captions


def test_replacements_are_whole_words_and_never_special_tokens(scorer: Scorer) -> None:
    state = scorer.encode_images([drawn_pairs(1)[0][0]])[0]
    caption = Caption.parse(drawn_pairs(1)[0][1])
    for name in ("gcd", "fast-gcd"):
        how = Exploring(name, steps=3, top=20, candidates=30)
        ((_, trajectory),) = run_trajectories(scorer, [(state, caption)], how)
        assert trajectory.steps == 3
        for step in range(1, 4):
            assert "[" not in trajectory.caption_at(step)
            assert len(Caption.parse(trajectory.caption_at(step))) == len(caption)


WAYS = [
    Exploring(),
    Exploring(lazy=2),
    Exploring(direction="minimise"),
    Exploring(unit="token"),
    Exploring("gcd", steps=3, top=8, candidates=12, seed=1),
    Exploring("fast-gcd", steps=3, top=8),
    Exploring("fast-gcd", steps=2, top=8, whole_words=False, direction="minimise"),
]


STRANGE = ["", "!!!", "A red, red dog…", "dog cat " * 30, "犬が走る 🐕 dog", "<b>boats</b> ${7*6}"]


def assert_matches_the_reference(scorer: Scorer, exploring: Exploring) -> None:
    pairs = drawn_pairs(3, seed=11)
    states = scorer.encode_images([image for image, _ in pairs])
    captions = [" ".join(text.split()[:words]) for words, (_, text) in enumerate(pairs, 5)]
    captions += STRANGE
    encoded = [(states[i % 3], Caption.parse(text)) for i, text in enumerate(captions)]
    plain = ReferenceSession(scorer)  # pyrefly: ignore[bad-argument-type]
    slow = dict(run_trajectories(scorer, encoded, exploring, session=plain))
    fast = dict(run_trajectories(scorer, encoded, exploring, live=4))
    for index in range(len(encoded)):
        assert_same_trajectory(fast[index], slow[index])


def test_every_explorer_matches_the_reference(scorer: Scorer) -> None:
    for exploring in WAYS[1::2] + WAYS[-1:]:  # lazy, by token, and both kinds of replacement
        assert_matches_the_reference(scorer, exploring)


@pytest.mark.nightly
def test_every_explorer_matches_the_reference_on_embedded_models(embedded: Scorer) -> None:
    for exploring in WAYS:
        assert_matches_the_reference(embedded, exploring)
