"""Captions with a common prefix are read together, with the same results as one by one."""

from collections.abc import Sequence

import pytest
import torch

from backend.engine.correction.captioner import Captioner
from backend.engine.correction.captioner_loading import load_captioner
from backend.engine.correction.decoding import AskLikeliest, Beginning, Ranked
from tests.checkpoints import drawn_pairs, random_captioner, random_vision_to_text

CAPTIONS = [
    "A dog.", "A dog on a mat.", "A dog on a red mat.", "A cat on a mat.", "", "A dog on a mat.",
    "Two boats by the sea.", "A dog beside two boats by the sea on a sunny day.",
]  # fmt: skip


@pytest.fixture(scope="module", params=[random_captioner, random_vision_to_text])
def captioner(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Captioner:
    return load_captioner(str(request.param(tmp_path_factory.mktemp("captioner"))))


def likeliest_of(
    captioner: Captioner,
    memory: torch.Tensor,
    captions: Sequence[str],
    beginnings: Sequence[Beginning],
    count: int,
) -> Ranked:
    request = AskLikeliest(captions, beginnings, count)
    return captioner.decoding([memory]).likeliest([(0, request)])[0]


@torch.inference_mode()
def one_by_one(captioner: Captioner, memory: torch.Tensor, caption: str) -> float:
    """The naive way: each token after all preceding ones, no caption batched with another."""
    (tokens,) = captioner.tokens([caption])
    steps = captioner.logits(memory, [tokens])[0].log_softmax(-1)
    return sum(float(steps[i, token]) for i, token in enumerate(tokens[1:]))


def test_likelihoods_equal_those_computed_one_by_one(captioner: Captioner) -> None:
    memory = captioner.see(drawn_pairs(1)[0][0])
    together = captioner.log_likelihoods(memory, CAPTIONS)
    alone = [one_by_one(captioner, memory, caption) for caption in CAPTIONS]
    assert together == pytest.approx(alone, abs=1e-3)
    assert together[1] == together[5]


def test_pruning_keeps_the_likeliest_captions(captioner: Captioner) -> None:
    """Captions skipped because of their beginning would not have been among the likeliest."""
    memory = captioner.see(drawn_pairs(1)[0][0])
    captions, beginnings = [], []
    prefixes = ["A dog on a", "Two", ""]
    for prefix, words in zip(prefixes, captioner.next_words(memory, prefixes, 40), strict=True):
        captions += [f"{prefix} {word.word} by the sea.".strip() for word in words]
        beginnings += [word.beginning for word in words]
    assert len(captions) > 64
    values = captioner.log_likelihoods(memory, captions)
    best = sorted(range(len(captions)), key=lambda i: -values[i])[:5]
    likeliest = likeliest_of(captioner, memory, captions, beginnings, 5)
    assert [i for i, _ in likeliest] == best
    assert [value for _, value in likeliest] == pytest.approx([values[i] for i in best], abs=1e-3)
    # A beginning that is not the caption's own excludes nothing.
    wrong = [Beginning((-1,), -1e9)] * len(captions)
    assert [i for i, _ in likeliest_of(captioner, memory, captions, wrong, 5)] == best
    assert likeliest_of(captioner, memory, [], [], 5) == []


def test_batched_descriptions_equal_single_ones(captioner: Captioner) -> None:
    images = [image for image, _ in drawn_pairs(4, seed=3)]
    together = captioner.describe_all(captioner.encode(images), max_new_tokens=12)
    assert together == [captioner.describe(image, max_new_tokens=12) for image in images]
    assert captioner.describe_all([]) == []
