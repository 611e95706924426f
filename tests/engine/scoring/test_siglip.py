"""A small SigLIP in Hugging Face format against its own forward pass."""

from pathlib import Path

import numpy as np
import pytest
import torch

import backend.engine.torchvision_compat  # noqa: F401  (before transformers' image processors)
from backend.engine.captions import Caption
from backend.engine.scoring.loading import load_scorer
from backend.engine.scoring.siglip import SiglipScorer
from backend.engine.trajectories.driver import run_trajectories
from backend.engine.trajectories.exploring import Exploring
from tests.checkpoints import drawn_pairs, random_siglip

LENGTH = 20


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return random_siglip(tmp_path_factory.mktemp("siglip"), length=LENGTH)


@pytest.fixture(scope="module")
def scorer(folder: Path) -> SiglipScorer:
    loaded = load_scorer(str(folder), None, "cpu")
    assert isinstance(loaded, SiglipScorer)
    assert loaded.info.kind == "siglip"
    return loaded


def test_scores_equal_the_models_own(scorer: SiglipScorer) -> None:
    image = drawn_pairs(1)[0][0]
    captions = ["a red dog", "", "A dog. " * 40, "two boats"]
    state = scorer.encode_images([image])[0]
    (scores,) = scorer.score([(state, captions)])
    tokenizer = scorer.reader.tokenizer  # pyrefly: ignore[missing-attribute]
    rows = [
        [*tokenizer(c, add_special_tokens=False)["input_ids"][: LENGTH - 1], tokenizer.eos_token_id]
        for c in captions
    ]
    ids = torch.tensor([[*row, *[tokenizer.pad_token_id] * (LENGTH - len(row))] for row in rows])
    with torch.no_grad():
        output = scorer.model(input_ids=ids, pixel_values=scorer.pixels([image]))
    # The model's own logits are an affine function of the cosine.
    wanted = (output.logits_per_image[0] - scorer.model.logit_bias) / scorer.model.logit_scale.exp()
    np.testing.assert_allclose(scores, wanted.detach().numpy(), atol=1e-5)


def test_explorers_work_with_siglip(scorer: SiglipScorer) -> None:
    image, text = drawn_pairs(1, seed=6)[0]
    state = scorer.encode_images([image])[0]
    for how in (Exploring(), Exploring("gcd", steps=2, top=5, candidates=6)):
        ((_, trajectory),) = run_trajectories(scorer, [(state, Caption.parse(text))], how)
        captions = [trajectory.caption_at(step) for step in range(trajectory.steps + 1)]
        assert len(trajectory.scores) == len(captions)
        if how.name == "elimination":
            np.testing.assert_allclose(
                trajectory.scores, scorer.score([(state, captions)])[0], atol=1e-5
            )


def test_words_beyond_the_context_are_not_counted_as_read(scorer: SiglipScorer) -> None:
    assert scorer.reader.words_read("dog " * 50) == LENGTH - 1
    assert scorer.reader.words_read("a dog") == 2
