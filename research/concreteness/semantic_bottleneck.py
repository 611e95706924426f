"""SBA: reconstruct a caption from its CLIP text embedding (ICC §2).

A trained linear layer maps the embedding to input embeddings of a frozen language model, which has
to reproduce the caption; CLIP's embedding keeps what pictures show and little else.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file

from backend.engine import hub
from backend.engine.model_fit import check_tokenizer
from research.concreteness.fidelity import edit_similarity

#: As published (§2, A.6).
BATCH, LEARNING_RATE, WARM_UP, EPOCHS, BEAMS = 128, 2e-3, 0.03, 2, 5
WEIGHT_DECAY = 0.0
_LONGEST = 64


@dataclass
class SemanticBottleneck:
    """`linear` maps CLIP's text embedding to `prefix` input embeddings of the language model."""

    clip: Any
    clip_tokenizer: Any
    model: Any
    tokenizer: Any
    linear: torch.nn.Linear
    prefix: int

    @torch.inference_mode()
    def vectors(self, captions: Sequence[str]) -> torch.Tensor:
        """CLIP's text embeddings as the model returns them, not normalised, shape [captions, d]."""
        inputs = self.clip_tokenizer(
            list(captions), padding=True, truncation=True, return_tensors="pt"
        ).to(self.model.device)
        output = self.clip.get_text_features(**inputs)
        output = getattr(output, "pooler_output", output)
        vectors: torch.Tensor = output.float()
        return vectors

    def inputs(self, vectors: torch.Tensor) -> torch.Tensor:
        """Shape [captions, prefix, width]."""
        width = self.model.get_input_embeddings().embedding_dim
        embeddings: torch.Tensor = self.linear(vectors).view(len(vectors), self.prefix, width)
        return embeddings

    @torch.inference_mode()
    def reconstruct(self, caption: str) -> list[str]:
        """BEAMS captions by beam search, likeliest first."""
        start = self.inputs(self.vectors([caption]).clone())
        tokens = self.model.generate(
            inputs_embeds=start,
            attention_mask=torch.ones(start.shape[:2], dtype=torch.long, device=start.device),
            num_beams=BEAMS, num_return_sequences=BEAMS, do_sample=False, max_new_tokens=_LONGEST,
            pad_token_id=self.tokenizer.pad_token_id, eos_token_id=self.tokenizer.eos_token_id,
        )  # fmt: skip
        texts = self.tokenizer.batch_decode(tokens, skip_special_tokens=True)
        return [text.strip() for text in texts]

    def save(self, path: Path) -> None:
        """Save the linear layer only; the other models are loaded by name."""
        save_file({"weight": self.linear.weight.detach(), "bias": self.linear.bias.detach()}, path)

    def restore(self, path: Path) -> None:
        self.linear.load_state_dict(load_file(path))


def load_semantic_bottleneck(
    clip: str, language_model: str, prefix: int = 1, device: str = "cpu", seed: int = 0
) -> SemanticBottleneck:
    """CLIP and a causal language model by hub name or directory, such as
    openai/clip-vit-large-patch14 and meta-llama/Llama-2-7b-hf. Raises ModelUnavailable."""
    from transformers import AutoModelForCausalLM, AutoTokenizer, CLIPModel

    what, advice = "The CLIP model", "Give a CLIP model by hub name or directory."
    text = hub.load(CLIPModel, clip, what, advice, dtype=torch.float32).to(device).eval()
    clip_tokenizer = hub.load(AutoTokenizer, clip, what, advice)
    check_tokenizer(clip, clip_tokenizer, int(text.config.text_config.vocab_size))
    what = "The language model"
    advice = "Give a causal language model by hub name or directory."
    model = hub.load(AutoModelForCausalLM, language_model, what, advice, dtype=torch.float32)
    tokenizer = hub.load(AutoTokenizer, language_model, what, advice)
    check_tokenizer(language_model, tokenizer, model.get_input_embeddings().num_embeddings)
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    model = model.to(device).eval().requires_grad_(False)
    width = model.get_input_embeddings().embedding_dim
    torch.manual_seed(seed)
    linear = torch.nn.Linear(text.config.projection_dim, prefix * width).to(device)
    return SemanticBottleneck(text, clip_tokenizer, model, tokenizer, linear, prefix)


def train(
    bottleneck: SemanticBottleneck,
    captions: Sequence[str],
    epochs: int = EPOCHS,
    batch: int = BATCH,
    learning_rate: float = LEARNING_RATE,
    seed: int = 0,
    progress: Callable[[int, int, str], None] = lambda done, total, what: None,
) -> list[float]:
    """Train the linear layer to reconstruct the captions (cross-entropy per token, AdamW without
    weight decay, cosine schedule with a warm-up). Returns the mean loss of each epoch."""
    from transformers import get_cosine_schedule_with_warmup

    order = torch.Generator().manual_seed(seed)
    steps = epochs * -(-len(captions) // batch)
    optimiser = torch.optim.AdamW(
        bottleneck.linear.parameters(), lr=learning_rate, weight_decay=WEIGHT_DECAY
    )
    schedule = get_cosine_schedule_with_warmup(optimiser, round(WARM_UP * steps), steps)
    losses, done = [], 0
    for _ in range(epochs):
        epoch_losses = []
        permutation = torch.randperm(len(captions), generator=order).tolist()
        for first in range(0, len(permutation), batch):
            part = [captions[row] for row in permutation[first : first + batch]]
            loss = _loss(bottleneck, part)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()
            epoch_losses.append(float(loss.detach()))
            done += 1
            progress(done, steps, "Training the semantic bottleneck")
        losses.append(sum(epoch_losses) / len(epoch_losses))
    return losses


def _loss(bottleneck: SemanticBottleneck, captions: Sequence[str]) -> torch.Tensor:
    end = bottleneck.tokenizer.eos_token or ""
    tokens = bottleneck.tokenizer(
        [caption + end for caption in captions], padding=True, truncation=True,
        max_length=_LONGEST, add_special_tokens=False, return_tensors="pt",
    ).to(bottleneck.model.device)  # fmt: skip
    start = bottleneck.inputs(bottleneck.vectors(captions).clone())
    words = bottleneck.model.get_input_embeddings()(tokens["input_ids"])
    start_mask = tokens["attention_mask"].new_ones(start.shape[:2])
    # The end-of-text token has to be learned, even if it is also the padding token.
    targets = tokens["input_ids"].masked_fill(tokens["attention_mask"] == 0, -100)
    answer = bottleneck.model(
        inputs_embeds=torch.cat([start, words.to(start.dtype)], dim=1),
        attention_mask=torch.cat([start_mask, tokens["attention_mask"]], dim=1),
        labels=torch.cat([start_mask * -100, targets], dim=1),
    )
    loss: torch.Tensor = answer.loss
    return loss


def through_vectors(
    captions: Sequence[str], bottleneck: SemanticBottleneck
) -> list[tuple[float, str]]:
    """(edit similarity, reconstruction) of each caption: the best of BEAMS."""
    best = []
    for caption in captions:
        candidates = bottleneck.reconstruct(caption)
        scores = edit_similarity([caption] * len(candidates), candidates)
        best.append(max(zip(scores, candidates, strict=True), key=lambda pair: pair[0]))
    return best
