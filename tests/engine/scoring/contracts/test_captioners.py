"""Each family of captioners: the same probabilities as its library's own call, and spans in the
caption."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from backend.engine.correction.captioner import Captioner
from backend.engine.correction.captioner_loading import load_captioner
from backend.features.captioners.clipcap import load_clipcap
from tests.checkpoints import drawn_pairs, random_clipcap, random_vision_to_text
from tests.engine.scoring.contracts import checkpoints
from tests.engine.scoring.contracts.captions import CAPTIONS

#: Log-probabilities of a caption's own tokens, shape [tokens], by a model's own library.
PlainCall = Callable[[str, Image.Image, str], torch.Tensor]
SHORT = [caption for caption in CAPTIONS if caption.strip() and len(caption) < 200]


def _of_tokens(logits: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
    """`logits` [tokens, vocabulary] of the positions before each of `tokens`."""
    return logits.log_softmax(-1).gather(1, tokens[:, None])[:, 0]


def by_blip(model: str, image: Image.Image, caption: str) -> torch.Tensor:
    from transformers import BlipForConditionalGeneration, BlipProcessor

    processor: Any = BlipProcessor.from_pretrained(model)
    inputs = processor(images=image, text=caption, return_tensors="pt")
    inputs["input_ids"][:, 0] = checkpoints.DECODER
    logits = BlipForConditionalGeneration.from_pretrained(model)(**inputs).logits[0]
    return _of_tokens(logits[:-2], inputs["input_ids"][0, 1:-1])


def by_vision_to_text(model: str, image: Image.Image, caption: str) -> torch.Tensor:
    from transformers import AutoImageProcessor, AutoTokenizer, VisionEncoderDecoderModel

    plain = VisionEncoderDecoderModel.from_pretrained(model)
    tokenizer: Any = AutoTokenizer.from_pretrained(model)
    processor: Any = AutoImageProcessor.from_pretrained(model)
    tokens = tokenizer(caption, return_tensors="pt", add_special_tokens=False)["input_ids"][0]
    first = torch.tensor([plain.generation_config.decoder_start_token_id])
    logits = plain(
        pixel_values=processor(images=image, return_tensors="pt")["pixel_values"],
        decoder_input_ids=torch.cat([first, tokens])[None],
    ).logits[0]
    return _of_tokens(logits[: len(tokens)], tokens)


def by_clipcap(model: str, image: Image.Image, caption: str) -> torch.Tensor:
    """Mokady et al. 2021: the prefix network's vectors before the caption's embeddings."""
    made = load_clipcap(model)
    tokens = made.tokenizer(caption, return_tensors="pt")["input_ids"][0]
    pixels = made.image_processor(images=image, return_tensors="pt")["pixel_values"]
    language_model = made.model.language_model
    vector = torch.nn.functional.normalize(made.model.vision(pixel_values=pixels).image_embeds)
    prefix = made.model.prefix(vector * vector.shape[1] ** 0.5).view(
        1, made.model.prefix_length, -1
    )
    words = language_model.get_input_embeddings()(tokens)[None]
    logits = language_model(inputs_embeds=torch.cat([prefix, words], 1)).logits[0]
    return _of_tokens(logits[made.model.prefix_length - 1 : -1], tokens)


PUBLISHED: dict[str, tuple[Callable[[Path], Path], PlainCall]] = {
    "blip": (checkpoints.blip_captioner, by_blip),
    "vision-to-text": (random_vision_to_text, by_vision_to_text),
    "clipcap": (random_clipcap, by_clipcap),
}


@dataclass
class Contract:
    name: str
    captioner: Captioner
    plain: PlainCall


@pytest.fixture(scope="module", params=PUBLISHED)
def contract(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Contract:
    make, plain = PUBLISHED[request.param]
    model = str(make(tmp_path_factory.mktemp("published")))
    return Contract(model, load_captioner(model), plain)


def test_probabilities_are_those_of_the_library(contract: Contract) -> None:
    image = drawn_pairs(1)[0][0]
    memory = contract.captioner.see(image)
    readings = contract.captioner.read([memory] * len(SHORT), SHORT)
    for caption, reading in zip(SHORT, readings, strict=True):
        with torch.no_grad():
            wanted = contract.plain(contract.name, image, caption).numpy()
        np.testing.assert_allclose(reading.log_p, wanted[: len(reading.log_p)], atol=1e-4)
        assert len(reading.log_p) >= min(len(wanted), 40)


def test_spans_are_in_the_users_text(contract: Contract) -> None:
    image = drawn_pairs(1)[0][0]
    memory = contract.captioner.see(image)
    captions = list(CAPTIONS)
    readings = contract.captioner.read([memory] * len(captions), captions)
    for caption, reading in zip(captions, readings, strict=True):
        spans = list(reading.spans)
        assert spans == sorted(spans)
        assert all(0 <= start <= end <= len(caption) for start, end in spans)
        covered = "".join("".join(caption[start:end] for start, end in spans).split())
        if caption.isascii() and caption in SHORT:
            assert covered == "".join(caption.split())
