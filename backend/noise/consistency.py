"""How consistent is one sentence with another? Any Hugging Face NLI model.

TRACED §3.3 filters a language model's variants with AlignScore, itself an NLI model: a variant that
is entailed by the original says nothing wrong. Here the score is the probability of entailment.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

import backend.torchvision_compat  # noqa: F401  # before transformers' models
from backend.errors import ModelMismatch, not_loaded

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
        found: list[float] = []
        for first in range(0, len(hypotheses), _BATCH):
            batch = list(hypotheses[first : first + _BATCH])
            inputs = self.tokenizer(
                [premise] * len(batch), batch, padding=True, truncation=True, max_length=_LONGEST,
                return_tensors="pt",
            ).to(self.model.device)  # fmt: skip
            logits = self.model(**inputs).logits.float()
            found += logits.softmax(-1)[:, self.entailment].tolist()
        return found


def load_consistency_model(name: str, device: str = "cpu") -> ConsistencyModel:
    """An NLI model by hub name or directory, such as cross-encoder/nli-deberta-v3-base.

    Raises ModelUnavailable if it cannot be loaded, ModelMismatch if none of its labels is
    entailment.
    """
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    try:
        model = AutoModelForSequenceClassification.from_pretrained(name)
        tokenizer = AutoTokenizer.from_pretrained(name)
    except (OSError, ValueError) as problem:
        raise not_loaded(
            "The NLI model",
            name,
            problem,
            "Give a directory or hub name, such as cross-encoder/nli-deberta-v3-base.",
        ) from problem
    labels = {str(label).lower(): int(i) for i, label in model.config.id2label.items()}
    found = [i for label, i in labels.items() if "entail" in label and "not" not in label]
    if len(found) != 1:
        raise ModelMismatch(
            f"'{name}' has the labels {', '.join(labels)}; an NLI model has one for entailment."
        )
    return ConsistencyModel(name, model.to(device).eval(), tokenizer, found[0])
