"""Train the drawn world's BLIP to read another language: `python -m research.scenes.train_wording`

The pictures are those of the English model, whose image tower stays as it is, so that its states
are computed once; the text part goes on from the English one with new vectors for its words. ITC
and ITM, as in the last stage of `train`. If interrupted, the same command resumes.
"""

import argparse
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import BlipForImageTextRetrieval

from backend.engine import hub
from backend.settings import MODELS
from research.scenes.architecture import SPECIAL, normalise
from research.scenes.examples import Examples, open_examples
from research.scenes.train import HELD_OUT_SEED, SEEDS_APART, publish
from research.scenes.training import (
    RetrievalLearner,
    Schedule,
    contrast_loss,
    draw_batch,
    matching_loss,
    measure_retrieval,
    train_loop,
)
from research.scenes.wordings import wording_of

#: The embedded trainings, by seed.
TRAININGS = (MODELS, MODELS / "seed-1", MODELS / "seed-2")


def train_wording(
    language: str, seed: int, work: Path, scenes: int, held_out: int, schedule: Schedule
) -> Path:
    """The folder of the model for `language`, of the training `seed`."""
    wording = wording_of(language)
    first = seed * SEEDS_APART
    examples = open_examples(work / f"{language}-{seed}", scenes, first, wording=wording)
    others = open_examples(work / f"{language}-held-out", held_out, HELD_OUT_SEED, wording=wording)
    torch.manual_seed(seed)
    learner = RetrievalLearner()
    place = str(TRAININGS[seed] / "scenes-blip-itm")
    source = hub.load(BlipForImageTextRetrieval, place)
    learner.model.load_state_dict(source.float().state_dict())
    learner.model.vision_model.requires_grad_(False)
    with torch.no_grad():
        vectors = learner.model.text_encoder.embeddings.word_embeddings.weight
        torch.nn.init.normal_(vectors[len(SPECIAL) + 2 : -2], std=0.05)
    states = _states(learner, examples)

    def losses_at(step: int) -> dict[str, torch.Tensor]:
        batch = draw_batch(examples, schedule.batch, step, seed)
        batch_states = torch.from_numpy(states[batch.scenes]).float()
        texts = learner.text_vectors([*batch.texts, *batch.own_false])
        scale = learner.log_scale.exp().clamp(max=100)
        contrast, similarity = contrast_loss(
            learner.image_vectors(batch_states), texts, scale, batch
        )
        matching = matching_loss(learner, batch, batch_states, similarity.detach(), step)
        return {"contrast": contrast, "matching": 2 * matching}

    train_loop(
        f"{language}-{seed}", learner, schedule, work, losses_at,
        lambda: measure_retrieval(learner, others),
    )  # fmt: skip
    print(language, seed, measure_retrieval(learner.eval(), others), flush=True)
    return publish(learner.model, f"{language}-seed-{seed}", work, wording.tokens)


@torch.no_grad()
def _states(learner: RetrievalLearner, examples: Examples) -> NDArray[np.float16]:
    """The image tower's output [scenes, tokens, width]."""
    parts = []
    for first in range(0, len(examples), 200):
        pixels = normalise(torch.from_numpy(examples.pixels[first : first + 200]))
        parts.append(learner.see(pixels).half().numpy())
    return np.concatenate(parts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--language", action="append", required=True)
    parser.add_argument("--seed", type=int, action="append", required=True)
    parser.add_argument("--scenes", type=int, default=3000)
    parser.add_argument("--held-out", type=int, default=60)
    parser.add_argument("--steps", type=int, default=130)
    parser.add_argument("--learning-rate", type=float, default=4.5e-3, help="after 200 steps")
    parser.add_argument("--batch", type=int, default=48)
    parser.add_argument("--work", type=Path, default=Path("data/wordings"))
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    torch.set_flush_denormal(True)
    args.work.mkdir(parents=True, exist_ok=True)
    samples = args.steps * args.batch
    schedule = Schedule((samples,), batch=args.batch, learning_rate=args.learning_rate)
    for seed in args.seed:
        for language in args.language:
            train_wording(language, seed, args.work, args.scenes, args.held_out, schedule)


if __name__ == "__main__":
    main()
