"""Sentence vectors are those of sentence-transformers, which the program does not need."""

import json
from pathlib import Path

import numpy as np
import pytest

from backend.engine.embeddings import embedded_model
from backend.engine.sentence_model import SentenceModel
from backend.errors import ModelUnavailable
from tests.engine.concreteness.small_models import text_encoder

TEXTS = ["a red dog", "", "  two boats   on a LAKE ", "naïve café 😀", "中文标题", "word " * 500]


def change(file: Path, **values: object) -> None:
    file.parent.mkdir(exist_ok=True)
    stored = json.loads(file.read_bytes()) if file.exists() else {}
    file.write_text(json.dumps(stored | values))


@pytest.mark.parametrize("pooling", ["embedded", "unstated", "mean", "cls", "earlier names"])
def test_vectors_equal_those_of_sentence_transformers(pooling: str, tmp_path: Path) -> None:
    theirs = pytest.importorskip("sentence_transformers")
    model = embedded_model()
    if pooling != "embedded":
        model = str(text_encoder(tmp_path / "model", ["a red dog two boats on lake"]))
    if pooling not in ("embedded", "unstated"):
        kinds = {"": "Transformer", "1_Pooling": "Pooling"}
        modules = [
            {"idx": i, "name": str(i), "path": path, "type": f"sentence_transformers.models.{kind}"}
            for i, (path, kind) in enumerate(kinds.items())
        ]
        (tmp_path / "model" / "modules.json").write_text(json.dumps(modules))
        change(tmp_path / "model" / "sentence_bert_config.json", max_seq_length=6)
        named = {"pooling_mode": pooling}
        if pooling == "earlier names":
            named = {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}
        change(tmp_path / "model/1_Pooling/config.json", word_embedding_dimension=32, **named)
    wanted = theirs.SentenceTransformer(model, device="cpu").encode(
        TEXTS, normalize_embeddings=True
    )
    np.testing.assert_allclose(SentenceModel(model).encode(TEXTS), wanted, atol=1e-6)


@pytest.mark.parametrize("mode", ["max", ["mean", "cls"]])
def test_another_pooling_is_refused(mode: object, tmp_path: Path) -> None:
    model = text_encoder(tmp_path / "model", ["a dog"])
    pooling = {"path": "1_Pooling", "type": "sentence_transformers.models.Pooling"}
    (model / "modules.json").write_text(json.dumps([pooling]))
    change(model / "1_Pooling/config.json", pooling_mode=mode)
    with pytest.raises(ModelUnavailable, match=r"pools by .*not supported"):
        SentenceModel(str(model))
