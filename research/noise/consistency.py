"""Consistency of one sentence with another, by AlignScore or any Hugging Face NLI model.

TRACED §3.3 filters a language model's variants with AlignScore, itself an NLI model: a variant that
the original entails contains no error. Here the score is the probability of entailment. AlignScore
(Zha et al. 2023, github.com/yuh-zha/AlignScore) is published as a checkpoint of PyTorch Lightning:
a RoBERTa encoder with a head of three classes, of which the first is *aligned*.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from backend.engine import hub
from backend.engine.model_fit import check_tokenizer
from backend.errors import ModelMismatch

#: AlignScore's checkpoints: AlignScore-base.ckpt, AlignScore-large.ckpt.
ENDING = ".ckpt"
_BATCH = 32
_LONGEST = 256


@dataclass(frozen=True)
class ConsistencyModel:
    """A sequence classifier over (premise, hypothesis) with a label for entailment."""

    name: str
    model: Any
    tokenizer: Any
    entailment: int

    @torch.inference_mode()
    def scores(self, premise: str, hypotheses: Sequence[str]) -> list[float]:
        """Probability that `premise` entails each hypothesis, in [0, 1]; lower is less
        consistent."""
        scores: list[float] = []
        for first in range(0, len(hypotheses), _BATCH):
            batch = list(hypotheses[first : first + _BATCH])
            inputs = self.tokenizer(
                [premise] * len(batch), batch, padding=True, truncation=True, max_length=_LONGEST,
                return_tensors="pt",
            ).to(self.model.device)  # fmt: skip
            logits = self.model(**inputs).logits.float()
            scores += logits.softmax(-1)[:, self.entailment].tolist()
        return scores


@dataclass
class _AlignScoreOutput:
    logits: torch.Tensor


class AlignScoreModel(torch.nn.Module):
    """AlignScore's encoder and the head of three classes that its default mode (nli_sp) uses.

    Captions are single sentences of less than 350 words, so that nothing is split and aggregated.
    """

    def __init__(self, encoder: Any, tensors: dict[str, torch.Tensor]) -> None:
        super().__init__()
        self.base_model = encoder
        self.tri_layer = torch.nn.Linear(encoder.config.hidden_size, 3)
        state = self.state_dict()
        weights = {name: value for name, value in tensors.items() if name in state}
        # Position ids are a constant of the encoder that newer versions do not store.
        missing = [name for name in state if name not in weights and "position_ids" not in name]
        if missing or any(weights[name].shape != state[name].shape for name in weights):
            raise ModelMismatch(
                f"This checkpoint does not fit {encoder.config.name_or_path}, on which AlignScore "
                "is built: AlignScore-base needs roberta-base, AlignScore-large roberta-large."
            )
        self.load_state_dict(weights, strict=False)

    @property
    def device(self) -> torch.device:
        return self.tri_layer.weight.device

    def forward(self, **inputs: torch.Tensor) -> _AlignScoreOutput:
        embedding = self.base_model(**inputs).pooler_output
        return _AlignScoreOutput(self.tri_layer(embedding))


def load_alignscore(path: Path, encoder: str, device: str = "cpu") -> ConsistencyModel:
    """AlignScore from its checkpoint; `encoder`: RoBERTa by hub name or directory, for its
    configuration and tokenizer.

    Raises ModelUnavailable if either cannot be loaded, ModelMismatch if they do not match.
    """
    from transformers import AutoConfig, AutoModel, AutoTokenizer

    what, advice = "AlignScore's encoder", "Give roberta-large, roberta-base, or a directory."
    weights = hub.read_tensors(path)
    tensors = weights.get("state_dict", weights) if isinstance(weights, dict) else {}
    config = hub.load(AutoConfig, encoder, what, advice)
    tokenizer = hub.load(AutoTokenizer, encoder, what, advice)
    model = AlignScoreModel(AutoModel.from_config(config), tensors)
    check_tokenizer(encoder, tokenizer, model.base_model.get_input_embeddings().num_embeddings)
    return ConsistencyModel(str(path), model.to(device).eval(), tokenizer, 0)


def load_consistency_model(name: str, device: str = "cpu") -> ConsistencyModel:
    """An NLI model by hub name or directory, such as cross-encoder/nli-deberta-v3-base, or
    AlignScore's checkpoint by its path, which ends with .ckpt.

    AlignScore's encoder is the directory "encoder" next to the checkpoint if it exists, otherwise
    roberta-base or roberta-large, by the checkpoint's name. Raises ModelUnavailable if a model
    cannot be loaded, and ModelMismatch unless exactly one of its labels is entailment.
    """
    if name.endswith(ENDING):
        path = Path(name).expanduser()
        beside = path.parent / "encoder"
        encoder_name = "roberta-base" if "base" in path.name.lower() else "roberta-large"
        return load_alignscore(path, str(beside) if beside.is_dir() else encoder_name, device)
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    what = "The NLI model"
    advice = "Give a directory or hub name, such as cross-encoder/nli-deberta-v3-base."
    model = hub.load(AutoModelForSequenceClassification, name, what, advice)
    tokenizer = hub.load(AutoTokenizer, name, what, advice)
    check_tokenizer(name, tokenizer, model.get_input_embeddings().num_embeddings)
    labels = {str(label).lower(): int(i) for i, label in model.config.id2label.items()}
    entailment = [i for label, i in labels.items() if "entail" in label and "not" not in label]
    if len(entailment) != 1:
        raise ModelMismatch(
            f"'{name}' has the labels {', '.join(labels)}; an NLI model has one for entailment."
        )
    return ConsistencyModel(name, model.to(device).eval(), tokenizer, entailment[0])
