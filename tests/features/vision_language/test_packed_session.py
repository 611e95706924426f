"""A vision-language model that computes nothing twice, against the whole model per caption."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from backend.engine.captions import Caption
from backend.engine.scoring.batch_memory import ACCELERATOR, CPU, Pace
from backend.engine.scoring.loading import load_scorer
from backend.engine.scoring.protocol import ImageState
from backend.engine.trajectories.driver import run_trajectories
from backend.engine.trajectories.exploring import Exploring
from backend.engine.trajectories.trajectory import Trajectory
from backend.features.vision_language.packed_session import PackedSession, PlainSession, is_exact
from backend.features.vision_language.vqa_checkpoints import VqaScorer
from research.scenes.vision_language import make_vision_language_model
from tests.checkpoints import drawn_pairs
from tests.engine.language_models import families

MODELS: dict[str, Callable[[Path], Path]] = {
    "Qwen2.5-VL": families.qwen2_5_vl,
    "Idefics3": families.idefics3,
    "InternVL": families.internvl,
    "LLaVA": lambda folder: make_vision_language_model(folder, width=48, layers=2),
}
EXPLORERS = (
    Exploring(),
    Exploring(unit="token", lazy=2),
    Exploring("gcd", steps=2, top=4, candidates=12, whole_words=False),
    Exploring("fast-gcd", steps=2, top=3),
)
CAPTIONS = ("A red dog, on a boat.", "", "dog dog 🐕")


def scorer_of(folder: Path, precision: str | None = None) -> VqaScorer:
    scorer = load_scorer(f"vqa:{folder}", None, "cpu", precision)
    assert isinstance(scorer, VqaScorer)
    return scorer


@pytest.fixture(scope="module", params=MODELS)
def scorer(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> VqaScorer:
    return scorer_of(MODELS[request.param](tmp_path_factory.mktemp("model")))


@pytest.fixture(params=[CPU, ACCELERATOR], ids=["one by one", "together"])
def pace(request: pytest.FixtureRequest, scorer: VqaScorer) -> Iterator[Pace]:
    """Pictures are read one by one, as on a CPU, or those of all pairs in a call."""
    before, scorer.pace = scorer.pace, request.param
    yield request.param
    scorer.pace = before


@pytest.fixture(scope="module")
def qwen(tmp_path_factory: pytest.TempPathFactory) -> VqaScorer:
    return scorer_of(families.qwen2_5_vl(tmp_path_factory.mktemp("qwen")))


def pairs_of(scorer: VqaScorer) -> list[tuple[ImageState, Caption]]:
    wide, square = [image for image, _ in drawn_pairs(2)]
    states = scorer.encode_images([wide.resize((180, 100)), square, wide, square])
    pairs = [(states[i % 3], Caption.parse(text)) for i, text in enumerate(CAPTIONS)]
    return [*pairs, (states[3], Caption.parse("a boat"))]  # takes the place of another


@pytest.fixture(scope="module")
def plain(scorer: VqaScorer) -> list[dict[int, Trajectory]]:
    """What each explorer finds where the whole model reads each caption."""
    pairs, session = pairs_of(scorer), PlainSession(scorer)
    return [dict(run_trajectories(scorer, pairs, each, session=session)) for each in EXPLORERS]


def test_every_explorer_gives_the_same_trajectories(
    scorer: VqaScorer, plain: list[dict[int, Trajectory]], pace: Pace
) -> None:
    pairs = pairs_of(scorer)
    assert isinstance(scorer.open_session(), PackedSession)
    for exploring, trajectories in zip(EXPLORERS, plain, strict=True):
        packed = dict(run_trajectories(scorer, pairs, exploring, live=3))
        for index, expected in trajectories.items():
            assert packed[index].removed == expected.removed
            assert packed[index].captions == expected.captions
            np.testing.assert_allclose(packed[index].scores, expected.scores, atol=1e-4)


def test_pictures_of_any_size_are_read_together(scorer: VqaScorer) -> None:
    wide, square = [image for image, _ in drawn_pairs(2)]
    states = scorer.encode_images([wide.resize((180, 100)), square])
    groups = [[state] for state in states]
    if states[0].shapes() == states[1].shapes():
        groups = [states]
    assert all(is_exact(scorer, group) for group in groups)


def test_pairs_in_flight_share_calls(qwen: VqaScorer) -> None:
    """A round of all pairs is one call, as long as little of it is padding."""
    assert qwen.shares_prefixes
    calls = Counter[int]()
    handle = qwen.model.register_forward_pre_hook(
        lambda module, args, inputs: calls.update([len(inputs["input_ids"])]), with_kwargs=True
    )
    states = qwen.encode_images([image for image, _ in drawn_pairs(3)])
    pairs = [(state, Caption.parse("a red dog on a boat")) for state in states]
    before, qwen.pace = qwen.pace, ACCELERATOR
    try:
        list(run_trajectories(qwen, pairs))
    finally:
        handle.remove()
        qwen.pace = before
    # The pictures, the whole caption and one round for each of its six words.
    assert calls == {3: 8}


@pytest.mark.parametrize(("whole", "mark"), [(False, 3), (True, 6)])
def test_a_caption_costs_a_few_plain_scores(qwen: VqaScorer, whole: bool, mark: float) -> None:
    """In tokens through the language model: the whole job over one plain score, for a picture of
    400 tokens (InternVL has 256, LLaVA 576, Qwen2.5-VL up to 729) and words of one token. The fewer
    a picture has, the more the captions' own tokens weigh."""
    drawn = [word for _, text in drawn_pairs(40) for word in text.split()]
    words = [word for word in drawn if len(qwen.reader.tokenise([f"a {word}"])[0]) == 2]
    state = qwen.encode_images([drawn_pairs(1, size=560)[0][0]])[0]
    exploring = replace(Exploring(), whole=whole)
    for count in (8, 12, 16, 20):
        caption = Caption.parse(" ".join(words[:count]))
        packed, plain = PackedSession(qwen), PlainSession(qwen)
        list(run_trajectories(qwen, [(state, caption)], exploring, session=packed))
        plain.score([(state, qwen.reader.tokenise([caption.text]))])
        assert packed.work.images == 1
        assert packed.work.tokens <= mark * plain.work.tokens


