"""Attributions by every kind of scorer, against a plain computation, batched and one by one."""

from typing import Any

import numpy as np
import pytest
from PIL import Image

import backend.engine.torchvision_compat  # noqa: F401  (before open_clip and transformers)
from backend.engine.captions import Caption
from backend.engine.english.phrases import phrases_of
from backend.engine.phrases.attribution import attribute_phrases
from backend.engine.phrases.nonce import Nonces, make_pools
from backend.engine.scoring.blip import BlipScorer
from backend.engine.scoring.clip import ClipScorer
from backend.engine.scoring.loading import load_scorer
from backend.engine.scoring.protocol import Scorer
from backend.settings import MODELS
from research.bench.reference import reference_scores
from tests.checkpoints import (
    drawn_pairs,
    random_lavis_checkpoint,
    random_open_clip,
    random_siglip,
)
from tests.features.lavis.stand_in import through_a_worker

#: Embedded models, and the other scorers as small checkpoints in their own form.
EMBEDDED = {"clip": "scenes-clip", "blip-itc": "scenes-blip-itm", "blip-itm": "scenes-blip-itm"}
SMALL = {
    "siglip": lambda folder: load_scorer(str(random_siglip(folder, length=40)), None, "cpu"),
    "open_clip": lambda folder: load_scorer(random_open_clip(folder), None, "cpu"),
    "lavis worker": lambda folder: through_a_worker(
        load_scorer(str(random_lavis_checkpoint(folder)), "blip-itm", "cpu")
    ),
}


@pytest.fixture(scope="module", params=[*EMBEDDED, *SMALL])
def scorer(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Scorer:
    if request.param in EMBEDDED:
        return load_scorer(str(MODELS / EMBEDDED[request.param]), request.param, "cpu")
    made: Scorer = SMALL[request.param](tmp_path_factory.mktemp("model"))
    return made


@pytest.fixture(scope="module")
def nonces(scorer: Scorer) -> Nonces:
    return Nonces(scorer.reader, make_pools(scorer.reader, None))


def attributed(scorer: Scorer, nonces: Nonces, pairs: list[Any], **how: Any) -> list[Any]:
    states = scorer.encode_images([image for image, _ in pairs])
    encoded = [(s, Caption.parse(text)) for s, (_, text) in zip(states, pairs, strict=True)]
    by_pair = list(attribute_phrases(scorer, encoded, nonces, **how))
    assert [index for index, _ in by_pair] == list(range(len(pairs)))
    return [scores for _, scores in by_pair]


def test_attributions_equal_the_plain_computation(scorer: Scorer, nonces: Nonces) -> None:
    pairs = drawn_pairs(3, seed=2)
    for (image, text), scores in zip(pairs, attributed(scorer, nonces, pairs), strict=True):
        caption = Caption.parse(text)
        for score, made in zip(
            scores, nonces.substitutions(caption, phrases_of(caption)), strict=True
        ):
            assert score.phrase == made.phrase
            assert score.covered
            s = alone(scorer, image, [text, *made.captions])
            assert score.pas == pytest.approx(s[0] - float(np.mean(s[1:])), abs=2e-4)
            assert score.spread == pytest.approx(float(np.std(s[1:])), abs=2e-4)


def alone(scorer: Scorer, image: Image.Image, texts: list[str]) -> list[float]:
    """s of each text alone: by the reference if there is one, else in a separate call."""
    if isinstance(scorer, ClipScorer | BlipScorer):
        return reference_scores(scorer, image, texts).tolist()
    (state,) = scorer.encode_images([image])
    return [float(scorer.score([(state, [text])])[0][0]) for text in texts]


def test_batched_attributions_equal_single_ones(scorer: Scorer, nonces: Nonces) -> None:
    pairs = [*drawn_pairs(8, seed=5), (drawn_pairs(1)[0][0], "!!")]
    one_by_one = attributed(scorer, nonces, pairs, live=1)
    for a, b in zip(one_by_one, attributed(scorer, nonces, pairs, live=6), strict=True):
        assert [x.phrase for x in a] == [x.phrase for x in b]
        for x, y in zip(a, b, strict=True):
            assert x.pas == pytest.approx(y.pas, abs=1e-6)
            assert x.basis == pytest.approx(y.basis, abs=1e-6)
    assert one_by_one[-1] == ()


def test_support_is_based_on_the_auxiliary_score_if_there_is_one(
    scorer: Scorer, nonces: Nonces
) -> None:
    (scores,) = attributed(scorer, nonces, drawn_pairs(1, seed=3))
    assert all(score.covered for score in scores)
    same = [score.pas == score.basis for score in scores]
    assert all(same) != bool(scorer.info.auxiliary)


def test_only_one_occurrence_of_a_word_is_replaced(nonces: Nonces) -> None:
    caption = Caption.parse("A dog beside a dog")
    first, _, last = nonces.substitutions(caption, phrases_of(caption))
    assert first.nonces == last.nonces
    assert first.captions == tuple(f"A {nonce} beside a dog" for nonce in first.nonces)
    assert last.captions == tuple(f"A dog beside a {nonce}" for nonce in last.nonces)
