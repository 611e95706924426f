"""The drawn world's ClipCap: trained by maximum likelihood, then optionally by self-retrieval.

    python -m research.scenes.train_clipcap data/clipcap --self-retrieval

The sender encodes pictures with the embedded CLIP, another training's CLIP provides the reward, and
the third judges (`research.evaluation.captioning`), so that none of them judges itself. The
language model is a GPT-2 of the world's words, without pretraining. Captions are *ordinary*, like
COCO's, or *rich*, like the paper's holistic ones. Vectors are computed once; if interrupted, the
same command resumes.
"""

import argparse
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray

from backend.datasets.safe_files.regular_files import replacement
from backend.engine.scoring.loading import load_scorer
from backend.features.captioners.clipcap import ClipCap, load_clipcap
from backend.settings import MODELS
from research.bags_and_recall import picture_vectors
from research.captioning import checkpointing
from research.captioning.clipcap_policy import ClipCapPolicy
from research.captioning.curriculum import bag_curriculum
from research.captioning.likelihood import Likelihood, LikelihoodFigures, LikelihoodRecipe
from research.captioning.new_clipcap import assemble, load_vision
from research.captioning.self_retrieval import Receiver, Recipe, SelfRetrieval, StepFigures
from research.scenes.architecture import make_tokenizer
from research.scenes.grammar import describe
from research.scenes.labelled_bags import rich
from research.scenes.renderer import pictures_of
from research.scenes.world import Scene, make_scene

Kind = Literal["ordinary", "rich"]
Floats = NDArray[np.float32]

#: Does not overlap with the seeds of training, the demo and the evaluations.
SEED = 8_000_000_000
SENDER, RECEIVER = MODELS / "scenes-clip", MODELS / "seed-1" / "scenes-clip"
#: Captions per scene, as in COCO.
CAPTIONS = 5
#: Maximum number of tokens of a caption: the embedded models read no more.
LONGEST = 32
#: LoRA's rank in self-retrieval.
_RANK = 8


@dataclass(frozen=True)
class Shape:
    """Sizes of the model and of its training; the language model has 3 layers of width 128."""

    scenes: int = 12_000
    layers: int = 3
    width: int = 128
    heads: int = 4
    prefix_length: int = 4
    recipe: LikelihoodRecipe = field(
        default_factory=lambda: LikelihoodRecipe(3000, 64, 2e-3, warm_up=100)
    )


def scenes(count: int, seed: int) -> list[Scene]:
    rng = random.Random(SEED + 1_000_000 * seed)
    return [make_scene(rng) for _ in range(count)]


def references(of: Sequence[Scene], kind: Kind, seed: int) -> list[list[str]]:
    """`CAPTIONS` of each scene."""
    rng = random.Random(f"{kind} {seed}")
    write = describe if kind == "ordinary" else rich
    return [[write(scene, rng).text for _ in range(CAPTIONS)] for scene in of]


def vectors(of: Sequence[Scene], clip: Path, cache: Path) -> Floats:
    """Unit vectors [scenes, d] of the scenes' pictures, from the file `cache` if it has been
    written."""
    if cache.exists():
        with np.load(cache) as archive:
            cached_vectors: Floats = archive["vectors"]
        return cached_vectors
    new_vectors = picture_vectors(load_scorer(str(clip), "clip", "cpu"), pictures_of(of))
    cache.parent.mkdir(parents=True, exist_ok=True)
    with replacement(cache) as part, part.open("wb") as file:
        np.savez(file, vectors=new_vectors)
    return new_vectors


def untrained_model(shape: Shape, seed: int) -> ClipCap:
    """A ClipCap over the embedded CLIP, with a GPT-2 of random weights and the world's words."""
    from transformers import GPT2Config, GPT2LMHeadModel

    tokenizer = make_tokenizer()
    tokenizer.eos_token = "[SEP]"
    end = int(tokenizer.eos_token_id)
    torch.manual_seed(seed)
    language_model = GPT2LMHeadModel(
        GPT2Config(
            vocab_size=len(tokenizer), n_embd=shape.width, n_layer=shape.layers,
            n_head=shape.heads, n_positions=64, bos_token_id=end, eos_token_id=end,
            pad_token_id=int(tokenizer.pad_token_id), resid_pdrop=0.0, embd_pdrop=0.0,
            attn_pdrop=0.0,
        )
    )  # fmt: skip
    vision, processor = load_vision(str(SENDER))
    return assemble(vision, processor, language_model, tokenizer, shape.prefix_length, seed,
                    str(SENDER), "scenes")  # fmt: skip


