"""LAVIS: its checkpoints in our classes, and LAVIS itself in a separate process.

Skipped unless `make lavis` has created its environment; name conversion is always tested.
"""

import string
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

import backend.engine.torchvision_compat  # noqa: F401  (before transformers' image processors)
from backend.engine.captions import Caption
from backend.engine.scoring.blip import BlipScorer
from backend.engine.scoring.loading import load_scorer
from backend.engine.trajectories.driver import run_trajectories
from backend.engine.trajectories.exploring import Exploring
from backend.errors import ModelMismatch, ModelUnavailable
from backend.features.lavis.checkpoint import convert
from backend.features.lavis.scorer import LavisScorer, LavisWorker
from backend.features.lavis.worker import refuse_downloads
from tests.checkpoints import lavis_names, random_blip
from tests.engine.trajectories.comparison import assert_same_trajectory

PYTHON = Path(__file__).resolve().parents[4] / ".venv-lavis" / "bin" / "python"
needs_lavis = pytest.mark.skipif(not PYTHON.is_file(), reason="make lavis has not been run")


def vocabulary(folder: Path, size: int) -> None:
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]",
             "a", "red", "dog", "under", "the", "tree"]  # fmt: skip
    letters = [*string.ascii_lowercase[1:], *(f"##{c}" for c in string.ascii_lowercase), "."]
    filler = [f"[unused{i}]" for i in range(size - len(words) - len(letters) - 2)]
    (folder / "vocab.txt").write_text("\n".join([*words, *letters, *filler]) + "\n")


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, BlipScorer]:
    """A small checkpoint under LAVIS's names, and the scorer whose weights it holds."""
    folder = tmp_path_factory.mktemp("small")
    scorer = load_scorer(str(random_blip(folder)), "blip-itm", "cpu")
    assert isinstance(scorer, BlipScorer)
    state = lavis_names(scorer.model.state_dict())
    state |= {"queue": torch.zeros(2), "text_encoder_m.x": torch.zeros(1), "temp": torch.zeros(1)}
    torch.save({"model": state}, folder / "model.pth")
    vocabulary(folder, scorer.reader.vocabulary)  # pyrefly: ignore[missing-attribute]
    return folder / "model.pth", scorer


def test_names_are_converted_both_ways_and_the_rest_is_left_out(
    small: tuple[Path, BlipScorer],
) -> None:
    path, scorer = small
    stored = torch.load(path, weights_only=True)["model"]
    weights = scorer.model.state_dict()
    converted = convert(stored)
    assert converted.keys() == weights.keys() - {"text_encoder.embeddings.position_ids"}
    assert all(torch.equal(converted[name], weights[name]) for name in converted)


def test_unusable_checkpoints_are_reported(tmp_path: Path) -> None:
    (tmp_path / "junk.pth").write_bytes(b"not a checkpoint")
    with pytest.raises(ModelUnavailable, match="cannot be read"):
        load_scorer(str(tmp_path / "junk.pth"))
    torch.save({"model": {"visual_encoder.cls_token": torch.zeros(1)}}, tmp_path / "other.pth")
    with pytest.raises(ModelMismatch, match="not a BLIP retrieval checkpoint"):
        load_scorer(str(tmp_path / "other.pth"))
    with pytest.raises(ModelUnavailable, match="no file"):
        load_scorer(str(tmp_path / "gone.pth"))


def test_a_missing_environment_is_reported_with_how_to_create_it(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match="make lavis"):
        LavisWorker("lavis:x", "blip-itm", "cpu", tmp_path / "python")


