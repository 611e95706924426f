"""tau: the factor by which a model multiplies its cosines before a softmax."""

from typing import Any

from backend.engine.scoring.protocol import Scorer


def logit_scale_of(scorer: Scorer, usual: float) -> float:
    """The model's own scale: `exp(logit_scale)` for CLIP, SigLIP and open_clip, `1 / temp` for
    BLIP's ITC if the checkpoint has it (Hugging Face's does not); otherwise `usual`."""
    model: Any = getattr(scorer, "model", None)
    scale, temperature = getattr(model, "logit_scale", None), getattr(model, "temp", None)
    import torch

    with torch.inference_mode():
        if isinstance(scale, torch.Tensor):
            return float(scale.float().exp())
        if isinstance(temperature, torch.Tensor):
            return float(1 / temperature.float())
    return usual
