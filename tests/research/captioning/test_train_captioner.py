"""A captioner is trained on a cleaned dataset, interrupted, resumed and used."""

import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from backend.engine.correction.captioner_loading import load_captioner
from backend.errors import SettingsError, TrainingError
from backend.features.captioners.clipcap import load_clipcap
from backend.jobs.export_choice import ExportChoice
from backend.settings import MODELS, load_settings
from backend.workspace import QueueFilter, Workspace
from research.captioning import cleaned_training as job
from research.captioning.captioner_recipe import CaptionerRecipe
from research.captioning.cleaned_training import CaptionerReport, train_captioner
from research.scenes.grammar import describe
from research.scenes.renderer import render
from research.scenes.world import make_scene
from tests.checkpoints import random_clip, random_language_model
from tests.datasets.folders import image_folder
from tests.fixtures.sizes import Sizes

PICTURES, CAPTIONS = 64, 5
CORRECTED = "A captioner must learn this."


@pytest.fixture(autouse=True)
def small_batches(sizes: Sizes) -> None:
    """Steps of self-retrieval on fewer pictures than the published hundred."""
    sizes(_BATCH=16)


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """A CLIP and a language model."""
    folder = tmp_path_factory.mktemp("parts")
    return str(random_clip(folder)), str(random_language_model(folder / "language-model"))


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    """Pictures with several captions each; a tenth of the pairs were dropped, one corrected."""
    root = tmp_path_factory.mktemp("data")
    rng = random.Random(11)
    scenes = [make_scene(rng) for _ in range(PICTURES)]
    rows = [
        {"file_name": f"{i}.png", "caption": describe(scene, rng).text}
        for i, scene in enumerate(scenes)
        for _ in range(CAPTIONS)
    ]
    image_folder(root / "pairs", rows, ())
    for i, scene in enumerate(scenes):
        render(scene, 48).save(root / "pairs" / f"{i}.png")
    opened = Workspace(
        load_settings(
            {"data_directory": str(root / "state"), "model": str(MODELS / "scenes-clip")}, {}
        )
    )
    dataset = opened.find_or_import(str(root / "pairs"))
    queue = opened.review.queue_page(
        QueueFilter(dataset, order="position", descending=False), None, PICTURES * CAPTIONS
    )
    for number, row in enumerate(queue.rows):
        if number % 10 == 3:
            opened.review.decide(row.pair_id, 0, "drop")
    opened.review.decide(queue.rows[110].pair_id, 0, "correction", CORRECTED)
    yield opened
    opened.store.close()


def recipe_of(parts: tuple[str, str], **more: Any) -> CaptionerRecipe:
    usual: dict[str, Any] = {
        "clip": parts[0], "language_model": parts[1], "epochs": 0.3, "learning_rate": 1e-2,
        "held_out": 0.2, "compare": False,
    }  # fmt: skip
    return CaptionerRecipe.parse(usual | more)


def trained(workspace: Workspace, out: Path, recipe: CaptionerRecipe) -> CaptionerReport:
    return train_captioner(workspace.store, workspace.engine, 1, out, recipe)


