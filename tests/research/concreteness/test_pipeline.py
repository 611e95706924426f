"""The ICC pipeline: the properties of each stage, and the whole on very small real models."""

from collections.abc import Sequence
from dataclasses import astuple
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from backend.engine.concreteness.scoring import score_captions
from backend.engine.scoring.loading import load_scorer
from backend.errors import DatasetFormatError, ModelUnavailable, SettingsError, TrainingError
from backend.settings import EMBEDDED_CAPTIONER, MODELS
from research.concreteness import pipeline, semantic_bottleneck
from research.concreteness.correlations import agreement
from research.concreteness.fidelity import (
    edit_similarity,
    meaning_similarity,
)
from research.concreteness.pipeline import (
    EDIT,
    MEANING,
    average_clip,
    load_parts,
    make,
    read_ratings,
    standardise,
    uniformly,
)
from research.concreteness.semantic_bottleneck import load_semantic_bottleneck, train
from research.concreteness.visual_bottleneck import load_diffusion
from tests.checkpoints import drawn_folder, drawn_pairs
from tests.engine.concreteness.small_models import language_model, text_encoder, text_to_image
from tests.fixtures.sizes import Sizes

ABSTRACT = ["Hope springs eternal", "Our commitment to quality", "Never give up", "Terms apply"]


def captions(count: int) -> list[str]:
    return [text for _, text in drawn_pairs(count, seed=9)]


