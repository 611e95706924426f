"""LoRA adapters from the package peft, which only training needs."""

from collections.abc import Sequence
from typing import Any

import torch

from backend.errors import ModelUnavailable


def with_lora(
    model: Any,
    rank: int,
    alpha: int,
    layers: Sequence[str] | str,
    *,
    seed: int | None = None,
    transposed: bool = False,
    train_also: Sequence[str] = (),
) -> Any:
    """The model, frozen, with adapters on these linear layers. Raises ModelUnavailable without
    peft.

    `layers`: their names, or a regular expression of them; `transposed`: their weights are
    [in, out], as GPT-2's; `train_also`: modules to train in full; `seed`: of the initial weights
    alone; None: they are drawn from torch's own generator.
    """
    try:
        from peft import LoraConfig, get_peft_model
    except ImportError as problem:
        raise ModelUnavailable(
            "Training needs more packages: pip install -r research/requirements.txt"
        ) from problem
    settings = LoraConfig(
        r=rank, lora_alpha=alpha,
        target_modules=layers if isinstance(layers, str) else list(layers),
        fan_in_fan_out=transposed, modules_to_save=list(train_also) or None,
    )  # fmt: skip
    with torch.random.fork_rng(devices=[], enabled=seed is not None):
        if seed is not None:
            torch.manual_seed(seed)
        return get_peft_model(model, settings)
