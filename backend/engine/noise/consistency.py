"""Consistency of one sentence with another, by any Hugging Face NLI model.

TRACED §3.3 filters a language model's variants with AlignScore, itself an NLI model: a variant that
the original entails contains no error. Here the score is the probability of entailment.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from backend.engine import hub
from backend.engine.model_fit import check_tokenizer
from backend.errors import ModelMismatch

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


def load_consistency_model(name: str, device: str = "cpu") -> ConsistencyModel:
    """An NLI model by hub name or directory, such as cross-encoder/nli-deberta-v3-base.

    Raises ModelUnavailable if it cannot be loaded, and ModelMismatch unless exactly one of its
    labels is entailment.
    """
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
