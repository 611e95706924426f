"""The engine computes exactly what its queries require, and no more."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from backend.engine.captions import Caption
from backend.engine.scoring.dual_encoder import DualEncoder
from backend.engine.scoring.loading import load_scorer
from backend.engine.trajectories.driver import run_trajectories
from backend.engine.trajectories.exploring import Exploring
from research.bench.measure_scoring import Recorder, operations, plain_operations, shape_of
from research.bench.reference import ReferenceSession
from tests.checkpoints import drawn_pairs, random_blip, random_clip
from tests.research.bench.lower_bounds import causal_bound, matching_bound, packed_bound

WAYS = [
    Exploring(),
    Exploring("fast-gcd", steps=3, top=12),
    Exploring("gcd", steps=2, candidates=9),
]


@pytest.fixture(scope="module", params=["clip", "blip-itc", "blip-itm"])
def scorer(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> DualEncoder:
    folder: Path = tmp_path_factory.mktemp("model")
    made = random_clip(folder) if request.param == "clip" else random_blip(folder)
    loaded = load_scorer(str(made), request.param, "cpu")
    assert isinstance(loaded, DualEncoder)
    return loaded


PAIRS = drawn_pairs(5, seed=2)


def run(scorer: DualEncoder, exploring: Exploring) -> Recorder:
    states = scorer.encode_images([image for image, _ in PAIRS])
    pairs = [(s, Caption.parse(text)) for s, (_, text) in zip(states, PAIRS, strict=True)]
    recorder = Recorder(scorer.open_session())
    for _ in run_trajectories(scorer, pairs, exploring, live=len(PAIRS), session=recorder):
        pass
    return recorder


@pytest.fixture(scope="module")
def eliminated(scorer: DualEncoder) -> Recorder:
    return run(scorer, Exploring())


@pytest.mark.parametrize("exploring", WAYS, ids=lambda way: way.name)
def test_counted_work_equals_the_bound(scorer: DualEncoder, exploring: Exploring) -> None:
    recorder = run(scorer, exploring)
    if scorer.info.kind == "blip-itm":
        bound = matching_bound(recorder.rounds, shape_of(scorer).patches)
    elif scorer.info.kind == "blip-itc":
        bound = packed_bound(recorder.rounds)
    else:
        bound = causal_bound(recorder.rounds)
        # Prefixes are dropped after two rounds: GCD may meet one again.
        spare = 1.0 if exploring.name == "elimination" else 1.1
        assert bound.tokens <= recorder.work.tokens <= spare * bound.tokens
        bound = replace(bound, tokens=recorder.work.tokens, attended=recorder.work.attended)
    assert recorder.work == bound


def test_operations_equal_those_that_torch_counts(
    scorer: DualEncoder, eliminated: Recorder
) -> None:
    """Of scoring alone: c of ITM is computed after the trajectory."""
    session = scorer.open_session()
    states = scorer.encode_images([image for image, _ in PAIRS])
    counter = FlopCounterMode(display=False)
    with torch.no_grad(), sdpa_kernel(SDPBackend.MATH), counter:
        for requests in eliminated.rounds:
            session.score([(states[image], texts) for image, texts in requests])
    wanted, counted = operations(session.work, shape_of(scorer)), counter.get_total_flops()
    if scorer.info.kind == "clip":
        # New tokens attend through one mask, which hides some keys after computing them.
        assert wanted <= counted <= 1.15 * wanted
    else:
        assert counted == wanted


def test_reference_operations_equal_those_that_torch_counts(
    scorer: DualEncoder, eliminated: Recorder
) -> None:
    session = ReferenceSession(scorer)  # pyrefly: ignore[bad-argument-type]
    states = scorer.encode_images([image for image, _ in PAIRS])
    counter = FlopCounterMode(display=False)
    with torch.no_grad(), sdpa_kernel(SDPBackend.MATH), counter:
        for requests in eliminated.rounds[::3]:
            session.score([(states[image], texts) for image, texts in requests])
    counted = counter.get_total_flops()
    # Only the cosine with the image and an image's ITC vector are not counted.
    assert counted == pytest.approx(plain_operations(session.work, shape_of(scorer)), rel=2e-3)
