"""Every scorer against the reference implementation, and with unusual input."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from safetensors.torch import load_file, save_file

from backend.engine.captions import Caption
from backend.engine.scoring.batch_memory import CPU, CUDA
from backend.engine.scoring.dual_encoder import DualEncoder
from backend.engine.scoring.loading import load_scorer
from backend.engine.scoring.protocol import Scorer
from backend.engine.trajectories.driver import run_trajectories
from backend.engine.trajectories.exploring import Exploring
from backend.errors import ModelMismatch, ModelUnavailable, SettingsError
from research.bench.reference import reference_scores
from tests.checkpoints import drawn_pairs, random_blip, random_captioner, random_clip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("models")
    random_blip(made)
    random_clip(made)
    return made


@pytest.fixture(scope="module", params=["clip", "blip-itc", "blip-itm"])
def scorer(request: pytest.FixtureRequest, folder: Path) -> Scorer:
    return load_scorer(str(folder / request.param.split("-")[0]), request.param, "cpu")


CAPTIONS = [
    "A dog.",
    "",
    "a red dog under a green tree in a park on a sunny day",
    "completely unknown vocabulary 🐕",
    "A dog.",
    "two boats, " * 60,
]


def test_scores_equal_the_reference(scorer: Scorer) -> None:
    images = [image for image, _ in drawn_pairs(3)]
    states = scorer.encode_images(images)
    batches = [CAPTIONS, CAPTIONS[:2], CAPTIONS[2:]]
    all_scores = scorer.score(list(zip(states, batches, strict=True)))
    for image, captions, scores in zip(images, batches, all_scores, strict=True):
        assert scores.dtype == np.float32
        np.testing.assert_allclose(scores, reference_scores(scorer, image, captions), atol=1e-4)  # pyrefly: ignore[bad-argument-type]


def test_empty_input_gives_empty_output(scorer: Scorer) -> None:
    state = scorer.encode_images([drawn_pairs(1)[0][0]])[0]
    assert scorer.encode_images([]) == []
    assert [len(scores) for scores in scorer.score([(state, []), (state, ["A dog."])])] == [0, 1]
    assert len(scorer.text_embeddings([])) == 0


def test_words_beyond_the_context_are_not_read(scorer: Scorer) -> None:
    assert scorer.reader.words_read("A red dog.") == 3
    assert scorer.reader.words_read("") == 0
    assert 10 <= scorer.reader.words_read("dog " * 50) < 50
    # What is beyond the context changes nothing.
    state = scorer.encode_images([drawn_pairs(1)[0][0]])[0]
    long, longer = "dog " * 50, "dog " * 50 + "in a park"
    (scores,) = scorer.score([(state, [long, longer])])
    assert scores[0] == pytest.approx(scores[1], abs=1e-6)


def test_pictures_of_any_size_are_scored(scorer: Scorer) -> None:
    images = [Image.new("RGB", (1, 1)), Image.new("RGB", (700, 30), "red")]
    states = scorer.encode_images(images)
    assert all(
        np.isfinite(scores).all() for scores in scorer.score([(s, ["A dog"]) for s in states])
    )


def test_the_default_kind_is_the_checkpoints_own(folder: Path) -> None:
    assert load_scorer(str(folder / "clip"), device="cpu").info.kind == "clip"
    loaded = load_scorer(str(folder / "blip"), device="cpu")
    assert loaded.info.kind == "blip-itm"
    assert "drawn scenes" in loaded.info.limits


@pytest.mark.parametrize("make", [random_clip, random_blip])
def test_a_model_that_gives_no_numbers_is_refused(
    tmp_path: Path, make: Callable[[Path], Path]
) -> None:
    """As of a checkpoint in half precision whose weights were too large."""
    folder = make(tmp_path)
    (path,) = folder.glob("*.safetensors")
    weights = load_file(path)
    name = next(name for name in weights if name.endswith("post_layernorm.weight"))
    save_file({**weights, name: weights[name] * float("inf")}, path, {"format": "pt"})
    with pytest.raises(ModelMismatch, match="NaN"):
        load_scorer(str(folder), device="cpu")


def test_other_weights_have_another_revision(folder: Path, tmp_path: Path) -> None:
    revision = load_scorer(str(folder / "blip"), device="cpu").info.revision
    again = load_scorer(str(random_blip(tmp_path / "same")), device="cpu").info.revision
    other = load_scorer(str(random_blip(tmp_path / "other", seed=1)), device="cpu").info.revision
    assert revision == again
    assert revision != other


def test_unloadable_models_and_unknown_names_are_reported(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match="has not been downloaded"):
        load_scorer("nobody/nothing-of-this-name", device="cpu")
    with pytest.raises(ModelUnavailable, match=r"no config\.json"):
        load_scorer(str(tmp_path), device="cpu")
    with pytest.raises(ModelMismatch, match="lacks"):
        load_scorer(str(random_captioner(tmp_path / "captioner")), device="cpu")
    with pytest.raises(ModelMismatch, match="not clip"):
        load_scorer(str(folder / "blip"), "clip", "cpu")
    with pytest.raises(SettingsError, match="no scorer 'melon'"):
        load_scorer(str(folder / "blip"), "melon", "cpu")
    with pytest.raises(SettingsError, match="no device 'abacus'"):
        load_scorer(str(folder / "blip"), None, "abacus")


@pytest.mark.parametrize("kind", ["blip-itm", "blip-itc", "clip"])
def test_an_accelerators_batches_give_the_same_trajectories(folder: Path, kind: str) -> None:
    """More pairs than are in flight, so that images take the place of others; in two sessions."""
    scorer = load_scorer(str(folder / kind.split("-")[0]), kind, "cpu")
    assert isinstance(scorer, DualEncoder)
    drawn = drawn_pairs(12)
    states = scorer.encode_images([image for image, _ in drawn])
    captions = [Caption.parse(f"{caption} {'near a tree ' * (i % 3)}") for i, (_, caption) in
                enumerate(drawn)]  # fmt: skip
    for name in ("elimination", "fast-gcd"):
        exploring = Exploring(name, steps=2, top=4)
        results = []
        for pace in (CPU, CUDA):
            scorer.pace = pace
            vars(scorer).pop("tower", None)
            run = run_trajectories(scorer, zip(states, captions, strict=True), exploring, live=3)
            results.append(dict(run))
        for index, plain in results[0].items():
            padded = results[1][index]
            assert padded.removed == plain.removed
            np.testing.assert_allclose(padded.scores, plain.scores, atol=1e-6)
            np.testing.assert_allclose(padded.similarities, plain.similarities, atol=1e-6)