def train(
    folder: Path,
    kind: Kind,
    seed: int = 0,
    shape: Shape = Shape(),
    report: Callable[[LikelihoodFigures], None] = lambda figures: None,
) -> Path:
    """Train by maximum likelihood and save to `folder`/KIND-SEED; return that folder, at once if it
    has been written."""
    out = folder / f"{kind}-{seed}"
    if (out / "model.safetensors").exists():
        return out
    sample = scenes(shape.scenes, seed)
    inputs = torch.from_numpy(vectors(sample, SENDER, folder / f"sender-{seed}-{shape.scenes}.npz"))
    captioner = untrained_model(shape, seed)
    training = Likelihood(
        ClipCapPolicy(captioner, LONGEST), lambda rows: inputs[list(rows)],
        [(row, text) for row, texts in enumerate(references(sample, kind, seed)) for text in texts],
        shape.recipe,
    )  # fmt: skip
    checkpoint = folder / f"{kind}-{seed}.pt"
    checkpointing.run(training, checkpoint, f"{kind} {seed} {shape}", report)
    captioner.save(out)
    return out


def fine_tune(
    folder: Path,
    kind: Kind,
    seed: int = 0,
    steps: int = 800,
    shape: Shape = Shape(),
    report: Callable[[StepFigures], None] = lambda figures: None,
) -> Path:
    """Fine-tune what `train` has written by self-retrieval (SR-L) with BagCurri, and save it to
    `folder`/KIND-SEED-self-retrieval; return that folder, at once if it has been written."""
    out = folder / f"{kind}-{seed}-self-retrieval"
    if (out / "model.safetensors").exists():
        return out
    sample = scenes(shape.scenes, seed)
    name = f"{seed}-{shape.scenes}.npz"
    inputs = torch.from_numpy(vectors(sample, SENDER, folder / f"sender-{name}"))
    pictures = vectors(sample, RECEIVER, folder / f"receiver-{name}")
    scorer = load_scorer(str(RECEIVER), "clip", "cpu")
    receiver = Receiver.of(scorer, pictures)
    recipe = Recipe(bag_curriculum(steps), min(100, shape.scenes), learning_rate=1e-4, seed=seed)
    policy = ClipCapPolicy(load_clipcap(folder / f"{kind}-{seed}"), LONGEST, _RANK, seed)
    near = receiver.neighbours(references(sample, kind, seed))
    training = SelfRetrieval(policy, receiver, lambda rows: inputs[list(rows)], near, recipe)
    checkpointing.run(training, out.with_suffix(".pt"), f"{kind} {seed} {shape} {steps}", report)
    policy.save(out)
    return out


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--captions", choices=["ordinary", "rich"], action="append")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--scenes", type=int, default=12_000)
    parser.add_argument("--self-retrieval", action="store_true", help="then fine-tune each")
    parser.add_argument("--self-retrieval-steps", type=int, default=800)
    args = parser.parse_args(arguments)
    recipe = LikelihoodRecipe(args.steps, 64, 2e-3, min(100, args.steps // 10))
    shape = Shape(args.scenes, recipe=recipe)
    for kind in args.captions or ["ordinary", "rich"]:

        def report(figures: LikelihoodFigures, kind: str = kind) -> None:
            if figures.step % 50 == 0:
                print(f"{kind}: step {figures.step} of {args.steps}, loss a token "
                      f"{figures.loss:.3f}", flush=True)  # fmt: skip

        out = train(args.folder, kind, args.seed, shape, report)
        print(f"{kind}: {out}", flush=True)
        if args.self_retrieval:

            def record_reward(figures: StepFigures, kind: str = kind) -> None:
                if figures.step % 10 == 0:
                    print(f"{kind}: step {figures.step}, reward {figures.reward:.3f}, "
                          f"{figures.words:.1f} tokens", flush=True)  # fmt: skip

            steps = args.self_retrieval_steps
            folder = fine_tune(args.folder, kind, args.seed, steps, shape, record_reward)
            print(f"{kind}: {folder}", flush=True)


if __name__ == "__main__":
    main()
