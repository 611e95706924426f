"""LoRA fine-tuning of a small vision-language model on accepted corrections.

TRACED (ICLR 2026) distills InternVL3-14B's guided corrections into InternVL3-1B. An example is the
same question that a corrector is asked (`prompting`) with its target answer, so the trained model
works with `--vlm` as is.
"""

import json
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from backend.datasets.safe_files.regular_files import replacement
from backend.engine.language_models.chat_model import Question
from backend.features.vision_language.local import LocalVisionLanguageModel, as_inputs, conversation
from research.lora import with_lora


@dataclass(frozen=True)
class Example:
    """A question and its target answer."""

    question: Question
    answer: str


@dataclass(frozen=True)
class Recipe:
    """`rank`, `alpha`: LoRA parameters, for all linear layers. `train_also`: modules trained in
    full, as a model without pretraining needs (its embeddings and its head)."""

    rank: int = 16
    alpha: int = 32
    epochs: int = 3
    learning_rate: float = 2e-4
    batch: int = 8
    train_also: tuple[str, ...] = ()
    seed: int = 0


def answer_of(caption: str) -> str:
    """The answer to an unguided, word-guided or trajectory-guided question."""
    return json.dumps({"caption": caption}, ensure_ascii=False)


def fine_tune(
    student: LocalVisionLanguageModel,
    examples: Sequence[Example],
    out: Path,
    recipe: Recipe = Recipe(),
    progress: Callable[[int, int, str], None] = lambda done, total, what: None,
) -> list[float]:
    """Train, and write `out/adapter` (LoRA alone) and `out/model` (merged, for --vlm).

    Returns the mean loss per token of each epoch. Raises ModelUnavailable if the package peft is
    not installed.
    """
    torch.manual_seed(recipe.seed)
    model = with_lora(
        student.model, recipe.rank, recipe.alpha, "all-linear", train_also=recipe.train_also
    )
    parameters = [weights for weights in model.parameters() if weights.requires_grad]
    optimiser = torch.optim.AdamW(parameters, lr=recipe.learning_rate)
    steps = recipe.epochs * -(-len(examples) // recipe.batch)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimiser, recipe.learning_rate, total_steps=max(2, steps), pct_start=0.1
    )
    order = random.Random(recipe.seed)
    losses, done = [], 0
    model.train()
    for _ in range(recipe.epochs):
        permutation = list(examples)
        order.shuffle(permutation)
        total = count = 0.0
        for first in range(0, len(permutation), recipe.batch):
            part = permutation[first : first + recipe.batch]
            tokens = [_tokens(student.processor, example, student.model.device) for example in part]
            token_count = sum(int((labels != -100).sum()) for _, labels in tokens)
            optimiser.zero_grad()
            # One by one: pictures of equal size may still have different numbers of tokens.
            for inputs, labels in tokens:
                loss = model(**inputs, labels=labels).loss * int((labels != -100).sum())
                (loss / token_count).backward()
                total += float(loss.detach())
            torch.nn.utils.clip_grad_norm_(parameters, 1.0)
            optimiser.step()
            schedule.step()
            count += token_count
            done += 1
            progress(done, steps, "Training the small corrector")
        losses.append(total / max(1.0, count))
    model.eval()
    model.save_pretrained(str(out / "adapter"))
    student.model = model.merge_and_unload()
    student.model.save_pretrained(out / "model")
    student.processor.save_pretrained(out / "model")
    return losses


def _tokens(processor: Any, example: Example, device: Any) -> tuple[dict[str, Any], torch.Tensor]:
    """Inputs for the whole exchange, and labels for the answer only."""
    prompt = as_inputs(processor, conversation(example.question))
    whole = as_inputs(processor, conversation(example.question, example.answer)).to(device)
    labels = whole["input_ids"].clone()
    labels[:, : prompt["input_ids"].shape[1]] = -100
    return dict(whole), labels


def write_instructions(examples: Sequence[Example], folder: Path) -> Path:
    """Write the instruction-tuning set for other trainers: JSON Lines, one example per line, with
    the pictures in `images/`. Returns the file's path."""
    (folder / "images").mkdir(parents=True, exist_ok=True)
    path = folder / "instructions.jsonl"
    with replacement(path) as part, part.open("w", encoding="utf-8") as file:
        for number, example in enumerate(examples):
            name = f"images/{number:06d}.jpg"
            with replacement(folder / name, is_flushed=False) as picture:
                picture.write_bytes(example.question.image or b"")
            messages = [
                {"role": "system", "content": example.question.system},
                {"role": "user", "content": f"<image>{example.question.user}"},
                {"role": "assistant", "content": example.answer},
            ]
            line = {"images": [name], "messages": messages}
            file.write(json.dumps(line, ensure_ascii=False) + "\n")
    return path