def test_gains_are_the_gradient_of_the_score(qwen: VqaScorer) -> None:
    """A small step of one token's embedding towards another's changes s by the gain."""
    state = qwen.encode_images([drawn_pairs(1)[0][0]])[0]
    (text,) = qwen.reader.tokenise(["a red dog"])
    session, table = PlainSession(qwen), qwen.model.get_input_embeddings().weight
    (gains,) = session.replacement_gains([(state, text)])
    others = {*state.ids[0].tolist(), *qwen.after}
    once = [i for i, token in enumerate(text) if text.count(token) == 1 and token not in others]
    for position, other in ((once[0], 400), (once[-1], 500)):
        before = table[text[position]].detach().clone()
        scores = []
        for step in (-1e-2, 1e-2):
            with torch.no_grad():
                table[text[position]] = before + step * table[other]
            scores.append(float(session.score([(state, [text])])[0][0]))
        with torch.no_grad():
            table[text[position]] = before
        slope = (scores[1] - scores[0]) / 2e-2
        assert gains[position, other] == pytest.approx(slope, rel=0.05, abs=1e-3)


class WithoutPositions(torch.nn.Module):
    """A model that counts positions itself, as some do: packed texts would be misread."""

    def __init__(self, inner: Any) -> None:
        super().__init__()
        self.inner = inner
        self.model, self.config = inner.model, inner.config
        self.dtype, self.device = inner.dtype, inner.device

    def forward(self, position_ids: Any = None, **inputs: Any) -> Any:
        return self.inner(**inputs)


def test_a_model_that_cannot_be_packed_reads_each_caption_by_itself(qwen: VqaScorer) -> None:
    other = replace(qwen, model=WithoutPositions(qwen.model))
    assert type(other.open_session()) is PlainSession
    requests = [(qwen.encode_images([drawn_pairs(1)[0][0]])[0], CAPTIONS)]
    np.testing.assert_allclose(other.score(requests)[0], qwen.score(requests)[0], atol=1e-4)


def test_half_precision_gives_nearly_the_same_scores(qwen: VqaScorer, tmp_path: Path) -> None:
    half = scorer_of(families.qwen2_5_vl(tmp_path), "bfloat16")
    assert half.info.precision == "bfloat16"
    assert isinstance(half.open_session(), PackedSession)
    requests = [(qwen.encode_images([drawn_pairs(1)[0][0]])[0], CAPTIONS)]
    np.testing.assert_allclose(half.score(requests)[0], qwen.score(requests)[0], atol=0.05)
