"""A small SigLIP in the hub's form against its own forward."""

from pathlib import Path

import numpy as np
import pytest
import torch

import backend.torchvision_compat  # noqa: F401  (before transformers' image processors)
from backend.captions import Caption
from backend.scenes.tokenizer import make_tokenizer
from backend.scoring.loading import load_scorer
from backend.scoring.siglip import SiglipScorer
from backend.trajectories.driver import run_trajectories
from backend.trajectories.exploring import Exploring
from tests.checkpoints import drawn_pairs

LENGTH = 20


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from transformers import SiglipConfig, SiglipImageProcessor, SiglipModel

    folder = tmp_path_factory.mktemp("siglip")
    tokenizer = make_tokenizer()
    tokenizer.eos_token = "[SEP]"
    size = {"hidden_size": 48, "intermediate_size": 96, "num_hidden_layers": 2}
    text = {
        **size, "num_attention_heads": 2, "vocab_size": len(tokenizer),
        "max_position_embeddings": LENGTH, "projection_size": 48,
    }  # fmt: skip
    vision = {**size, "num_attention_heads": 2, "image_size": 48, "patch_size": 16}
    torch.manual_seed(1)
    SiglipModel(SiglipConfig(text_config=text, vision_config=vision)).save_pretrained(folder)
    SiglipImageProcessor(size={"height": 48, "width": 48}).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def scorer(folder: Path) -> SiglipScorer:
    loaded = load_scorer(str(folder), None, "cpu")
    assert isinstance(loaded, SiglipScorer)
    assert loaded.info.kind == "siglip"
    return loaded


def test_scores_are_the_models_own(scorer: SiglipScorer) -> None:
    image = drawn_pairs(1)[0][0]
    captions = ["a red dog", "", "A dog. " * 40, "two boats"]
    state = scorer.encode_images([image])[0]
    (found,) = scorer.score([(state, captions)])
    tokenizer = scorer.reader.tokenizer  # type: ignore[attr-defined]
    rows = [
        [*tokenizer(c, add_special_tokens=False)["input_ids"][: LENGTH - 1], tokenizer.eos_token_id]
        for c in captions
    ]
    ids = torch.tensor([[*row, *[tokenizer.pad_token_id] * (LENGTH - len(row))] for row in rows])
    with torch.no_grad():
        output = scorer.model(input_ids=ids, pixel_values=scorer.pixels([image]))
    # The model's own logits are a line through the cosine.
    wanted = (output.logits_per_image[0] - scorer.model.logit_bias) / scorer.model.logit_scale.exp()
    np.testing.assert_allclose(found, wanted.detach().numpy(), atol=1e-5)


def test_every_explorer_goes_on_it(scorer: SiglipScorer) -> None:
    image, text = drawn_pairs(1, seed=6)[0]
    state = scorer.encode_images([image])[0]
    for how in (Exploring(), Exploring("gcd", steps=2, top=5, candidates=6)):
        ((_, found),) = run_trajectories(scorer, [(state, Caption.parse(text))], how)
        captions = [found.caption_at(step) for step in range(found.steps + 1)]
        assert len(found.scores) == len(captions)
        if how.name == "elimination":
            np.testing.assert_allclose(
                found.scores, scorer.score([(state, captions)])[0], atol=1e-5
            )


def test_a_long_caption_says_how_much_is_read(scorer: SiglipScorer) -> None:
    assert scorer.reader.words_read("dog " * 50) == LENGTH - 1
    assert scorer.reader.words_read("a dog") == 2
