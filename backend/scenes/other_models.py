"""The captioner, which starts from the towers, and CLIP, which learns beside them."""

from pathlib import Path
from typing import Any

import torch
from torch.nn import functional as F  # noqa: N812
from transformers import BlipForConditionalGeneration, CLIPModel

from backend.scenes.architecture import make_captioner, make_clip, normalise
from backend.scenes.examples import Examples
from backend.scenes.tokenizer import INDEX
from backend.scenes.training import (
    STOP,
    RetrievalLearner,
    Schedule,
    Tokens,
    draw_batch,
    stack,
    train_loop,
    wrap,
)

_DEC = INDEX["[DEC]"]


def train_captioner(
    learner: RetrievalLearner,
    examples: Examples,
    held_out: Examples,
    schedule: Schedule,
    folder: Path,
    seed: int,
) -> BlipForConditionalGeneration:
    """Next-word prediction on true captions; the image tower stays as it is."""
    torch.manual_seed(seed)
    model = make_captioner(learner.model)
    model.vision_model.requires_grad_(False)

    def losses_at(step: int, progress: float) -> dict[str, torch.Tensor]:
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
    """Mean cross-entropy a word, the full stop and the end included."""
    with torch.no_grad():
        states = model.vision_model(pixel_values=pixels).last_hidden_state
    ids, mask = stack([[_DEC, *text[1:-1], STOP, text[-1]] for text in texts])
    output = model.text_decoder(input_ids=ids, attention_mask=mask, encoder_hidden_states=states)
    logits = output.logits[:, :-1].float()
    wanted = mask[:, 1:].bool()
    return F.cross_entropy(logits[wanted], ids[:, 1:][wanted])


def train_clip(
    learner: RetrievalLearner,
    examples: Examples,
    held_out: Examples,
    schedule: Schedule,
    folder: Path,
    seed: int,
) -> CLIPModel:
    """Contrast between true and false captions, and the retrieval model's vectors as a guide."""
    torch.manual_seed(seed)
    model = make_clip()
    learner.eval().requires_grad_(False)

    def losses_at(step: int, progress: float) -> dict[str, torch.Tensor]:
        batch = draw_batch(examples, schedule.batch, step, seed + 2)
        own = [text for text in batch.false_texts if text is not None]
        rows = [i for i, text in enumerate(batch.false_texts) if text is not None]
        every = [*batch.texts, *own]
        images, vectors = _vectors(model, batch.pixels, every)
        with torch.no_grad():
            guide_images = learner.image_vectors(learner.see(batch.pixels))
            guide_texts = learner.text_vectors(every)
        guide = 2 - (images * guide_images).sum(1).mean() - (vectors * guide_texts).sum(1).mean()
        scale = model.logit_scale.exp().clamp(max=100)
        texts, false = vectors[: len(batch.texts)], vectors[len(batch.texts) :]
        similarity = images @ texts.T * scale
        others = torch.from_numpy(batch.true_of) & ~torch.eye(len(texts), dtype=torch.bool)
        masked = similarity.masked_fill(others, -1e4)
        against = torch.full((len(texts), 1), -1e4)
        against[rows, 0] = (images[rows] * false).sum(1) * scale
        target = torch.arange(len(texts))
        contrast = F.cross_entropy(torch.cat([masked, against], 1), target)
        contrast = (contrast + F.cross_entropy(masked.T, target)) / 2
        return {"guide": 4 * guide, "contrast": contrast}

    def measure() -> dict[str, Any]:
        texts = [wrap([int(w) for w in row if w]) for row in held_out.words[:600, 0]]
        with torch.no_grad():
            images, vectors = _vectors(
                model, normalise(torch.from_numpy(held_out.pixels[:600])), texts
            )
        similarity = images @ vectors.T
        first = (similarity.argmax(1) == torch.arange(len(texts))).float().mean()
        return {"recall_at_1_of_600": round(float(first), 3)}

    train_loop("clip", model, schedule, folder, losses_at, measure)
    return model.eval()


def _vectors(
    model: CLIPModel, pixels: torch.Tensor, texts: list[Tokens]
) -> tuple[torch.Tensor, torch.Tensor]:
    ids, mask = stack(texts)
    seen = model.visual_projection(model.vision_model(pixel_values=pixels).pooler_output)
    read = model.text_projection(model.text_model(input_ids=ids, attention_mask=mask).pooler_output)
    return F.normalize(seen.float(), dim=-1), F.normalize(read.float(), dim=-1)
