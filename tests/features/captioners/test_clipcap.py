"""ClipCap: assembled from parts, saved and loaded; every path through it agrees."""

import json
import shutil
from pathlib import Path

import pytest
import torch
from PIL import Image

from backend.engine.correction.captioner import Captioner
from backend.engine.correction.captioner_loading import load_captioner
from backend.errors import ModelMismatch, ModelMissing, ModelUnavailable
from backend.features.captioners.clipcap import ClipCap, ClipCapModel, load_clipcap
from research.captioning.clipcap_policy import ClipCapPolicy
from research.captioning.new_clipcap import make_clipcap
from research.captioning.policy import log_probabilities
from tests.checkpoints import (
    drawn_pairs,
    random_blip,
    random_clip,
    random_clipcap,
    random_language_model,
)

CAPTIONS = ["A dog.", "Two red boats by the sea on a sunny day.", ""]


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `clip`, `language-model` and `clipcap`."""
    return random_clipcap(tmp_path_factory.mktemp("parts")).parent


@pytest.fixture(scope="module")
def clipcap(parts: Path) -> ClipCap:
    return load_clipcap(parts / "clipcap")


@pytest.fixture(scope="module")
def captioner(parts: Path) -> Captioner:
    return load_captioner(str(parts / "clipcap"))


def images(count: int) -> list[Image.Image]:
    return [image for image, _ in drawn_pairs(count, seed=3)]


def test_the_prefix_network_has_the_published_shape() -> None:
    """512 -> 3,840 -> 7,680 with one tanh (SR, Table 11); no weights are allocated."""
    from torch import nn

    class Vision(nn.Module):
        visual_projection = nn.Linear(1, 512, device="meta")

    class LanguageModel(nn.Module):
        def get_input_embeddings(self) -> nn.Embedding:
            return nn.Embedding(10, 768, device="meta")

    with torch.device("meta"):
        prefix = ClipCapModel(Vision(), LanguageModel()).prefix
    shapes = [tuple(layer.weight.shape) for layer in prefix if isinstance(layer, nn.Linear)]
    assert shapes == [(3840, 512), (7680, 3840)]
    assert sum(isinstance(layer, nn.Tanh) for layer in prefix) == 1


def test_saving_and_loading_keeps_the_weights(parts: Path, clipcap: ClipCap) -> None:
    made = make_clipcap(str(parts / "clip"), str(parts / "language-model"), 4)
    for name, weight in made.model.state_dict().items():
        assert torch.equal(weight, clipcap.model.state_dict()[name]), name
    assert torch.equal(made.vectors(images(2)), clipcap.vectors(images(2)))
    assert clipcap.clip == str(parts / "clip")
    files = {path.name for path in (parts / "clipcap").iterdir()}
    assert files >= {"config.json", "model.safetensors", "tokenizer.json",
                     "tokenizer_config.json", "preprocessor_config.json"}  # fmt: skip


def test_the_captioner_and_the_policy_agree(clipcap: ClipCap, captioner: Captioner) -> None:
    """Guided infill reads trees of tokens, training reads padded rows: the results agree."""
    policy = ClipCapPolicy(clipcap)
    image = images(1)[0]
    vectors = clipcap.vectors([image]).expand(len(CAPTIONS), -1)
    samples = policy.samples_of(CAPTIONS)
    with torch.no_grad():
        by_policy = log_probabilities(policy.logits(vectors, samples), samples, 1.0).sum(1)
    by_captioner = captioner.log_likelihoods(captioner.see(image), CAPTIONS)
    assert by_captioner == pytest.approx(by_policy.tolist(), abs=1e-3)


def test_the_end_token_counts_once(clipcap: ClipCap) -> None:
    policy, end = ClipCapPolicy(clipcap), clipcap.end
    samples = policy.samples_of([*CAPTIONS, "A dog<|endoftext|> barks."])
    for row, length in zip(samples.tokens.tolist(), samples.lengths.tolist(), strict=True):
        assert row[:length].count(end) == 1
        assert row[length - 1] == end
    assert policy.text(samples)[:3] == CAPTIONS
    short = ClipCapPolicy(clipcap, longest=2).samples_of([CAPTIONS[1]])
    assert short.lengths.tolist() == [2]
    assert end not in short.tokens[0].tolist()


def test_incompatible_or_missing_models_are_reported(parts: Path, tmp_path: Path) -> None:
    clip, language_model = str(parts / "clip"), str(parts / "language-model")
    with pytest.raises(ModelMissing, match="The CLIP 'nobody/clip'"):
        make_clipcap("nobody/clip", language_model)
    with pytest.raises(ModelMissing, match="The language model 'nobody/lm'"):
        make_clipcap(clip, "nobody/lm")
    with pytest.raises(ModelMismatch, match="not a CLIP"):
        make_clipcap(str(random_blip(tmp_path / "blip")), language_model)
    with pytest.raises(ModelMismatch, match="too few positions"):
        make_clipcap(clip, language_model, prefix_length=63)


def test_a_bidirectional_language_model_is_refused(parts: Path, tmp_path: Path) -> None:
    from transformers import BertConfig, BertLMHeadModel

    from research.scenes.architecture import make_tokenizer

    tokenizer = make_tokenizer()
    tokenizer.eos_token = "[SEP]"
    size = {"hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 1}
    bert_config = BertConfig(vocab_size=len(tokenizer), num_attention_heads=2, **size)
    BertLMHeadModel(bert_config).save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    with pytest.raises(ModelMismatch, match="words that come later"):
        make_clipcap(str(parts / "clip"), str(tmp_path))


def test_a_damaged_folder_is_reported(parts: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(parts / "clipcap", tmp_path / "copy")
    weights = (copy / "model.safetensors").read_bytes()
    (copy / "model.safetensors").write_bytes(weights[: len(weights) // 2])
    with pytest.raises(ModelUnavailable, match="truncated or damaged"):
        load_captioner(str(copy))
    (copy / "model.safetensors").unlink()
    with pytest.raises(ModelUnavailable, match=r"no model\.safetensors"):
        load_captioner(str(copy))
    (copy / "model.safetensors").write_bytes(weights)
    configuration = json.loads((copy / "config.json").read_text())
    configuration["language_model"]["n_layer"] = 3
    (copy / "config.json").write_text(json.dumps(configuration))
    with pytest.raises(ModelMismatch, match="do not match its config"):
        load_captioner(str(copy))
    with pytest.raises(ModelMismatch, match="not a ClipCap"):
        load_clipcap(random_clip(tmp_path / "clip"))


def test_other_language_models_work_without_trees(parts: Path, tmp_path: Path) -> None:
    """Reads one sequence at a time if a mask per token is not known to work."""
    from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM

    from backend.engine import hub

    tokenizer = hub.load(AutoTokenizer, random_language_model(tmp_path / "gpt2"))
    size = {"hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 1}
    configuration = LlamaConfig(
        vocab_size=len(tokenizer), num_attention_heads=2, max_position_embeddings=64, **size
    )
    LlamaForCausalLM(configuration).save_pretrained(tmp_path / "llama")
    tokenizer.save_pretrained(tmp_path / "llama")
    made = make_clipcap(str(parts / "clip"), str(tmp_path / "llama"), 4)
    made.save(tmp_path / "made")
    captioner = load_captioner(str(tmp_path / "made"))
    memory = captioner.see(images(1)[0])
    together = captioner.log_likelihoods(memory, CAPTIONS)
    alone = [captioner.log_likelihoods(memory, [caption])[0] for caption in CAPTIONS]
    assert together == pytest.approx(alone, abs=1e-3)
    assert isinstance(captioner.describe(images(1)[0], max_new_tokens=4), str)


def test_the_trained_layers_are_saved_merged(parts: Path, tmp_path: Path) -> None:
    policy = ClipCapPolicy(load_clipcap(parts / "clipcap"), rank=4, side="both")
    pixels = policy.images_of(images(3))
    assert pixels.ndim == 4, "the encoder is trained"
    samples = policy.samples_of(CAPTIONS)
    optimiser = torch.optim.SGD(policy.parameters(), lr=5.0)
    for _ in range(2):  # LoRA's B is 0 at first: A moves in the second step
        optimiser.zero_grad()
        log_probabilities(policy.logits(pixels, samples), samples, 1.0).mean().neg().backward()
        optimiser.step()
    policy.save(tmp_path)
    saved = load_clipcap(tmp_path)
    before, after = (
        model.state_dict() for model in (load_clipcap(parts / "clipcap").model, saved.model)
    )
    assert before.keys() == after.keys(), "LoRA is merged"
    moved = {name for name in before if not torch.allclose(before[name], after[name], atol=1e-6)}
    assert {name.split(".")[0] for name in moved} == {"prefix", "language_model", "vision"}
    vision = {name.split(".")[-2] for name in moved if name.startswith("vision")}
    assert vision == {"q_proj", "k_proj", "v_proj", "fc1", "fc2"}, "as published"
    language = {
        ".".join(name.split(".")[-3:-1]) for name in moved if name.startswith("language_model")
    }
    assert language == {"attn.c_attn", "attn.c_proj"}, "as published: not mlp.c_proj"
    fresh = ClipCapPolicy(saved)
    expected = log_probabilities(fresh.logits(fresh.images_of(images(3)), samples), samples, 1.0)
    made = log_probabilities(policy.logits(pixels, samples), samples, 1.0)
    assert torch.allclose(made, expected, atol=1e-3)
    resumed = ClipCapPolicy(load_clipcap(parts / "clipcap"), rank=4, side="both")
    resumed.restore(policy.state())
    assert torch.equal(resumed.logits(pixels, samples), policy.logits(pixels, samples))
