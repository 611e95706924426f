"""ICC of clearly concrete and clearly abstract captions, and models from a directory."""

from pathlib import Path

import numpy as np
import pytest
import torch

from backend.engine.concreteness.scoring import score_captions
from backend.errors import ModelMismatch
from backend.measures import ABSTRACT_THRESHOLD

CONCRETE = [
    "A brown horse jumping over a white fence",
    "Two boys in red shirts playing football on a wet field",
    "There is a woman wearing a blue dress holding an umbrella.",
    "a plate with fried eggs and bacon next to a cup of tea",
]
ABSTRACT = [
    "Hope springs eternal",
    "Our commitment to excellence in everything we do",
    "What a wonderful feeling it is to be free",
    "Conditions are subject to change without notice",
]


def test_concrete_captions_score_above_the_threshold_and_abstract_ones_below() -> None:
    scores = score_captions([*CONCRETE, *ABSTRACT])
    assert min(scores[:4]) > ABSTRACT_THRESHOLD > max(scores[4:])


def test_the_score_of_a_caption_does_not_depend_on_its_neighbours() -> None:
    together = score_captions([*ABSTRACT, *CONCRETE])
    alone = [score_captions([caption])[0] for caption in (*ABSTRACT, *CONCRETE)]
    assert together == pytest.approx(alone, abs=1e-4)


@pytest.mark.parametrize("caption", ["", "   ", "🐕", "12345", "word " * 3000, "犬が走る"])
def test_every_text_has_a_score(caption: str) -> None:
    (score,) = score_captions([caption])
    (raw,) = score_captions([caption], clipped=False)
    assert np.isfinite(raw)
    assert score == pytest.approx(np.clip(raw, 0, 1))
    assert caption.strip() or raw == 0


def classifier(folder: Path, labels: int) -> Path:
    """A small BERT sequence classifier in Hugging Face format."""
    from transformers import BertConfig, BertForSequenceClassification, BertTokenizerFast

    torch.manual_seed(0)
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "dog", "hope"]
    BertTokenizerFast(vocab={w: i for i, w in enumerate(words)}).save_pretrained(folder)
    BertForSequenceClassification(
        BertConfig(
            vocab_size=len(words), hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
            intermediate_size=16, num_labels=labels,  # pyrefly: ignore[unexpected-keyword]
        )
    ).save_pretrained(folder)  # fmt: skip
    return folder


@pytest.mark.parametrize("labels", [1, 2])
def test_a_model_is_loaded_from_a_directory(tmp_path: Path, labels: int) -> None:
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    folder = str(classifier(tmp_path, labels))
    scores = score_captions(["a dog", "", "hope"], folder, clipped=False)
    tokens = AutoTokenizer.from_pretrained(folder)(["a dog", "hope"], padding=True)  # pyrefly: ignore[not-callable]
    model = AutoModelForSequenceClassification.from_pretrained(folder)
    with torch.inference_mode():
        logits = model(**tokens.convert_to_tensors("pt")).logits
    wanted = logits[:, 0] if labels == 1 else logits.softmax(-1)[:, 1]
    assert scores == pytest.approx([float(wanted[0]), 0.0, float(wanted[1])], abs=1e-5)


def test_a_classifier_of_other_classes_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelMismatch, match="one rating or two classes"):
        score_captions(["a dog"], str(classifier(tmp_path, 5)))
