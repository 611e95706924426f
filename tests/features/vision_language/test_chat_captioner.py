"""A vision-language model as a captioner, against the library's reading of the conversation."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from backend.engine.correction.captioner_loading import load_captioner
from backend.engine.correction.decoding import AskLikeliest, Beginning
from backend.engine.expectation import expectations
from backend.features.vision_language.caption_question import Description
from backend.features.vision_language.chat_captioner import ChatCaptioner
from research.scenes.vision_language import make_vision_language_model
from tests.checkpoints import drawn_pairs
from tests.engine.language_models import families

MODELS: dict[str, Callable[[Path], Path]] = {
    "Qwen2.5-VL": families.qwen2_5_vl,
    "Idefics3": families.idefics3,
    "LLaVA": lambda folder: make_vision_language_model(folder, width=48, layers=2),
}
CAPTIONS = ("A red dog, on a boat.", "Two people!", "the dog the dog 🐕", "A red dog")


@pytest.fixture(scope="module", params=MODELS)
def captioner(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> ChatCaptioner:
    folder = MODELS[request.param](tmp_path_factory.mktemp("model"))
    captioner = load_captioner(f"vqa:{folder}")
    assert isinstance(captioner, ChatCaptioner)
    return captioner


def by_the_library(name: str, image: Image.Image, caption: str, count: int) -> torch.Tensor:
    """log p of the answer's `count` tokens and of the one that ends the turn."""
    from transformers import AutoModelForImageTextToText, AutoProcessor

    processor: Any = AutoProcessor.from_pretrained(name.removeprefix("vqa:"))
    plain = AutoModelForImageTextToText.from_pretrained(name.removeprefix("vqa:"))

    def read(turns: Sequence[dict[str, Any]], prompted: bool) -> Any:
        return processor.apply_chat_template(
            list(turns), tokenize=True, return_dict=True, return_tensors="pt",
            add_generation_prompt=prompted,
        )  # fmt: skip

    turns = Description().turns(image, caption)
    inputs = read(turns, False)
    begin = read(turns[:1], True)["input_ids"].shape[1]
    ids = inputs["input_ids"][0]
    with torch.no_grad():
        log_p = plain(**inputs).logits[0].log_softmax(-1)
    end = begin + count + 1
    return log_p[begin - 1 : end - 1].gather(1, ids[begin:end, None])[:, 0]


def test_every_word_has_the_librarys_probability(captioner: ChatCaptioner) -> None:
    image = drawn_pairs(1)[0][0]
    memory = captioner.encode([image])[0]
    readings = captioner.read([memory] * len(CAPTIONS), CAPTIONS)
    totals = captioner.log_likelihoods(memory, CAPTIONS)
    for caption, reading, total in zip(CAPTIONS, readings, totals, strict=True):
        expected = by_the_library(captioner.name, image, caption, len(reading.log_p)).numpy()
        np.testing.assert_allclose(reading.log_p, expected[:-1], atol=1e-4)
        assert total == pytest.approx(expected.sum(), abs=1e-3)
        assert caption[slice(*reading.spans[-1])].strip()


def test_words_have_expectations_and_alternatives(captioner: ChatCaptioner) -> None:
    image = drawn_pairs(1)[0][0]
    (expectation,) = expectations(captioner, [(image, CAPTIONS[0])])
    assert len(expectation.log_p) == 6
    assert expectation.captioner == captioner.identity
    assert captioner.identity.isalnum()
    ((likeliest, *_),) = captioner.next_words(captioner.encode([image])[0], ["A red"], 3)
    assert likeliest.word.isalnum()
    with_it = captioner.log_likelihoods(
        captioner.encode([image])[0], [f"A red {likeliest.word}", "A red boat"]
    )
    assert likeliest.beginning.log_p > min(with_it)


def test_the_likeliest_captions_are_found(captioner: ChatCaptioner) -> None:
    memories = captioner.encode([drawn_pairs(1)[0][0]])
    begin = Beginning((captioner.end,), 0.0)
    request = AskLikeliest(CAPTIONS, [begin] * len(CAPTIONS), 2)
    (ranked,) = captioner.decoding(memories).likeliest([(0, request)])
    values = captioner.log_likelihoods(memories[0], CAPTIONS)
    assert [i for i, _ in ranked] == sorted(range(4), key=lambda i: -values[i])[:2]


def test_a_description_continues_its_prefix(captioner: ChatCaptioner) -> None:
    image = drawn_pairs(1)[0][0]
    assert captioner.describe(image, "A red dog", 4).startswith("A red dog")
    assert isinstance(captioner.describe(image, "", 4), str)
