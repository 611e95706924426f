"""A language model in this process, with or without vision: InternVL3 (-hf), Qwen-VL, SmolVLM,
LLaVA, Mistral and others.

Any model with a chat template that `AutoModelForImageTextToText` loads, or `AutoModelForCausalLM`
if its configuration has no vision part.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from backend.datasets.safe_files.images import load_image
from backend.engine import hub
from backend.engine.language_models.chat_model import (
    Answer,
    AnswerCache,
    ChatModel,
    Question,
)
from backend.engine.language_models.spending import Spending
from backend.engine.model_fit import check_tokenizer
from backend.errors import ModelMismatch
from backend.features.vision_language.quantisation import quantisation_config

_ADVICE = (
    "Give a directory or hub name of a vision-language model, such as "
    "HuggingFaceTB/SmolVLM-256M-Instruct or OpenGVLab/InternVL3-1B-hf."
)
_TEXT_ADVICE = (
    "Give an instruction-tuned model, such as mistralai/Mistral-7B-Instruct-v0.3, or one with "
    "vision."
)


@dataclass(frozen=True)
class TextProcessor:
    """The processor of a model without vision: its tokenizer."""

    name: str
    tokenizer: Any

    @property
    def chat_template(self) -> Any:
        return self.tokenizer.chat_template

    def apply_chat_template(self, turns: list[dict[str, Any]], **options: Any) -> Any:
        """Raises ModelMismatch for a conversation with a picture."""
        from transformers import BatchFeature

        plain = []
        for turn in turns:
            if any(part["type"] != "text" for part in turn["content"]):
                raise ModelMismatch(
                    f"'{self.name}' has no vision: it can join captions, but not "
                    f"look at pictures. {_ADVICE}"
                )
            text = "\n\n".join(part["text"] for part in turn["content"])
            plain.append({"role": turn["role"], "content": text})
        return BatchFeature(dict(self.tokenizer.apply_chat_template(plain, **options)))


@dataclass
class LocalVisionLanguageModel(ChatModel):
    """A loaded `ChatModel`. Not thread-safe: use from one thread at a time."""

    name: str
    model: Any
    processor: Any
    kept: AnswerCache
    spending: Spending = field(default_factory=Spending)

    @torch.inference_mode()
    def _answer(self, question: Question) -> Answer:
        inputs = as_inputs(self.processor, conversation(question)).to(
            self.model.device, dtype=self.model.dtype
        )
        torch.manual_seed(question.seed)
        sampling = (
            {"do_sample": True, "temperature": question.temperature}
            if question.temperature > 0
            else {"do_sample": False, "temperature": None, "top_p": None, "top_k": None}
        )
        output = self.model.generate(**inputs, max_new_tokens=question.longest_answer, **sampling)
        before = inputs["input_ids"].shape[1]
        new = output[0, before:]
        return Answer(
            self.processor.tokenizer.decode(new, skip_special_tokens=True).strip(),
            len(new) < question.longest_answer,
            before,
            len(new),
        )


def conversation(question: Question, answer: str | None = None) -> list[dict[str, Any]]:
    """The question in the format of transformers' chat templates; with `answer`, the whole
    exchange."""
    has_image = question.image is not None
    pictures = [{"type": "image", "image": load_image(question.image)}] if question.image else []
    text_part: dict[str, Any] = {"type": "text", "text": question.user}
    system = [{"role": "system", "content": [{"type": "text", "text": question.system}]}]
    turns = [
        *system,
        {"role": "user", "content": [*pictures, text_part] if has_image else [text_part]},
    ]
    if answer is not None:
        turns.append({"role": "assistant", "content": [{"type": "text", "text": answer}]})
    return turns


def as_inputs(processor: Any, turns: list[dict[str, Any]]) -> Any:
    """Tensors of a conversation, with a generation prompt unless it ends with the model's turn.

    If the template does not support a system turn (Mistral's: "roles must alternate"), its text is
    merged into the user's turn.
    """
    ended = turns[-1]["role"] == "assistant"
    options = {
        "add_generation_prompt": not ended, "tokenize": True, "return_dict": True,
        "return_tensors": "pt",
    }  # fmt: skip
    try:
        return processor.apply_chat_template(turns, **options)
    except ModelMismatch:
        raise
    except Exception as problem:
        if not {"system", "alternate"} & set(re.findall(r"\w+", str(problem).lower())):
            raise ModelMismatch(
                f"This model's chat template cannot be used: {str(problem).splitlines()[0][:200]}"
            ) from problem
        system, user, *rest = turns
        turn = {**user, "content": [*user["content"][:-1], *system["content"],
                                    user["content"][-1]]}  # fmt: skip
        return processor.apply_chat_template([turn, *rest], **options)


def architecture_of(name: str, what: str, advice: str) -> tuple[Any, Any]:
    """The model's configuration and its class. (transformers' Auto class for it would ask the hub
    for adapters.) Raises ModelUnavailable, and ModelMismatch for a model of another kind."""
    from transformers import AutoConfig
    from transformers.models.auto.modeling_auto import MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING

    configuration = hub.load(AutoConfig, name, what, advice)
    if type(configuration) not in MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING:
        raise ModelMismatch(
            f"'{name}' is a {configuration.model_type} model, which answers no questions about "
            f"pictures. {advice}"
        )
    return configuration, MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING[type(configuration)]


def load_local(
    name: str,
    device: str = "cpu",
    quantisation: str | None = None,
    cache: Path | None = None,
    spending: Spending | None = None,
) -> LocalVisionLanguageModel:
    """Load by hub name or directory. Raises ModelUnavailable or ModelMismatch; the message says
    what to do."""
    from transformers import (
        AutoConfig,
        AutoModelForCausalLM,
        AutoProcessor,
        AutoTokenizer,
    )

    options: dict[str, Any] = {
        "dtype": torch.bfloat16 if hub.native_bfloat16(device) else torch.float32
    }
    if quantisation is not None:
        options["quantization_config"] = quantisation_config(quantisation, device)
    what, advice = "The vision-language model", _ADVICE
    if hasattr(hub.load(AutoConfig, name, what, _ADVICE), "vision_config"):
        model = hub.load(architecture_of(name, what, _ADVICE)[1], name, what, _ADVICE, **options)
        processor = hub.load(AutoProcessor, name, what, _ADVICE)
    else:
        what, advice = "The language model", _TEXT_ADVICE
        model = hub.load(AutoModelForCausalLM, name, what, advice, **options)
        processor = TextProcessor(name, hub.load(AutoTokenizer, name, what, advice))
    if not getattr(processor, "chat_template", None):
        raise ModelMismatch(f"'{name}' has no chat template, so it cannot be prompted. {advice}")
    check_tokenizer(name, processor.tokenizer, model.get_input_embeddings().num_embeddings)
    if quantisation is None:
        model = model.to(device)
    who = {"local": name, "quantisation": quantisation or "", "commit": _commit(model)}
    return LocalVisionLanguageModel(
        name, model.eval(), processor, AnswerCache(cache, who), spending or Spending()
    )


def _commit(model: Any) -> str:
    """The hub's commit, or the modification times of a directory's weights: part of the cache
    key."""
    commit = getattr(model.config, "_commit_hash", None)
    folder = Path(str(model.config.name_or_path))
    if commit is None and folder.is_dir():
        weights = sorted(folder.glob("*.safetensors"))
        return " ".join(f"{path.name} {path.stat().st_mtime_ns}" for path in weights)
    return str(commit or "")
