"""Loads a vision-language model as a scorer: `vqa:NAME_OR_DIR`, `vqa:NAME_OR_DIR@PROMPT.txt`.

s = P(yes) / (P(yes) + P(no)) at the first token of the answer.
"""

import hashlib
import json
import logging
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import torch

from backend.datasets.safe_files.regular_files import read_regular
from backend.engine import hub
from backend.engine.embeddings import embed
from backend.engine.hub_cache import snapshot_of
from backend.engine.model_fit import check_tokenizer, probe
from backend.engine.model_names import PREFIX, parts_of
from backend.engine.scoring.batch_memory import Pace, free_memory, pace_of
from backend.engine.scoring.checkpoints import (
    QUANTISATIONS,
    Family,
    Request,
    limits_of,
    revision_of,
)
from backend.engine.scoring.protocol import FloatArray, Independent, ScorerInfo, Session
from backend.errors import ModelMismatch, OutOfMemory
from backend.features.vision_language.asked_model import AskedModel
from backend.features.vision_language.caption_question import (
    SHIPPED,
    ChatReader,
    after_caption,
    answers_of,
    one_line,
    read_prompt,
)
from backend.features.vision_language.local import architecture_of
from backend.features.vision_language.packed_session import PackedSession, PlainSession, is_exact
from backend.features.vision_language.quantisation import quantisation_config

log = logging.getLogger(f"traced.{__name__}")


class VqaScorer(AskedModel, Independent):
    """c comes from the sentence model: a chat model has no vector for a caption."""

    def open_session(self) -> Session:
        return PackedSession(self) if self.shares_prefixes else PlainSession(self)

    @cached_property
    def shares_prefixes(self) -> bool:
        """Whether packed sessions are exact with this model; tried out once."""
        exact = is_exact(self, self.encode_images([probe()]))
        if not exact:
            log.warning("%s reads each caption by itself: slow.", self.info.model)
        return exact

    @cached_property
    def pace(self) -> Pace:
        """Pictures are read one by one with a model that is not exact otherwise."""
        pace = pace_of(self.info.device)
        if not pace.pads:
            return pace
        pictures = [probe(), probe().resize((120, 60))]
        return replace(pace, pads=is_exact(self, self.encode_images(pictures)))

    def text_embeddings(self, captions: Sequence[str]) -> FloatArray:
        return embed(captions)


_WHAT = "The vision-language model"
_ADVICE = (
    "Give vqa: and a directory or hub name, such as vqa:Qwen/Qwen2.5-VL-3B-Instruct or "
    "vqa:HuggingFaceTB/SmolVLM-256M-Instruct."
)
#: The most tokens of a caption that are read: about 700 words.
CONTEXT = 1024
#: Share of free memory that weights may take; the rest is for pictures and captions.
_SHARE = 0.9
#: Bytes of a weight by precision.
_BYTES = {"float32": 4.0, "bfloat16": 2.0, "8bit": 1.0, "4bit": 0.5}


def load_vqa(request: Request) -> VqaScorer:
    """A model of transformers' image-text-to-text class. Raises as `load_scorer` does, and
    SettingsError for an unusable prompt."""
    from transformers import AutoProcessor

    name, file = parts_of(request.model)
    prompt = read_prompt(file or SHIPPED)
    _refuse_own_code(name)
    configuration, model_class = architecture_of(name, _WHAT, _ADVICE)
    check_memory(name, model_class, configuration, request.device, request.precision)
    options: dict[str, Any] = {"dtype": torch.float32}
    if request.precision != "float32":
        options["dtype"] = torch.bfloat16
    if request.precision in QUANTISATIONS:
        options["quantization_config"] = quantisation_config(request.precision, request.device)
    processor = hub.load(AutoProcessor, name, _WHAT, _ADVICE)
    if not getattr(processor, "chat_template", None):
        raise ModelMismatch(f"'{name}' has no chat template, so it cannot be asked. {_ADVICE}")
    if not processor.tokenizer.is_fast:
        raise ModelMismatch(
            f"The tokenizer of '{name}' does not say which characters its tokens cover. {_ADVICE}"
        )
    model = hub.load_weights(model_class, name, _WHAT, _ADVICE, **options)
    if request.precision not in QUANTISATIONS:  # quantised weights are where they belong
        model = model.to(request.device)
    rows = int(model.get_input_embeddings().num_embeddings)
    check_tokenizer(name, processor.tokenizer, rows)
    reader = ChatReader(processor.tokenizer, CONTEXT, rows, special=0, clean=one_line)
    answers = answers_of(name, processor.tokenizer, rows)
    after = after_caption(name, processor, prompt, reader)
    question = _as_read(processor, prompt.text)
    digest = hashlib.sha256(question.encode()).hexdigest()[:6]
    info = ScorerInfo(
        kind="vqa",
        model=request.model,
        # Another question is another score.
        revision=f"{revision_of(name, getattr(model.config, '_commit_hash', None))}-{digest}",
        device=request.device,
        limits=limits_of(name),
        precision=request.precision,
        parameters={"prompt": question},
    )
    return VqaScorer(info, model, processor, reader, prompt, answers, after)


def _as_read(processor: Any, text: str) -> str:
    """Prompt and template together, as the model reads them."""
    content = [{"type": "image"}, {"type": "text", "text": text}]
    return str(
        processor.apply_chat_template(
            [{"role": "user", "content": content}], add_generation_prompt=True
        )
    )


def _refuse_own_code(name: str) -> None:
    """Raises ModelMismatch for a model that needs its own code."""
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    folder = Path(name).expanduser()
    place = folder if folder.is_dir() else snapshot_of(name)
    configuration: dict[str, Any] = {}
    if place is not None and (place / "config.json").is_file():
        with hub.failures_explained(_WHAT, name, _ADVICE):
            configuration = json.loads(read_regular(place / "config.json"))
    if configuration.get("auto_map") and configuration.get("model_type") not in CONFIG_MAPPING:
        raise ModelMismatch(
            f"'{name}' needs its own Python code, which is never run. Take the version in the "
            f"format of transformers, often named …-hf. {_ADVICE}"
        )


def check_memory(
    name: str, model_class: Any, configuration: Any, device: str, precision: str
) -> None:
    """Raises OutOfMemory before any weight is read, if the weights do not fit."""
    with hub.failures_explained(_WHAT, name, _ADVICE), torch.device("meta"):
        empty = model_class(configuration)
    parameters = sum(weight.numel() for weight in empty.parameters())
    size, free = parameters * _BYTES[precision], free_memory(device)
    if size > _SHARE * free:
        raise OutOfMemory(
            f"'{name}' has {parameters / 1e9:.1f} billion parameters: {size / 1e9:.1f} GB in "
            f"{precision}, and {free / 1e9:.1f} GB are free on {device}. Choose a smaller model, "
            f"{'8bit or 4bit' if device != 'cpu' else 'bfloat16'} as precision, or a card with "
            "more memory."
        )


FAMILY = Family(
    ("vqa",), load_vqa, named=lambda model: model.startswith(PREFIX), is_quantisable=True
)
