"""Train the embedded models from nothing: `python -m backend.scenes.train`  (or `make models`)

Three models, one after the other: BLIP image-text retrieval (ITC and ITM), a BLIP captioner that
starts from its towers, and CLIP, which learns beside it. Interrupted, the same command goes on.
"""

import argparse
from pathlib import Path

import torch

from backend.scenes.examples import open_examples
from backend.scenes.other_models import train_captioner, train_clip
from backend.scenes.publishing import publish
from backend.scenes.training import Schedule, train_retrieval
from backend.settings import MODELS

#: Scenes for measuring are drawn far from those for training.
HELD_OUT_SEED = 1_000_000_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=32, help="for the retrieval model")
    parser.add_argument("--captioner-minutes", type=float, default=8)
    parser.add_argument("--clip-minutes", type=float, default=15)
    parser.add_argument("--scenes", type=int, default=90_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--work", type=Path, default=Path("data/training"))
    parser.add_argument("--out", type=Path, default=MODELS)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    torch.set_flush_denormal(True)  # a young tower is full of them, and each costs a hundred times
    given.work.mkdir(parents=True, exist_ok=True)
    examples = open_examples(given.work / "scenes", given.scenes, given.seed)
    held_out = open_examples(given.work / "held-out", 1200, HELD_OUT_SEED)
    learner = train_retrieval(examples, held_out, Schedule(given.minutes), given.work, given.seed)
    publish(learner.model, "scenes-blip-itm", given.out)
    schedule = Schedule(given.captioner_minutes, learning_rate=8e-4)
    captioner = train_captioner(learner, examples, held_out, schedule, given.work, given.seed)
    publish(captioner, "scenes-blip-captioner", given.out)
    schedule = Schedule(given.clip_minutes, learning_rate=8e-4)
    clip = train_clip(learner, examples, held_out, schedule, given.work, given.seed)
    publish(clip, "scenes-clip", given.out)


if __name__ == "__main__":
    main()
