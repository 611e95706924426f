"""Weights in 4 or 8 bits, by bitsandbytes, on an accelerator."""

import logging
from typing import Any

from backend.engine import hub
from backend.errors import ModelUnavailable

# In 8 bits it warns at every matrix product that it rounds the inputs: thousands of lines.
logging.getLogger("bitsandbytes.autograd._functions").setLevel(logging.ERROR)


def quantisation_config(quantisation: str, device: str) -> Any:
    """The `quantization_config` for transformers; `quantisation`: one of `QUANTISATIONS`. Raises
    ModelUnavailable without bitsandbytes, or without an accelerator."""
    if device == "cpu":
        raise ModelUnavailable("Quantised models need an accelerator.")
    import torch

    try:
        import bitsandbytes  # noqa: F401
        from transformers import BitsAndBytesConfig
    except ImportError as problem:
        raise ModelUnavailable(
            "Quantised models need the package bitsandbytes: pip install bitsandbytes. Or do "
            "without quantisation."
        ) from problem
    return BitsAndBytesConfig(
        load_in_4bit=quantisation == "4bit",
        load_in_8bit=quantisation == "8bit",
        bnb_4bit_compute_dtype=torch.bfloat16 if hub.native_bfloat16(device) else torch.float16,
    )
