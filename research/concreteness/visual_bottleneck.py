"""VBA: reconstruct a caption from a picture that is generated from it (ICC §2).

Visible content survives; everything else is lost. The picture comes from any diffusers
text-to-image model or, without one, from a gallery: the picture whose CLIP embedding is nearest to
the caption's. That is the same bottleneck, only coarser, and needs no image generation.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
from PIL import Image

from backend.engine import hub
from backend.engine.model_fit import check_tokenizer
from backend.engine.scoring.protocol import Scorer
from backend.errors import ModelMismatch
from research.concreteness.fidelity import meaning_similarity

#: As published (A.6): guidance and steps of the text-to-image model, beams of the captioner.
GUIDANCE, STEPS, BEAMS = 9.0, 20, 5
_LONGEST_CAPTION = 40


class TextToImage(Protocol):
    def draw(self, captions: Sequence[str], seed: int) -> list[Image.Image]:
        """One picture per caption, in order."""
        ...


@dataclass(frozen=True)
class Diffusion:
    """Any diffusers text-to-image pipeline."""

    pipeline: Any
    steps: int = STEPS

    def draw(self, captions: Sequence[str], seed: int) -> list[Image.Image]:
        generator = torch.Generator("cpu").manual_seed(seed)
        output = self.pipeline(
            list(captions), guidance_scale=GUIDANCE, num_inference_steps=self.steps,
            generator=generator, output_type="pil",
        )  # fmt: skip
        return [picture.convert("RGB") for picture in output.images]


@dataclass(frozen=True)
class Gallery:
    """Existing pictures, retrieved with a scorer that embeds pictures and texts."""

    scorer: Scorer
    pictures: Sequence[Image.Image]
    vectors: np.ndarray

    def draw(self, captions: Sequence[str], seed: int) -> list[Image.Image]:
        texts = self.scorer.text_embeddings(list(captions))
        return [self.pictures[int(row)] for row in (texts @ self.vectors.T).argmax(1)]


def load_diffusion(name: str, device: str = "cpu", steps: int = STEPS) -> Diffusion:
    """Load by hub name or directory, such as stabilityai/stable-diffusion-2. Raises
    ModelUnavailable."""
    from diffusers import DiffusionPipeline

    advice = "Give a directory or hub name, or gallery:FOLDER."
    pipeline = hub.load(
        DiffusionPipeline, name, "The text-to-image model", advice, use_safetensors=True
    ).to(device)
    pipeline.set_progress_bar_config(disable=True)
    return Diffusion(pipeline, steps)


def gallery_of(scorer: Scorer, pictures: Sequence[Image.Image]) -> Gallery:
    """Embed the pictures. Raises ModelMismatch if the scorer has no image embeddings."""
    vectors = scorer.image_embeddings(scorer.encode_images(list(pictures)))
    if vectors is None or not len(pictures):
        raise ModelMismatch("A gallery needs pictures, and a model that embeds them, such as CLIP.")
    return Gallery(scorer, pictures, np.asarray(vectors))


@dataclass(frozen=True)
class PictureCaptioner:
    """Any model that `AutoModelForImageTextToText` loads: BLIP, BLIP-2, GIT and chat models."""

    model: Any
    processor: Any

    @torch.inference_mode()
    def describe(self, picture: Image.Image) -> list[str]:
        """BEAMS captions by beam search, likeliest first."""
        inputs = self._inputs(picture).to(self.model.device, dtype=self.model.dtype)
        tokens = self.model.generate(
            **inputs, num_beams=BEAMS, num_return_sequences=BEAMS, do_sample=False,
            max_new_tokens=_LONGEST_CAPTION,
        )  # fmt: skip
        if "input_ids" in inputs and tokens.shape[1] > inputs["input_ids"].shape[1]:
            start = tokens[:, : inputs["input_ids"].shape[1]]
            if bool((start == inputs["input_ids"]).all()):
                tokens = tokens[:, start.shape[1] :]
        texts = self.processor.batch_decode(tokens, skip_special_tokens=True)
        return [text.strip() for text in texts]

    def _inputs(self, picture: Image.Image) -> Any:
        if not getattr(self.processor, "chat_template", None):
            return self.processor(images=picture, return_tensors="pt")
        content = [{"type": "image", "image": picture},
                   {"type": "text", "text": "Describe this image in one sentence."}]  # fmt: skip
        return self.processor.apply_chat_template(
            [{"role": "user", "content": content}], add_generation_prompt=True, tokenize=True,
            return_dict=True, return_tensors="pt",
        )  # fmt: skip


def load_picture_captioner(name: str, device: str = "cpu") -> PictureCaptioner:
    """Load by hub name or directory, such as Salesforce/blip2-opt-2.7b. Raises ModelUnavailable."""
    from transformers import AutoModelForImageTextToText, AutoProcessor

    what = "The captioner"
    advice = "Give a directory or hub name, such as Salesforce/blip-image-captioning-base."
    model = hub.load(AutoModelForImageTextToText, name, what, advice, dtype=torch.float32)
    processor = hub.load(AutoProcessor, name, what, advice)
    check_tokenizer(name, processor.tokenizer, model.get_input_embeddings().num_embeddings)
    return PictureCaptioner(model.to(device).eval(), processor)


def through_pictures(
    captions: Sequence[str],
    text_to_image: TextToImage,
    captioner: PictureCaptioner,
    encoder: str | None = None,
    seed: int = 0,
) -> list[tuple[float, str]]:
    """(BERTScore F1, reconstruction) of each caption: the best of BEAMS."""
    best = []
    for number, caption in enumerate(captions):
        (picture,) = text_to_image.draw([caption], seed + number)
        descriptions = captioner.describe(picture)
        scores = meaning_similarity([caption] * len(descriptions), descriptions, encoder)
        best.append(max(zip(scores, descriptions, strict=True), key=lambda pair: pair[0]))
    return best