def test_cleaned_and_raw_data_are_compared_and_the_captioner_is_usable(
    workspace: Workspace, parts: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    learnt: list[list[str]] = []

    class Watched(job.Likelihood):
        def __init__(self, policy: Any, images_of: Any, pairs: Sequence[Any], recipe: Any) -> None:
            learnt.append([caption for _, caption in pairs])
            super().__init__(policy, images_of, pairs, recipe)

    monkeypatch.setattr(job, "Likelihood", Watched)
    report = trained(workspace, tmp_path, recipe_of(parts, compare=True))
    cleaned, raw = report.figures
    assert [cleaned.trained_on, raw.trained_on] == ["cleaned", "raw"]
    assert [cleaned.pairs, raw.pairs] == [len(captions) for captions in learnt]
    assert 0.85 < cleaned.pairs / raw.pairs < 0.95
    assert [CORRECTED in captions for captions in learnt] == [True, False]
    for row in report.figures:
        assert 0 <= row.rd100 <= 1
        assert sorted(row.bags) == [3, 5, 7]
        assert row.cider is not None
    assert "cleaned" in (tmp_path / "report.md").read_text()
    assert (tmp_path / "report.json").exists()
    captioner = load_captioner(str(report.model))
    assert isinstance(captioner.describe(render(make_scene(random.Random(1)), 48)), str)


def test_killed_and_resumed_training_ends_with_the_same_weights(
    workspace: Workspace, parts: tuple[str, str], tmp_path: Path, sizes: Sizes
) -> None:
    recipe = recipe_of(
        parts, self_retrieval=True, bags=True, lora_rank=2, retrieval_steps=3, retrieval_rate=1e-2
    )
    whole = trained(workspace, tmp_path / "whole", recipe)
    sizes(EVERY=0.0)
    for stage, step in (("Learning", 2), ("Self-retrieval", 2)):

        def kill(done: int, total: int, message: str, stage: str = stage, at: int = step) -> None:
            if message.startswith(stage) and done == at:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            train_captioner(
                workspace.store, workspace.engine, 1, tmp_path / "killed", recipe, progress=kill
            )
    steps: list[tuple[str, int]] = []
    again = train_captioner(
        workspace.store, workspace.engine, 1, tmp_path / "killed", recipe,
        progress=lambda done, total, message: steps.append((message.split()[0], done)),
    )  # fmt: skip
    assert not any(stage == "Learning" for stage, _ in steps)
    assert [done for stage, done in steps if stage == "Self-retrieval"] == [2, 3]
    assert again.figures == whole.figures
    weights, before = (load_clipcap(report.model).model.state_dict() for report in (again, whole))
    assert all(torch.equal(weight, before[name]) for name, weight in weights.items())
    learnt = load_clipcap(tmp_path / "whole" / "training" / "cleaned-likelihood").model.state_dict()
    name = "language_model.transformer.h.0.attn.c_attn.weight"
    assert not torch.equal(before[name], learnt[name])  # LoRA is merged into what is saved


def test_a_trained_captioner_is_continued(
    workspace: Workspace, parts: tuple[str, str], tmp_path: Path
) -> None:
    first = trained(workspace, tmp_path / "first", recipe_of(parts))
    more = recipe_of(parts, language_model=None, captioner=str(first.model))
    assert trained(workspace, tmp_path / "second", more).model.exists()
    with pytest.raises(SettingsError, match="would be overwritten"):
        trained(workspace, tmp_path / "first", more)


@pytest.mark.parametrize("side", ["vision", "both"])
def test_self_retrieval_may_train_the_vision_side(
    workspace: Workspace, parts: tuple[str, str], tmp_path: Path, side: Any
) -> None:
    recipe = recipe_of(
        parts, self_retrieval=True, side=side, lora_rank=2, retrieval_steps=2, retrieval_rate=1e-2
    )
    report = trained(workspace, tmp_path, recipe)
    learnt, tuned = (
        load_clipcap(folder).model.state_dict()
        for folder in (tmp_path / "training" / "cleaned-likelihood", report.model)
    )
    moved = {name.split(".")[0] for name in learnt if not torch.equal(learnt[name], tuned[name])}
    assert moved == {"prefix", "vision"} | ({"language_model"} if side == "both" else set())
    # A different side is a different training, so the checkpoint is not continued.
    other = recipe_of(parts, self_retrieval=True, lora_rank=2, retrieval_steps=2,
                      retrieval_rate=1e-2)  # fmt: skip
    with pytest.raises(SettingsError, match="other settings"):
        trained(workspace, tmp_path, other)
    if side == "both":
        return
    # Continued: the tower has been trained, so its vectors differ from those of the original CLIP.
    for captioner in (tmp_path / "training" / "cleaned-likelihood", report.model):
        again = recipe_of(parts, language_model=None, captioner=str(captioner), epochs=0.1)
        trained(workspace, tmp_path / "again", again)
        (tmp_path / "again" / "training" / "cleaned.pt").unlink()
    first, second = (tmp_path / "again" / "training").glob("vectors-*.npy")
    assert not np.allclose(np.load(first), np.load(second))


def test_too_little_data_is_refused_with_the_number(
    workspace: Workspace, parts: tuple[str, str], tmp_path: Path
) -> None:
    few = ExportChoice(decided_only=True)
    with pytest.raises(TrainingError, match=r"1 of the dataset\'s pairs are kept.* at least 200"):
        train_captioner(workspace.store, workspace.engine, 1, tmp_path, recipe_of(parts), few)
    with pytest.raises(TrainingError, match=r"64 pictures have more than one, at least 100"):
        trained(workspace, tmp_path, recipe_of(parts, self_retrieval=True, cider=0.5))
    with pytest.raises(TrainingError, match=r"\d+ pairs are left for training .* at least 200"):
        trained(workspace, tmp_path, recipe_of(parts, held_out=0.7))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"language_model": None}, "Name the parts"),
        ({"captioner": "blip"}, "not both"),
        ({"captioner": "blip", "language_model": None, "clip": None, "self_retrieval": True},
         "rewarded by a CLIP"),
        ({"cider": 0.5}, "belong to self-retrieval"),
        ({"bags": True}, "belong to self-retrieval"),
        ({"as_published": True}, "belong to self-retrieval"),
        ({"side": "both"}, "request self-retrieval"),
        ({"side": "left", "self_retrieval": True}, "side"),
        ({"held_out": 1.0}, "held_out"),
        ({"epochs": float("nan")}, "epochs"),
        ({"epochs": float("inf")}, "epochs"),
        ({"batch": 0}, "batch"),
        ({"learning_rate": -1.0}, "learning_rate"),
        ({"retrieval_rate": float("nan"), "self_retrieval": True}, "retrieval_rate"),
        ({"cider": float("inf"), "self_retrieval": True}, "cider"),
        ({"lora_rank": -1}, "lora_rank"),
        ({"clip": str(MODELS / "scenes-clip"), "self_retrieval": True}, "judge"),
    ],
)  # fmt: skip
def test_options_that_do_not_go_together_are_refused(
    workspace: Workspace, parts: tuple[str, str], tmp_path: Path, changed: Any, message: str
) -> None:
    with pytest.raises(SettingsError, match=message):
        trained(workspace, tmp_path, recipe_of(parts, **changed))
