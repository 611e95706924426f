"""Loads captioners, by hub name or directory: `BlipForConditionalGeneration` (the embedded model
and `Salesforce/blip-image-captioning-base`), `VisionEncoderDecoderModel`, and ClipCap, as trained
by the command `captioner`, and vision-language models, `vqa:NAME_OR_DIR`."""

from collections.abc import Callable
from dataclasses import dataclass

import torch

from backend import plugins
from backend.engine import hub
from backend.engine.captioning.clipcap import is_clipcap
from backend.engine.correction.captioner import Captioner
from backend.engine.correction.chat_captioner import load_chat_captioner
from backend.engine.correction.prefix_captioner import load_prefix_captioner
from backend.engine.correction.vision_to_text import Processor, VisionToText
from backend.engine.model_fit import check_image_processor, check_tokenizer
from backend.engine.scoring.checkpoints import weights_digest
from backend.engine.scoring.protocol import Scorer
from backend.engine.scoring.vqa.name import PREFIX as VQA
from backend.errors import ModelMismatch

_ADVICE = "Name a directory or hub name such as Salesforce/blip-image-captioning-base."


@dataclass(frozen=True)
class CaptionerFamily:
    """Captioners of another package. `named`: whether a model's name is of this family; `load`:
    called with the model, the device and the scorer, if there is one."""

    named: Callable[[str], bool]
    load: Callable[[str, str, Scorer | None], Captioner]


def families() -> tuple[CaptionerFamily, ...]:
    """The captioners of other packages."""
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
    if model.startswith(VQA):
        return load_chat_captioner(model, device, scorer)
    if is_clipcap(model):
        return load_prefix_captioner(model, device)
    configuration = hub.load(AutoConfig, model, what, advice)
    if configuration.model_type == "vision-encoder-decoder":
        return _load_vision_to_text(model, device)
    if configuration.model_type != "blip":
        raise ModelMismatch(
            f"'{model}' is a {configuration.model_type} model, not a BLIP captioner or another "
            f"vision-to-text model. {advice}"
        )
    loaded, report = hub.load(
        BlipForConditionalGeneration, model, what, advice,
        output_loading_info=True, dtype=torch.float32,
    )  # fmt: skip
    if any(key.startswith("text_decoder") for key in report["missing_keys"]):
        raise ModelMismatch(f"'{model}' has no caption decoder. {advice}")
    processor = hub.load(BlipProcessor, model, what, advice)
    check_tokenizer(model, processor.tokenizer, int(loaded.config.text_config.vocab_size))
    check_image_processor(model, processor.image_processor, loaded.config.vision_config)
    identity = weights_digest(loaded)
    return Captioner(model, loaded.eval().to(device), processor, device, identity)


def _load_vision_to_text(model: str, device: str) -> VisionToText:
    from transformers import AutoImageProcessor, AutoTokenizer, VisionEncoderDecoderModel

    what = "The captioner"
    loaded = hub.load_weights(VisionEncoderDecoderModel, model, what, _ADVICE, dtype=torch.float32)
    tokenizer = hub.load(AutoTokenizer, model, what, _ADVICE)
    pictures = hub.load(AutoImageProcessor, model, what, _ADVICE)
    check_tokenizer(model, tokenizer, int(loaded.config.decoder.vocab_size))
    check_image_processor(model, pictures, loaded.config.encoder)
    generation = loaded.generation_config
    if generation.decoder_start_token_id is None or generation.eos_token_id is None:
        raise ModelMismatch(
            f"'{model}' does not define the tokens that begin and end a caption "
            f"(decoder_start_token_id, eos_token_id in generation_config.json). {_ADVICE}"
        )
    identity = weights_digest(loaded)
    processor = Processor(tokenizer, pictures)
    return VisionToText(model, loaded.to(device), processor, device, identity)
