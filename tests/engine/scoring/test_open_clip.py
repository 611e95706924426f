"""Small open_clip models in their own format, against open_clip's own forward pass."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

import backend.engine.torchvision_compat  # noqa: F401  (before open_clip)
from backend.engine.captions import Caption
from backend.engine.scoring.loading import load_scorer
from backend.engine.scoring.open_clip_model import OpenClipScorer
from backend.engine.trajectories.driver import run_trajectories
from tests.checkpoints import drawn_pairs

TEXT = {"context_length": 77, "vocab_size": 49408, "width": 64, "heads": 2, "layers": 3}
#: By name: as in CLIP; with bidirectional attention, pooled at the last token.
TEXTS = {
    "traced-causal": TEXT,
    "traced-both-ways": {**TEXT, "no_causal_mask": True, "pool_type": "last"},
}


@pytest.fixture(scope="module", params=TEXTS)
def scorer(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> OpenClipScorer:
    import open_clip

    folder: Path = tmp_path_factory.mktemp("open_clip")
    vision = {"image_size": 48, "layers": 2, "width": 64, "head_width": 32, "patch_size": 16}
    configuration = {"embed_dim": 32, "vision_cfg": vision, "text_cfg": TEXTS[request.param]}
    (folder / f"{request.param}.json").write_text(json.dumps(configuration))
    open_clip.add_model_config(folder)
    torch.manual_seed(0)
    model = open_clip.create_model(request.param)
    torch.save(model.state_dict(), folder / "weights.pt")
    loaded = load_scorer(f"open_clip:{request.param}@{folder / 'weights.pt'}", None, "cpu")
    assert isinstance(loaded, OpenClipScorer)
    return loaded


def test_prefixes_are_shared_if_the_tower_is_causal(scorer: OpenClipScorer) -> None:
    state = scorer.encode_images([drawn_pairs(1)[0][0]])[0]
    caption = Caption.parse("a small red dog sits under the old green tree")
    session = scorer.open_session()
    ((_, trajectory),) = run_trajectories(scorer, [(state, caption)], session=session)
    captions = [trajectory.caption_at(step) for step in range(trajectory.steps + 1)]
    np.testing.assert_allclose(trajectory.scores, scorer.score([(state, captions)])[0], atol=1e-5)
    texts = session.work.sequences
    if scorer.causal is not None:
        assert session.work.tokens < 6 * texts
    else:
        assert session.work.tokens == 77 * texts


def test_gradients_match_finite_differences(scorer: OpenClipScorer) -> None:
    state = scorer.encode_images([drawn_pairs(1)[0][0]])[0]
    (text,) = scorer.reader.tokenise(["a red dog"])
    (gains,) = scorer.open_session().replacement_gains([(state, text)])
    assert gains.shape == (3, 49408)
    table = next(m for m in scorer.model.modules() if isinstance(m, torch.nn.Embedding)).weight
    before = float(scorer.open_session().score([(state, [text])])[0][0])
    direction, step = table[320].detach().clone(), 1e-2
    with torch.no_grad():
        kept = table[text[1]].clone()
        table[text[1]] = kept + step * direction
        # A new scorer's session reads the table as it is now.
        after = float(scorer.open_session().score([(state, [text])])[0][0])
        table[text[1]] = kept
    assert (after - before) / step == pytest.approx(float(gains[1, 320]), rel=0.1, abs=2e-3)