@pytest.fixture(scope="module")
def gallery(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Sixteen pictures, in the form that `load_parts` takes."""
    return f"gallery:{drawn_folder(tmp_path_factory.mktemp('gallery'), 16)}"


@pytest.fixture
def short_searches(sizes: Sizes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two beams and short texts: how the best beam is chosen does not depend on their number."""
    sizes(BEAMS=2, _LONGEST_CAPTION=20)
    monkeypatch.setattr(semantic_bottleneck, "_LONGEST", 20)


def test_fidelity_is_one_for_the_same_text_and_small_for_another() -> None:
    same, other = edit_similarity(["A red dog"] * 2, ["a red dog", "Terms apply"])
    assert same == 1
    assert other < 0.4
    meant, apart, nothing = meaning_similarity(
        ["A red dog on the sand"] * 3, ["A red dog on the sand", "Terms and conditions apply", ""]
    )
    assert meant == pytest.approx(1, abs=1e-3)
    assert apart < 0.6
    assert nothing == 0


def test_standardised_scores_have_the_same_distribution_at_every_length() -> None:
    rng = np.random.default_rng(0)
    lengths = [5] * 200 + [12] * 200 + [40] * 3
    scores = 1 / (1 + np.exp(-np.array([rng.normal(2 if n == 5 else -1) for n in lengths])))
    standard = standardise(scores.tolist(), lengths)
    logits = np.log(standard / (1 - standard))
    short, long = logits[:200], logits[200:]
    assert (short.mean(), long.mean()) == (pytest.approx(0.5), pytest.approx(0.5))
    assert (short.std(), long.std()) == (pytest.approx(1), pytest.approx(1))
    assert (np.argsort(standard[:200]) == np.argsort(scores[:200])).all()
    assert standardise([0.5, 0.5], [3, 900]).tolist() == pytest.approx([0.622, 0.622], abs=1e-3)


def test_the_combination_follows_the_score_that_agrees_with_the_ratings() -> None:
    rng = np.random.default_rng(1)
    good, noise = rng.random(200), rng.random(200)
    ratings = (good * 4).astype(int).tolist()
    combination = pipeline.fit(good.tolist(), noise.tolist(), ratings)
    assert combination.vba > 5 * abs(combination.sba)
    assert agreement(combination(good.tolist(), noise.tolist()).tolist(), ratings).pearson > 0.8
    with pytest.raises(TrainingError, match="all equally concrete"):
        pipeline.fit([0.1, 0.2], [0.1, 0.2], [1, 1])


def test_only_the_linear_layer_is_trained(tmp_path: Path) -> None:
    texts = captions(64)
    bottleneck = load_semantic_bottleneck(
        str(MODELS / "scenes-clip"), str(language_model(tmp_path / "lm", texts)), prefix=2
    )
    before = [p.clone() for p in bottleneck.model.parameters()]
    losses = train(bottleneck, texts, epochs=6, batch=16, learning_rate=2e-2)
    assert losses[-1] < losses[0]
    assert all((a == b).all() for a, b in zip(before, bottleneck.model.parameters(), strict=True))
    assert len(bottleneck.reconstruct(texts[0])) == 5


def test_the_semantic_bottleneck_uses_clips_raw_vectors_without_weight_decay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = captions(8)
    bottleneck = load_semantic_bottleneck(
        str(MODELS / "scenes-clip"), str(language_model(tmp_path / "lm", texts))
    )
    inputs = bottleneck.clip_tokenizer(texts, padding=True, truncation=True, return_tensors="pt")
    with torch.inference_mode():
        wanted = bottleneck.clip.get_text_features(**inputs)
    wanted = getattr(wanted, "pooler_output", wanted)
    assert not torch.allclose(wanted.norm(dim=1), torch.ones(8), atol=0.05)
    torch.testing.assert_close(bottleneck.vectors(texts), wanted)
    # Without a gradient, only weight decay could change the weights.
    monkeypatch.setattr(semantic_bottleneck, "_loss", lambda b, part: 0.0 * b.linear.weight.sum())
    before = bottleneck.linear.weight.detach().clone()
    train(bottleneck, texts, epochs=2, batch=4, learning_rate=0.1)
    assert torch.equal(bottleneck.linear.weight, before)


@pytest.mark.usefixtures("short_searches")
@pytest.mark.parametrize("kind", ["diffusion", "gallery"])
def test_the_pipeline_produces_a_scorer_and_resumes(
    kind: str, gallery: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # With random weights, twenty steps draw nothing better.
    monkeypatch.setattr(pipeline, "load_diffusion", partial(load_diffusion, steps=3))
    texts = captions(50)
    rated = [*((text, 3.0) for text in captions(56)[50:]), *((text, 0.0) for text in ABSTRACT)]
    every = [*texts, *(text for text, _ in rated)]
    source = str(text_to_image(tmp_path / "sd", every)) if kind == "diffusion" else gallery
    parts = load_parts(
        source, str(EMBEDDED_CAPTIONER), str(MODELS / "scenes-clip"),
        str(language_model(tmp_path / "lm", every)),
        distill_into=str(text_encoder(tmp_path / "bert", every)),
    )  # fmt: skip
    out = tmp_path / "out"
    report = make(texts, rated, parts, out, epochs=1, distillation_epochs=1)
    assert (report.captions, report.labelled) == (50, 10)
    # The combination is fitted to what the two distilled encoders predict (stage one).
    rated_texts, ratings = [text for text, _ in rated], [rating for _, rating in rated]
    vba, sba = (score_captions(rated_texts, str(out / n), clipped=False) for n in ("vba", "sba"))
    weights = pipeline.fit(vba, sba, ratings)
    assert astuple(report.weights) == pytest.approx(astuple(weights), abs=1e-3)
    assert report.distilled_vba.pearson == pytest.approx(agreement(vba, ratings).pearson, abs=0.01)
    final = score_captions(rated_texts, str(report.model), clipped=False)
    assert report.distilled.pearson == pytest.approx(agreement(final, ratings).pearson, abs=0.01)
    assert set(report.by_measure) == {
        f"{which}, {measure}" for which in ("VBA", "SBA") for measure in (EDIT, MEANING)
    }
    assert report.ave_clip is None
    rows = (out / "scores.csv").read_text().splitlines()
    (out / "scores.csv").write_text("\n".join(rows[:-3]) + "\nA half row,0.")
    again = make(texts, rated, parts, out, epochs=1, distillation_epochs=1)
    assert again.semantic_losses == []
    assert again.vba.pearson == pytest.approx(report.vba.pearson, abs=1e-4)
    assert again.combined.pearson == pytest.approx(report.combined.pearson, abs=1e-4)
    (out / "version").unlink()
    with pytest.raises(SettingsError, match="version 1"):
        make(texts, rated, parts, out, epochs=1, distillation_epochs=1)


def test_captions_to_rate_are_spread_over_both_scores() -> None:
    rng = np.random.default_rng(3)
    vba, sba = rng.beta(8, 2, 4000), rng.beta(2, 2, 4000)  # most are easy to draw
    chosen = uniformly(vba, sba, 200, seed=1)
    assert len(set(chosen)) == 200
    assert chosen == uniformly(vba, sba, 200, seed=1)
    assert (vba < 0.5).mean() < 0.03
    assert (vba[chosen] < 0.5).mean() > 0.15
    assert sorted(uniformly(vba[:7], sba[:7], 200)) == list(range(7))


def test_aveclip_is_the_mean_cosine_of_the_pictures_drawn() -> None:
    made = drawn_pairs(3, seed=4)
    scorer = load_scorer(str(MODELS / "scenes-clip"), "clip", "cpu")

    class InTurn:
        def draw(self, captions: Sequence[str], seed: int) -> list[Image.Image]:
            return [made[seed][0] for _ in captions]

    (average,) = average_clip([made[1][1]], InTurn(), scorer, 2, seed=1)
    seen = scorer.image_embeddings(scorer.encode_images([made[1][0], made[2][0]]))
    assert seen is not None
    cosines = seen @ scorer.text_embeddings([made[1][1]])[0]
    assert average == pytest.approx(float(cosines.mean()), abs=1e-5)
    assert np.ptp(cosines) > 0.01


def test_unusable_inputs_are_reported(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="no pictures"):
        load_parts(f"gallery:{tmp_path}", "x", str(MODELS / "scenes-clip"), "y")
    with pytest.raises(ModelUnavailable, match="text-to-image"):
        load_parts(str(tmp_path), "x", "y", "z")
    bad = tmp_path / "ratings.csv"
    bad.write_text("caption,rating\nA dog,3\nA cat,many\n")
    with pytest.raises(DatasetFormatError, match="row 3"):
        read_ratings(bad)
    bad.write_text("caption,rating\nA dog,3\n")
    with pytest.raises(DatasetFormatError, match="1 ratings"):
        read_ratings(bad)


@pytest.mark.parametrize(
    "end", [b"A cat,0.51,0.4", b'"A dog\n', b"A cat,0.51,0.42,a", "A \u00e4".encode()[:-1]]
)
def test_an_unfinished_row_is_computed_again(end: bytes, tmp_path: Path) -> None:
    """A truncated score would be read as a different score."""
    file = tmp_path / "scores.csv"
    whole = b'caption,vba,sba,by_picture,by_vector\r\n"A dog\nruns",0.25,0.5,a,b\r\n'
    file.write_bytes(whole + end)
    pipeline._cut_unfinished_row(file)
    assert file.read_bytes() == whole
    assert pipeline._read(file) == {"A dog\nruns": (0.25, 0.5, "a", "b")}
