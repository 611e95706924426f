"""BLIP's packed decoder gives the same result as transformers' decoder, for many images at once."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from backend.engine.captions import Caption
from backend.engine.correction.captioner import Captioner
from backend.engine.correction.captioner_loading import load_captioner
from backend.engine.correction.decoding import AskLikeliest, AskLikelihoods, AskNextWords
from backend.engine.correction.judge import proposals_of
from backend.engine.correction.packed_decoding import PackedDecoding
from backend.engine.correction.suggestion import CorrectionContext
from backend.engine.detection.types import SuspectWord
from backend.engine.trajectories.trajectory import Trajectory
from backend.settings import EMBEDDED_CAPTIONER
from research.bench.launches import accelerate
from research.bench.suggestion_speed import PlainDecoding, plain
from tests.checkpoints import drawn_pairs, random_captioner

TRAININGS = EMBEDDED_CAPTIONER.parent
EMBEDDED = [
    EMBEDDED_CAPTIONER,
    *(TRAININGS / f"seed-{seed}" / EMBEDDED_CAPTIONER.name for seed in (1, 2)),
]


def _random(seed: int) -> Callable[[Path], Path]:
    return lambda folder: random_captioner(folder, seed)


def _nightly(captioner: object) -> object:
    return pytest.param(captioner, marks=pytest.mark.nightly)


@pytest.fixture(
    scope="module",
    params=[EMBEDDED[0], _random(0), *map(_nightly, (*EMBEDDED[1:], _random(1)))],
)
def on_cpu(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Captioner:
    if isinstance(request.param, Path):
        return load_captioner(str(request.param))
    return load_captioner(str(request.param(tmp_path_factory.mktemp("captioner"))))


@pytest.fixture(scope="module", params=[False, True], ids=["cpu", "accelerator"])
def captioner(request: pytest.FixtureRequest, on_cpu: Captioner) -> Captioner:
    return accelerate(on_cpu) if request.param else on_cpu


PAIRS = drawn_pairs(5, seed=7)
#: Images of PAIRS out of order, with texts; some share a prefix, one is empty.
TEXTS = [
    (0, "A red dog."),
    (2, "A red boat by the sea"),
    (0, "A red dog on a mat"),
    (1, ""),
    (4, "Two cats under a very big tree in the snow beside a house"),
    (2, "A red boat"),
]


def test_every_step_equals_that_of_transformers(captioner: Captioner) -> None:
    """In rounds, so that later ones reuse prefixes of earlier ones."""
    memories = captioner.encode([image for image, _ in PAIRS])
    packed, slow = captioner.decoding(memories), PlainDecoding(plain(captioner), memories)
    assert isinstance(packed, PackedDecoding)
    tokens = [(image, sequence) for image, sequence in zip(
        [image for image, _ in TEXTS], captioner.tokens([text for _, text in TEXTS]), strict=True
    )]  # fmt: skip
    for prefixes in ([(i, sequence[:3]) for i, sequence in tokens[:2]], tokens[:4], tokens[::-1]):
        for fast, expected in zip(packed.steps(prefixes), slow.steps(prefixes), strict=True):
            torch.testing.assert_close(fast, expected, atol=1e-4, rtol=0)
    distinct = {
        (image, tuple(sequence[:n]))
        for image, sequence in tokens
        for n in range(1, len(sequence) + 1)
    }
    assert packed.session.computed == len(distinct), "no prefix is computed twice"


def test_answers_equal_those_of_plain_decoding(captioner: Captioner) -> None:
    memories = captioner.encode([image for image, _ in PAIRS])
    packed, slow = captioner.decoding(memories), PlainDecoding(plain(captioner), memories)
    words = [(0, AskNextWords(["A", "A red", ""], 9)), (3, AskNextWords(["Two cats"], 40))]
    fast_words, slow_words = packed.next_words(words), slow.next_words(words)
    for fast, expected in zip(fast_words, slow_words, strict=True):
        for of_prefix, expected_of_prefix in zip(fast, expected, strict=True):
            assert [w.word for w in of_prefix] == [w.word for w in expected_of_prefix]
            assert [w.log_p for w in of_prefix] == pytest.approx(
                [w.log_p for w in expected_of_prefix], abs=1e-4
            )
    texts = [(image, AskLikelihoods([text, f"{text} today"])) for image, text in TEXTS]
    np.testing.assert_allclose(
        packed.log_likelihoods(texts), slow.log_likelihoods(texts), atol=5e-4
    )
    likeliest = [
        (
            image,
            AskLikeliest(
                [f"{prefix} {w.word} by the sea" for w in words_after],
                [w.beginning for w in words_after],
                5,
            ),
        )
        for image, prefix, words_after in (
            (0, "A red", slow_words[0][1]),
            (3, "Two cats", slow_words[1][0]),
        )
    ]
    for fast_best, best in zip(packed.likeliest(likeliest), slow.likeliest(likeliest), strict=True):
        assert [i for i, _ in fast_best] == [i for i, _ in best]


def test_beam_search_gives_the_same_as_generate(captioner: Captioner) -> None:
    for prefix in ["", "A red"]:
        memories = captioner.encode([image for image, _ in drawn_pairs(3, seed=11)])
        prompt = captioner.tokens([prefix])[0][:-1]
        for longest in (20, 6):
            together = captioner.describe_all(memories, prefix, longest)
            alone = [
                captioner.texts(captioner.generate(memory, torch.tensor([prompt]), longest))[0]
                for memory in memories
            ]
            assert together == alone


def test_a_configured_generation_is_left_to_transformers(
    captioner: Captioner, monkeypatch: pytest.MonkeyPatch
) -> None:
    memories = captioner.encode([PAIRS[0][0]])
    assert captioner.has_plain_beam_search
    monkeypatch.setattr(captioner.model.text_decoder.generation_config, "min_length", 12)
    assert not captioner.has_plain_beam_search
    (described,) = captioner.describe_all(memories)
    assert len(captioner.tokens([described])[0]) >= 12


def _context(number: int, suspects: int) -> CorrectionContext:
    image, text = PAIRS[number]
    caption = Caption.parse(text)
    count = len(caption)
    trajectory = Trajectory(
        caption,
        np.linspace(0.9, 0.2, count + 1).astype(np.float32),
        np.ones(count + 1, np.float32),
        tuple(range(count)),
        np.zeros(count, np.float32),
    )
    spans = caption.spans[1 : 1 + 2 * suspects : 2]
    return CorrectionContext(image, None, trajectory, tuple(SuspectWord(*s, 0.9) for s in spans))


def test_batched_pairs_get_the_same_proposals_as_alone(captioner: Captioner) -> None:
    """With one and with two suspect words."""
    contexts = [_context(number, 1 + number) for number in range(2)]
    together = proposals_of(contexts, captioner)
    for context, proposals in zip(contexts, together, strict=True):
        assert list(proposals.items()) == list(proposals_of([context], plain(captioner))[0].items())
    assert sum(map(len, together)) > 12 * len(contexts) / 2
    assert all("described anew" in proposals.values() for proposals in together)
