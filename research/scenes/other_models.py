"""Training of the captioner and CLIP, both initialised with the retrieval model's towers."""

from pathlib import Path
from typing import Any

import torch
from torch.nn import functional as F  # noqa: N812
from transformers import BlipForConditionalGeneration, CLIPModel

from research.scenes.architecture import make_captioner, make_clip, normalise
from research.scenes.examples import Examples
from research.scenes.training import (
    STOP,
    RetrievalLearner,
    Schedule,
    Tokens,
    contrast_loss,
    draw_batch,
    stack,
    train_loop,
    wrap,
)


def train_captioner(
    learner: RetrievalLearner,
    examples: Examples,
    held_out: Examples,
    schedule: Schedule,
    folder: Path,
    seed: int,
) -> BlipForConditionalGeneration:
    """Train on next-token prediction of true captions; the image tower is frozen."""
    torch.manual_seed(seed)
    model = make_captioner(learner.model)
    model.vision_model.requires_grad_(False)

    def losses_at(step: int) -> dict[str, torch.Tensor]:
        batch = draw_batch(examples, schedule.batch, step, seed + 1)
        return {"words": next_word_loss(model, batch.pixels, batch.whole)}

    def measure() -> dict[str, Any]:
        texts = [wrap([int(w) for w in row if w]) for row in held_out.words[:400, 0]]
        with torch.no_grad():
            pixels = normalise(torch.from_numpy(held_out.pixels[:400]))
            loss = next_word_loss(model, pixels, texts)
        return {"held_out_perplexity": round(float(loss.exp()), 3)}

    train_loop("captioner", model, schedule, folder, losses_at, measure)
    return model.eval()


def next_word_loss(
    model: BlipForConditionalGeneration, pixels: torch.Tensor, texts: list[Tokens]
) -> torch.Tensor:
    """Mean cross-entropy per token, including full stop and end token."""
    with torch.no_grad():
        states = model.vision_model(pixel_values=pixels).last_hidden_state
    dec = model.config.text_config.bos_token_id  # pyrefly: ignore[missing-attribute]
    ids, mask = stack([[dec, *text[1:-1], STOP, text[-1]] for text in texts])
    output = model.text_decoder(input_ids=ids, attention_mask=mask, encoder_hidden_states=states)
    logits = output.logits[:, :-1].float()
    target_mask = mask[:, 1:].bool()
    return F.cross_entropy(logits[target_mask], ids[:, 1:][target_mask])


def train_clip(
    learner: RetrievalLearner,
    examples: Examples,
    held_out: Examples,
    schedule: Schedule,
    folder: Path,
    seed: int,
) -> CLIPModel:
    """Train with the contrastive loss (`contrast_loss`) and distillation from the retrieval model.

    Distilling every patch state replaces the warm-up that BLIP's image tower had.
    """
    torch.manual_seed(seed)
    model = make_clip(learner.model)
    learner.eval().requires_grad_(False)

    def losses_at(step: int) -> dict[str, torch.Tensor]:
        batch = draw_batch(examples, schedule.batch, step, seed + 2)
        texts = [*batch.texts, *batch.own_false]
        images, vectors, patches = _vectors(model, batch.pixels, texts)
        with torch.no_grad():
            states = learner.see(batch.pixels)
            guide_images, guide_texts = learner.image_vectors(states), learner.text_vectors(texts)
        scale = model.logit_scale.exp().clamp(max=100)
        contrast, _ = contrast_loss(images, vectors, scale, batch)
        return {
            "patches": 2 * _distance(patches, states),
            "guide": 2 * (_distance(images, guide_images) + _distance(vectors, guide_texts)),
            "contrast": contrast,
        }

    def measure() -> dict[str, Any]:
        texts = [wrap([int(w) for w in row if w]) for row in held_out.words[:600, 0]]
        with torch.no_grad():
            images, vectors, _ = _vectors(
                model, normalise(torch.from_numpy(held_out.pixels[:600])), texts
            )
        similarity = images @ vectors.T
        first = (similarity.argmax(1) == torch.arange(len(texts))).float().mean()
        return {"recall_at_1_of_600": round(float(first), 3)}

    train_loop("clip", model, schedule, folder, losses_at, measure)
    return model.eval()


def _distance(vectors: torch.Tensor, guides: torch.Tensor) -> torch.Tensor:
    return 1 - F.cosine_similarity(vectors.float(), guides.float(), dim=-1).mean()


def _vectors(
    model: CLIPModel, pixels: torch.Tensor, texts: list[Tokens]
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Image vectors, text vectors, and the image tower's states before pooling."""
    ids, mask = stack(texts)
    image = model.vision_model(pixel_values=pixels)
    image_vectors = model.visual_projection(image.pooler_output)
    text_vectors = model.text_projection(
        model.text_model(input_ids=ids, attention_mask=mask).pooler_output
    )
    return (
        F.normalize(image_vectors.float(), dim=-1),
        F.normalize(text_vectors.float(), dim=-1),
        image.last_hidden_state,
    )