def test_nothing_is_downloaded_automatically(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """LAVIS and timm would, as soon as a model is named without a file."""
    monkeypatch.setattr(torch.hub, "download_url_to_file", torch.hub.download_url_to_file)
    refuse_downloads()
    with pytest.raises(FileNotFoundError, match=r"nothing is downloaded automatically.*@FILE\.pth"):
        torch.hub.load_state_dict_from_url("https://example.com/x.pth", str(tmp_path))
    heard = tmp_path / "heard"
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\necho "$HF_HUB_OFFLINE $TRANSFORMERS_OFFLINE" > {heard}\n')
    python.chmod(0o755)
    with pytest.raises(ModelUnavailable, match="has ended"):
        LavisWorker("lavis:blip_image_text_matching", "blip-itm", "cpu", python)
    assert heard.read_text() == "1 1\n"


def test_released_images_are_forgotten_by_the_worker() -> None:
    class Noting:
        forgotten: list[int] = []
        handles = 0

        def ask(self, header: dict[str, Any], blobs: Sequence[bytes] = ()) -> tuple[Any, list]:
            self.forgotten += header["forget"]
            self.handles += 1
            return {"handle": self.handles}, []

    worker = Noting()
    scorer = LavisScorer(None, None, worker)  # pyrefly: ignore[bad-argument-type]
    states = scorer.encode_images([IMAGE, IMAGE, IMAGE])
    del states[:2]
    kept = scorer.encode_images([IMAGE])
    assert sorted(worker.forgotten) == [1, 2]
    del states
    scorer.encode_images([IMAGE])
    assert sorted(worker.forgotten) == [1, 2, 3]
    assert len(kept) == 1


# The tests below use the published size, the only one that LAVIS supports.


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Random weights of ViT-B/16 at 384 with BERT base, in LAVIS's form."""
    from research.bench.random_models import random_scorer

    folder = tmp_path_factory.mktemp("published")
    state = lavis_names(random_scorer("blip-itm").model.state_dict())
    torch.save({"model": state}, folder / "model.pth")
    vocabulary(folder, 30_524)
    return folder / "model.pth"


IMAGE = Image.fromarray(
    np.random.default_rng(0).integers(0, 255, (384, 384, 3), dtype=np.uint8).astype(np.uint8)
)
CAPTIONS = ["a red dog", "the dog under a tree.", "", "a red dog"]


@needs_lavis
@pytest.mark.parametrize("kind", ["blip-itm", "blip-itc"])
def test_lavis_and_our_classes_give_the_same_numbers(published: Path, kind: str) -> None:
    theirs = load_scorer(f"lavis:blip_image_text_matching/base@{published}", kind, "cpu")
    ours = load_scorer(str(published), kind, "cpu")
    state, our_state = theirs.encode_images([IMAGE])[0], ours.encode_images([IMAGE])[0]
    np.testing.assert_allclose(
        theirs.score([(state, CAPTIONS)])[0], ours.score([(our_state, CAPTIONS)])[0], atol=1e-4
    )
    np.testing.assert_allclose(
        theirs.text_embeddings(CAPTIONS), ours.text_embeddings(CAPTIONS), atol=1e-4
    )
    caption = Caption.parse("a red dog under")
    for how in (Exploring(), Exploring("fast-gcd", steps=1, top=4, whole_words=False)):
        ((_, far),) = run_trajectories(theirs, [(state, caption)], how)
        ((_, near),) = run_trajectories(ours, [(our_state, caption)], how)
        assert_same_trajectory(near, far)


@needs_lavis
def test_errors_of_the_worker_are_reported(published: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match="no model 'nothing'"):
        load_scorer("lavis:nothing")
    worker = LavisWorker(f"lavis:blip_image_text_matching@{published}", "blip-itm", "cpu")
    with pytest.raises(ModelUnavailable, match="KeyError"):
        worker.ask({"do": "score", "requests": [{"handle": 99, "texts": [[5]]}]})
    worker.ask({"do": "hello"})  # it continues after an error
    subprocess.run(["pkill", "-9", "-f", f"lavis_worker.py.*{published}"], check=False)
    with pytest.raises(ModelUnavailable, match="has ended"):
        worker.ask({"do": "hello"})
