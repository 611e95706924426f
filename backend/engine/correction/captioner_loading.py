"""Loads captioners, by hub name or directory: `BlipForConditionalGeneration` (the embedded model
and `Salesforce/blip-image-captioning-base`), and the families of features and other packages."""

from collections.abc import Callable
from dataclasses import dataclass

import torch

from backend import plugins
from backend.engine import hub
from backend.engine.correction.captioner import Captioner
from backend.engine.model_fit import check_image_processor, check_tokenizer
from backend.engine.scoring.checkpoints import weights_digest
from backend.engine.scoring.protocol import Scorer
from backend.errors import ModelMismatch

_ADVICE = "Name a directory or hub name such as Salesforce/blip-image-captioning-base."


@dataclass(frozen=True)
class CaptionerFamily:
    """Captioners of a feature or another package. `named`: whether a model's name is of this
    family; `model_types`: those of its config.json that are; `load`: called with the model, the
    device and the scorer, if there is one."""

    named: Callable[[str], bool]
    load: Callable[[str, str, Scorer | None], Captioner]
    model_types: tuple[str, ...] = ()


def families() -> tuple[CaptionerFamily, ...]:
    """The captioners of features and other packages."""
    return plugins.load("captioners", CaptionerFamily)


def load_captioner(model: str, device: str = "cpu", scorer: Scorer | None = None) -> Captioner:
    """Load a captioner by hub name or directory. `scorer`: may share its model with it.

    Raises ModelUnavailable or ModelMismatch; the message says what to do.
    """
    from transformers import AutoConfig, BlipForConditionalGeneration, BlipProcessor

    advice = _ADVICE
    what = "The captioner"
    for family in families():
        if family.named(model):
            return family.load(model, device, scorer)
    configuration = hub.load(AutoConfig, model, what, advice)
    for family in families():
        if configuration.model_type in family.model_types:
            return family.load(model, device, scorer)
    if configuration.model_type != "blip":
        raise ModelMismatch(
            f"'{model}' is a {configuration.model_type} model, not a BLIP captioner or another "
            f"vision-to-text model. {advice}"
        )
    blip, report = hub.load(
        BlipForConditionalGeneration, model, what, advice,
        output_loading_info=True, dtype=torch.float32,
    )  # fmt: skip
    if any(key.startswith("text_decoder") for key in report["missing_keys"]):
        raise ModelMismatch(f"'{model}' has no caption decoder. {advice}")
    processor = hub.load(BlipProcessor, model, what, advice)
    check_tokenizer(model, processor.tokenizer, int(blip.config.text_config.vocab_size))
    check_image_processor(model, processor.image_processor, blip.config.vision_config)
    identity = weights_digest(blip)
    return Captioner(model, blip.eval().to(device), processor, device, identity)
