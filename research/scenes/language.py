"""A very small causal language model of captions, trained in minutes: GPT-2 in the Hub's format.

The ICC pipeline needs a language model that writes captions. If no published one is available, this
one writes captions of drawn scenes and, less well, of web images (`engine/concreteness`).

    python -m research.scenes.language data/small-lm
"""

import argparse
import random
from pathlib import Path

import torch

from research.concreteness.fit_embedded import read_captions
from research.scenes.byte_pairs import byte_pair_tokenizer
from research.scenes.grammar import describe
from research.scenes.world import make_scene

_BATCH, _LONGEST = 64, 48


def captions(count: int, seed: int = 0) -> list[str]:
    """`count` captions of drawn scenes, and a third as many of the web, drawn with replacement."""
    rng = random.Random(seed)
    drawn = [describe(make_scene(rng), rng).text for _ in range(count)]
    known, _ = read_captions()
    mixed = [*drawn, *rng.choices(known, k=count // 3)]
    rng.shuffle(mixed)
    return mixed


def make_language_model(
    folder: Path, count: int = 20_000, epochs: int = 2, width: int = 128, seed: int = 0
) -> list[float]:
    """Train from scratch and save to `folder`; return the mean loss of each epoch."""
    from transformers import GPT2Config, GPT2LMHeadModel

    texts = captions(count, seed)
    tokenizer = byte_pair_tokenizer(texts, 2000, ["<pad>", "<end>"], "<end>")
    torch.manual_seed(seed)
    model = GPT2LMHeadModel(
        GPT2Config(
            vocab_size=len(tokenizer), n_embd=width, n_layer=3, n_head=4, n_positions=128,
            bos_token_id=1, eos_token_id=1, pad_token_id=0,
        )
    )  # fmt: skip
    optimiser = torch.optim.AdamW(model.parameters(), lr=2e-3)
    steps = epochs * -(-len(texts) // _BATCH)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, 2e-3, total_steps=steps)
    losses = []
    for _ in range(epochs):
        epoch_losses = []
        for first in range(0, len(texts), _BATCH):
            tokens = tokenizer(
                [f"<end>{text}<end>" for text in texts[first : first + _BATCH]],
                padding=True, truncation=True, max_length=_LONGEST, return_tensors="pt",
            )  # fmt: skip
            labels = tokens["input_ids"].masked_fill(tokens["attention_mask"] == 0, -100)
            loss = model(**tokens, labels=labels).loss
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()
            epoch_losses.append(float(loss.detach()))
        losses.append(sum(epoch_losses) / len(epoch_losses))
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return losses


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    losses = make_language_model(args.folder, args.count, args.epochs, seed=args.seed)
    print(f"{args.folder}: loss a token {', '.join(f'{loss:.2f}' for loss in losses)}")


if __name__ == "__main__":
    main()
