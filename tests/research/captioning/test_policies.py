"""Each policy in the same training: it learns, and resumes bit for bit after a kill."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
import torch

from backend.engine.captioning.clipcap import load_clipcap
from backend.engine.correction.captioner_loading import load_captioner
from research.captioning.blip_policy import BlipPolicy
from research.captioning.clipcap_policy import ClipCapPolicy
from research.captioning.policy import Images, Policy
from research.captioning.self_retrieval import Receiver, Recipe, SelfRetrieval
from tests.checkpoints import drawn_pairs, random_captioner, random_clipcap

PICTURES, LONGEST = 4, 5
RECIPE = Recipe(
    [2, 2], batch=PICTURES, learning_rate=1e-3, length=4.0, baseline="greedy", cider=0.5, kl=0.1,
    teacher=0.5,
)  # fmt: skip
REFERENCES = [[text, f"{text} again"] for _, text in drawn_pairs(PICTURES, seed=3)]


def blip(folder: Path) -> tuple[Policy, Images]:
    loaded = load_captioner(str(folder))
    policy = BlipPolicy(loaded.model, loaded.processor, "both", rank=2, longest=LONGEST)
    return policy, policy.images_of([image for image, _ in drawn_pairs(PICTURES, seed=3)])


def clipcap(folder: Path) -> tuple[Policy, Images]:
    loaded = load_clipcap(folder)
    policy = ClipCapPolicy(loaded, longest=LONGEST)
    return policy, loaded.vectors([image for image, _ in drawn_pairs(PICTURES, seed=3)])


def seeing_clipcap(folder: Path) -> tuple[Policy, Images]:
    policy = ClipCapPolicy(load_clipcap(folder), longest=LONGEST, rank=2, side="both")
    return policy, policy.images_of([image for image, _ in drawn_pairs(PICTURES, seed=3)])


def embed(captions: Sequence[str]) -> np.ndarray:
    return np.array([[text.count(c) for c in "aeiou"] for text in captions], np.float32)


def training(policy: Policy, images: Images) -> SelfRetrieval:
    pictures = np.eye(5, dtype=np.float32)[:PICTURES]
    near = np.array([[j for j in range(PICTURES) if j != i] for i in range(PICTURES)])
    receiver = Receiver(pictures, embed, 5.0)
    return SelfRetrieval(
        policy, receiver, lambda rows: images[list(rows)], near, RECIPE, REFERENCES
    )


@pytest.mark.parametrize(
    ("write", "load"),
    [(random_captioner, blip), (random_clipcap, clipcap), (random_clipcap, seeing_clipcap)],
    ids=["BLIP", "ClipCap", "ClipCap, both sides"],
)
def test_a_killed_training_ends_with_the_same_weights(
    tmp_path: Path,
    write: Callable[[Path], Path],
    load: Callable[[Path], tuple[Policy, Images]],
) -> None:
    pytest.importorskip("pycocoevalcap")
    folder = write(tmp_path)
    whole = training(*load(folder))
    before = dict(whole.policy.state())
    (first,) = whole.steps(until=1)
    torch.save(whole.state(), tmp_path / "state.pt")
    (second,) = whole.steps()
    assert (first.step, second.step) == (1, 2)
    assert first.kl == pytest.approx(0, abs=1e-5)
    assert second.kl > 0, "it has moved"
    after = whole.policy.state()
    assert any(not torch.equal(before[name], after[name]) for name in after)
    resumed = training(*load(folder))
    resumed.restore(torch.load(tmp_path / "state.pt", weights_only=True))
    assert list(resumed.steps()) == [second]
    assert all(torch.equal(resumed.policy.state()[name], after[name]) for name in after)
