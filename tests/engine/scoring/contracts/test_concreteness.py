"""Concreteness and sentence models: downloaded from a hub, and equal to the library's own call."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import backend.engine.torchvision_compat  # noqa: F401  (before transformers and diffusers)
from backend.engine.concreteness.scoring import score_captions
from backend.engine.embeddings import embed
from backend.jobs import model_download
from backend.settings import load_settings
from backend.workspace import QueueFilter, Workspace
from tests.checkpoints import byte_pair_tokenizer, drawn_folder
from tests.engine.concreteness.small_models import text_to_image
from tests.engine.scoring.contracts.captions import CAPTIONS
from tests.engine.scoring.contracts.checkpoints import bert_tokenizer
from tests.fixtures.hub_server import Hub, PublishedModel, hub_server, use_hub

COMMIT = "0123456789abcdef0123456789abcdef01234567"
SENTENCES, ICC = "sentence-transformers/all-MiniLM-L6-v2", "moranyanuka/icc"
PICTURES = "stabilityai/stable-diffusion-2"


def sentence_model(folder: Path) -> Path:
    """As all-MiniLM-L6-v2: a BERT, its pooling in a folder of its own, and a normalisation."""
    from transformers import BertConfig, BertModel

    tokenizer = bert_tokenizer()
    torch.manual_seed(0)
    configuration = BertConfig(
        vocab_size=len(tokenizer), hidden_size=48, num_hidden_layers=2, num_attention_heads=12,
        intermediate_size=96,
    )  # fmt: skip
    BertModel(configuration).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    modules = [
        {"idx": i, "name": str(i), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for i, (path, kind) in enumerate(
            (("", "Transformer"), ("1_Pooling", "Pooling"), ("2_Normalize", "Normalize"))
        )
    ]
    write(folder / "modules.json", modules)
    write(folder / "sentence_bert_config.json", {"max_seq_length": 256, "do_lower_case": False})
    pooling = {"word_embedding_dimension": 48, "pooling_mode_cls_token": False,
               "pooling_mode_mean_tokens": True}  # fmt: skip
    write(folder / "1_Pooling" / "config.json", pooling)
    write(folder / "onnx" / "config.json", {})  # what the program has no use for
    return folder


def icc_model(folder: Path) -> Path:
    """As moranyanuka/icc: a distilled RoBERTa with one output, and GPT-2's kind of byte pairs."""
    from transformers import RobertaConfig, RobertaForSequenceClassification

    tokenizer = byte_pair_tokenizer(folder)
    tokenizer.model_max_length = 512
    torch.manual_seed(0)
    configuration = RobertaConfig(
        vocab_size=len(tokenizer), hidden_size=48, num_hidden_layers=2, num_attention_heads=12,
        intermediate_size=96, max_position_embeddings=514, bos_token_id=0, eos_token_id=0,
        pad_token_id=0, num_labels=1,  # pyrefly: ignore[unexpected-keyword]
    )  # fmt: skip
    model = RobertaForSequenceClassification(configuration)
    torch.nn.init.normal_(model.classifier.out_proj.weight, std=0.3)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def write(file: Path, content: Any) -> None:
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps(content))


PUBLISHED: dict[str, Callable[[Path], Path]] = {
    SENTENCES: sentence_model,
    ICC: icc_model,
    PICTURES: lambda folder: text_to_image(folder, list(CAPTIONS)),
}


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    with hub_server() as server:
        use_hub(monkeypatch, server.url, tmp_path / "hub")
        yield server


def downloaded(name: str, hub: Hub, tmp_path: Path) -> Path:
    """Publishes the model and downloads it, as `models download` does; the folder that was
    published, for the library's own call."""
    folder = tmp_path / "published" / name
    folder.mkdir(parents=True)
    PUBLISHED[name](folder)
    files = {str(path.relative_to(folder)): path.read_bytes()
             for path in sorted(folder.rglob("*")) if path.is_file()}  # fmt: skip
    hub.models[name] = PublishedModel(COMMIT, files)
    assert model_download.download(name).models == ((name, COMMIT),)
    assert not any("onnx" in request for request in hub.requests)
    hub.requests.clear()
    return folder


def test_vectors_of_a_sentence_model_are_those_of_the_library(hub: Hub, tmp_path: Path) -> None:
    theirs = pytest.importorskip("sentence_transformers")
    folder = downloaded(SENTENCES, hub, tmp_path)
    vectors = embed(CAPTIONS, SENTENCES)
    wanted = theirs.SentenceTransformer(str(folder), device="cpu").encode(list(CAPTIONS))
    np.testing.assert_allclose(vectors, wanted, atol=1e-4)
    assert np.ptp(vectors @ vectors[0]) > 1e-3  # the captions are told apart
    assert hub.requests == []


def test_concreteness_is_that_of_the_library_and_of_the_pairs(hub: Hub, tmp_path: Path) -> None:
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    folder = downloaded(ICC, hub, tmp_path)
    model: Any = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    tokenizer: Any = AutoTokenizer.from_pretrained(folder)
    scores = score_captions(list(CAPTIONS), ICC, clipped=False)
    for caption, score in zip(CAPTIONS, scores, strict=True):
        inputs = tokenizer(caption, truncation=True, return_tensors="pt")
        with torch.inference_mode():
            wanted = float(model(**inputs).logits[0, 0]) if caption.strip() else 0.0
        assert score == pytest.approx(wanted, abs=1e-4), caption
    assert np.ptp(scores) > 1e-3
    settings = {"data_directory": str(tmp_path / "state"), "concreteness": ICC, "captioner": "none"}
    workspace = Workspace(load_settings(settings, {}))
    dataset = workspace.find_or_import(str(drawn_folder(tmp_path / "pairs", 4)))
    workspace.jobs.score(dataset, suggestions=False, trajectories="first-step")
    rows = workspace.review.queue_page(QueueFilter(dataset)).rows
    assert [row.icc for row in rows] == pytest.approx(
        score_captions([row.caption for row in rows], ICC), abs=1e-4
    )
    assert hub.requests == []
    workspace.store.close()


def test_a_text_to_image_model_draws_as_its_library_does(hub: Hub, tmp_path: Path) -> None:
    """What `icc` reconstructs captions with; each of its parts lies in a folder of its own."""
    diffusers = pytest.importorskip("diffusers")
    from research.concreteness.visual_bottleneck import GUIDANCE, load_diffusion

    folder = downloaded(PICTURES, hub, tmp_path)
    captions = [CAPTIONS[0], CAPTIONS[25]]
    pictures = load_diffusion(PICTURES, steps=2).draw(captions, seed=3)
    plain = diffusers.DiffusionPipeline.from_pretrained(folder)
    wanted = plain(
        captions, guidance_scale=GUIDANCE, num_inference_steps=2,
        generator=torch.Generator("cpu").manual_seed(3),
    ).images  # fmt: skip
    for picture, expected in zip(pictures, wanted, strict=True):
        np.testing.assert_array_equal(np.asarray(picture), np.asarray(expected))
    assert hub.requests == []
