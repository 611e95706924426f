"""Distill a score into a small text encoder (ICC §2, A.2): each reconstruction, then the
combination of both.

The result is a sequence classifier with one output in Hugging Face format: `--concreteness FOLDER`
accepts it like the published one.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from backend.engine import hub

BATCH, LEARNING_RATE, EPOCHS = 32, 5e-5, 3
_LONGEST = 128


def distill(
    captions: Sequence[str],
    scores: Sequence[float],
    encoder: str,
    out: Path,
    epochs: int = EPOCHS,
    learning_rate: float = LEARNING_RATE,
    device: str = "cpu",
    seed: int = 0,
    progress: Callable[[int, int, str], None] = lambda done, total, what: None,
) -> list[float]:
    """Fine-tune `encoder` (hub name or directory, such as distilroberta-base) with mean squared
    error and write it to `out`. Returns the mean loss of each epoch. Raises ModelUnavailable."""
    model, tokenizer = _load(encoder, device, seed)
    optimiser = torch.optim.AdamW(model.parameters(), lr=learning_rate)
    order = torch.Generator().manual_seed(seed)
    steps = epochs * -(-len(captions) // BATCH)
    losses, done = [], 0
    model.train()
    for _ in range(epochs):
        epoch_losses = []
        shuffled = torch.randperm(len(captions), generator=order).tolist()
        for first in range(0, len(shuffled), BATCH):
            rows = shuffled[first : first + BATCH]
            inputs = tokenizer(
                [captions[row] for row in rows], padding=True, truncation=True,
                max_length=_LONGEST, return_tensors="pt",
            ).to(device)  # fmt: skip
            wanted = torch.tensor([scores[row] for row in rows], device=device)
            loss = torch.nn.functional.mse_loss(model(**inputs).logits[:, 0], wanted.float())
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            epoch_losses.append(float(loss.detach()))
            done += 1
            progress(done, steps, "Distilling")
        losses.append(sum(epoch_losses) / len(epoch_losses))
    model.eval().save_pretrained(out)
    tokenizer.save_pretrained(out)
    return losses


def _load(encoder: str, device: str, seed: int) -> tuple[Any, Any]:
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    torch.manual_seed(seed)
    what = "The text encoder"
    advice = "Give a directory or hub name, such as distilroberta-base."
    model = hub.load(
        AutoModelForSequenceClassification, encoder, what, advice,
        num_labels=1, problem_type="regression", dtype=torch.float32,
    )  # fmt: skip
    tokenizer = hub.load(AutoTokenizer, encoder, what, advice)
    return model.to(device), tokenizer
