"""Train the embedded models from scratch: `python -m research.scenes.train`  (or `make models`)

Three models are trained one after the other: BLIP image-text retrieval (ITC and ITM), CLIP, which
is guided by it, and a BLIP captioner initialised with its towers. If interrupted, the same command
resumes.
"""

import argparse
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from transformers import (
    BlipImageProcessor,
    BlipProcessor,
    CLIPImageProcessor,
    CLIPModel,
    CLIPProcessor,
)
from transformers.image_utils import PILImageResampling

from backend.settings import MODELS
from research.scenes.architecture import DEVIATION, IMAGE_SIZE, MEAN, TOKENS, make_tokenizer
from research.scenes.examples import open_examples
from research.scenes.other_models import train_captioner, train_clip
from research.scenes.training import Schedule, train_retrieval

LIMITS = (
    "This model only knows drawn scenes such as those of the demo. For photographs choose another, "
    "for example Salesforce/blip-itm-base-coco."
)


def publish(model: Any, name: str, folder: Path, tokens: Sequence[str] = TOKENS) -> Path:
    """Write bf16 safetensors weights, configuration, processor and tokenizer to `folder/name`."""
    target = folder / name
    target.mkdir(parents=True, exist_ok=True)
    model.to(torch.bfloat16).save_pretrained(target, safe_serialization=True)
    model.to(torch.float32)
    picture: dict[str, Any] = {
        "do_resize": True,
        "size": {"height": IMAGE_SIZE, "width": IMAGE_SIZE},
        "resample": PILImageResampling.BICUBIC,
        "image_mean": list(MEAN),
        "image_std": list(DEVIATION),
        "do_convert_rgb": True,
    }
    tokenizer = make_tokenizer(tokens)
    if isinstance(model, CLIPModel):
        CLIPProcessor(
            CLIPImageProcessor(do_center_crop=False, **picture), tokenizer
        ).save_pretrained(target)
    else:
        BlipProcessor(BlipImageProcessor(**picture), tokenizer).save_pretrained(target)
    stated = {"limits": LIMITS, "text": "as-written"}
    (target / "traced.json").write_text(json.dumps(stated, indent=2) + "\n")
    return target


#: Does not overlap with the training seeds.
HELD_OUT_SEED = 1_000_000_000
#: Sets with different seeds share no scene: scene i of a set is drawn from the set's seed + i.
SEEDS_APART = 1_000_000
#: Stopped early on purpose: when fully trained, s_0 alone finds nearly every error in the scenes.
RETRIEVAL = Schedule((135_000, 95_000, 150_000), shares=(0.14, 0.22, 0.64))
CAPTIONER = Schedule((186_000,), learning_rate=8e-4)
CLIP = Schedule((150_000,), learning_rate=8e-4)


def shorten(schedule: Schedule, share: float) -> Schedule:
    return replace(schedule, samples=tuple(int(n * share) for n in schedule.samples))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--share", type=float, default=1.0, help="of the samples; for a quick try")
    parser.add_argument("--scenes", type=int, default=90_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--work", type=Path, default=Path("data/training"))
    parser.add_argument("--out", type=Path, default=MODELS)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    torch.set_flush_denormal(True)  # early in training there are many, each 100 times slower
    args.work.mkdir(parents=True, exist_ok=True)
    examples = open_examples(args.work / "scenes", args.scenes, args.seed * SEEDS_APART)
    held_out = open_examples(args.work / "held-out", 1200, HELD_OUT_SEED)
    schedule = shorten(RETRIEVAL, args.share)
    learner = train_retrieval(examples, held_out, schedule, args.work, args.seed)
    publish(learner.model, "scenes-blip-itm", args.out)
    schedule = shorten(CLIP, args.share)
    clip = train_clip(learner, examples, held_out, schedule, args.work, args.seed)
    publish(clip, "scenes-clip", args.out)
    schedule = shorten(CAPTIONER, args.share)
    captioner = train_captioner(learner, examples, held_out, schedule, args.work, args.seed)
    publish(captioner, "scenes-blip-captioner", args.out)


if __name__ == "__main__":
    main()
