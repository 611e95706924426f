"""Write a trained model in the Hub's format for published models."""

import json
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

from research.scenes.architecture import DEVIATION, IMAGE_SIZE, MEAN
from research.scenes.tokenizer import make_tokenizer

LIMITS = (
    "This model only knows drawn scenes such as those of the demo. For photographs choose another, "
    "for example Salesforce/blip-itm-base-coco."
)


def publish(model: Any, name: str, folder: Path) -> Path:
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
    tokenizer = make_tokenizer()
    if isinstance(model, CLIPModel):
        CLIPProcessor(
            CLIPImageProcessor(do_center_crop=False, **picture), tokenizer
        ).save_pretrained(target)
    else:
        BlipProcessor(BlipImageProcessor(**picture), tokenizer).save_pretrained(target)
    (target / "traced.json").write_text(json.dumps({"limits": LIMITS}, indent=2) + "\n")
    return target
