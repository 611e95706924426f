"""BLIP as a policy, random weights in Hugging Face format: samples, likelihoods, LoRA, saving."""

import copy
from pathlib import Path

import pytest
import torch

from backend.engine.correction.captioner import Captioner
from backend.engine.correction.captioner_loading import load_captioner
from backend.errors import ModelMismatch, SettingsError
from research.captioning.blip_policy import BlipPolicy, Side
from research.captioning.policy import Samples, log_probabilities
from tests.checkpoints import drawn_pairs, random_captioner, random_clip

CAPTIONS = ["a red dog on a bench.", "two cats."]


@pytest.fixture(scope="module")
def captioner(tmp_path_factory: pytest.TempPathFactory) -> Captioner:
    return load_captioner(str(random_captioner(tmp_path_factory.mktemp("captioner"))))


def policy_of(captioner: Captioner, side: Side = "language", rank: int | None = None) -> BlipPolicy:
    return BlipPolicy(copy.deepcopy(captioner.model), captioner.processor, side, rank)


def pictures() -> list:
    return [image for image, _ in drawn_pairs(2, seed=3)]


@pytest.mark.parametrize("side", ["language", "both"])
def test_likelihoods_equal_the_captioners_and_the_end_token_counts_once(
    captioner: Captioner, side: Side
) -> None:
    policy = policy_of(captioner, side)
    images = policy.images_of(pictures())
    samples = policy.samples_of(CAPTIONS)
    assert samples.lengths.tolist() == [8, 4], "words, full stop and end"
    assert policy.text(samples) == CAPTIONS
    log_p = log_probabilities(policy.logits(images, samples), samples, 1.0).detach()
    for row, image in enumerate(pictures()):
        (expected,) = captioner.log_likelihoods(captioner.see(image), [CAPTIONS[row]])
        assert float(log_p[row].sum()) == pytest.approx(expected, abs=1e-3)
    assert (log_p[1, 4:] == 0).all()


def test_samples_follow_the_tempered_logits_and_the_seed(captioner: Captioner) -> None:
    policy = BlipPolicy(copy.deepcopy(captioner.model), captioner.processor, longest=2)
    images = policy.images_of(pictures()[:1]).expand(200, -1, -1)

    def sample(seed: int, temperature: float = 0.5) -> Samples:
        return policy.sample(images, temperature, torch.Generator().manual_seed(seed))

    first, again, other = sample(0), sample(0), sample(1)
    assert torch.equal(first.tokens, again.tokens)
    assert first.tokens.shape != other.tokens.shape or not torch.equal(first.tokens, other.tokens)
    # The frequencies of the first token, against their probabilities.
    p = (policy.logits(images[:1], first)[0, 0].detach() / 0.5).softmax(-1)
    likeliest = int(p.argmax())
    share, expected = float((first.tokens[:, 0] == likeliest).float().mean()), float(p[likeliest])
    assert share == pytest.approx(expected, abs=4 * (expected * (1 - expected) / 200) ** 0.5)


def test_greedy_captions_are_the_same_with_and_without_cached_keys(captioner: Captioner) -> None:
    policy = policy_of(captioner)
    images = policy.images_of(pictures())
    greedy = policy.sample(images, 0.0, torch.Generator())
    with torch.no_grad():
        best = policy.logits(images, greedy).argmax(-1)
    assert (best == greedy.tokens)[greedy.mask].all()
    end = policy.model.config.text_config.sep_token_id
    assert ((greedy.tokens == end) & greedy.mask).sum(1).max() <= 1
    assert greedy.tokens.shape[1] <= policy.longest == 31, "one position is the start token's"


@pytest.mark.parametrize(
    ("side", "rank", "changed"),
    [("language", 4, {"text_decoder"}), ("vision", 4, {"vision_model"}),
     ("both", 4, {"text_decoder", "vision_model"}), ("language", None, {"text_decoder"})],
)  # fmt: skip
def test_only_the_selected_side_is_trained_and_lora_is_saved_merged(
    captioner: Captioner, tmp_path: Path, side: Side, rank: int | None, changed: set[str]
) -> None:
    policy = policy_of(captioner, side, rank)
    images = policy.images_of(pictures())
    samples = policy.samples_of(CAPTIONS)
    optimiser = torch.optim.SGD(policy.parameters(), lr=0.5)
    for _ in range(2):  # LoRA's B is 0 at first: A moves in the second step
        optimiser.zero_grad()
        log_probabilities(policy.logits(images, samples), samples, 1.0).mean().neg().backward()
        optimiser.step()
    policy.save(tmp_path)
    saved = load_captioner(str(tmp_path))
    before, after = captioner.model.state_dict(), saved.model.state_dict()
    assert before.keys() == after.keys(), "LoRA is merged"
    moved = {name for name in before if not torch.allclose(before[name], after[name], atol=1e-6)}
    assert {name.split(".")[0] for name in moved} == changed
    log_p = log_probabilities(policy.logits(images, samples), samples, 1.0).detach()
    (expected,) = saved.log_likelihoods(saved.see(pictures()[0]), CAPTIONS[:1])
    assert float(log_p[0].sum()) == pytest.approx(expected, abs=1e-3)
    # A second policy of the same kind continues from the saved state.
    resumed = policy_of(captioner, side, rank)
    resumed.restore(policy.state())
    assert torch.equal(resumed.logits(images, samples), policy.logits(images, samples))


def test_other_models_and_states_are_refused(captioner: Captioner, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="another captioner or method"):
        policy_of(captioner, "language").restore(policy_of(captioner, "vision").state())
    endless = copy.deepcopy(captioner.model)
    endless.config.text_config.sep_token_id = None
    with pytest.raises(ModelMismatch, match="does not define the token that ends a caption"):
        BlipPolicy(endless, captioner.processor)
    from transformers import CLIPModel

    from backend.engine import hub

    clip = hub.load(CLIPModel, str(random_clip(tmp_path)))
    with pytest.raises(ModelMismatch, match="Only a BLIP captioner"):
        BlipPolicy(clip, captioner.processor)
