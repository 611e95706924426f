"""`evaluate --published`: the published names, here with random weights in a local hub cache."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from backend.engine import hub_cache
from backend.engine.trajectories.exploring import Exploring
from backend.errors import ModelUnavailable, SettingsError
from research.evaluation import papers_setting
from research.evaluation.evaluate import Plan
from research.evaluation.labelled import from_dataset
from research.evaluation.result_tables import markdown, published_result
from research.evaluation.scored import LabelledSource
from tests.checkpoints import drawn_folder, random_blip, random_clip
from tests.fixtures.hub_server import set_constants
from tests.fixtures.sizes import Sizes

COMMIT = "0123456789abcdef0123456789abcdef01234567"
FLICKR, COCO = papers_setting.BLIP.values()


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, Callable], None]:
    """Puts random weights into an empty hub cache, under a published name."""
    set_constants(monkeypatch, HF_HUB_CACHE=str(tmp_path / "hub"))

    def put(name: str, make: Callable[[Path], Path]) -> None:
        folder = hub_cache.folder_of(name)
        (folder / "refs").mkdir(parents=True)
        (folder / "refs" / "main").write_text(COMMIT)
        (folder / "snapshots").mkdir()
        make(tmp_path / name).rename(folder / "snapshots" / COMMIT)

    return put


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    folder = drawn_folder(tmp_path / "coco", 44, seed=9)
    return Plan(dataset=str(folder), pairs=40, seeds=1, device="cpu", cache=tmp_path / "cache")


def test_the_setting_is_the_papers() -> None:
    of_blip, of_clip = papers_setting.plans(Plan(dataset="data/dataset_flickr30k.json"))
    assert (of_blip.model, of_blip.scorers) == (FLICKR, ["blip-itm", "blip-itc"])
    assert of_clip.scorers == ["clip", "lemon-fix", "lemon-opt"]
    for planned in (of_blip, of_clip):
        assert planned.detector == "paper"
        assert planned.noises == ("random", "noun", "fine-grained")
        assert [how.name for how in planned.explorers] == ["elimination", "fast-gcd", "gcd"]
        assert planned.explorers[0].unit == "token"
        assert not planned.explorers[2].whole_words
        assert [planned.explorers[2].steps, planned.explorers[2].top] == [10, 128]
    (alone,) = papers_setting.plans(Plan(dataset="mm-imdb"))  # no BLIP was fine-tuned on it
    assert alone.noises == ("random", "noun")
    with pytest.raises(SettingsError, match="not one of the paper's datasets"):
        papers_setting.plans(Plan())


def test_scorers_and_explorers_can_be_chosen() -> None:
    flickr, imdb = Plan(dataset="data/dataset_flickr30k.json"), Plan(dataset="mm-imdb")
    (of_blip,) = papers_setting.plans(flickr, ["blip-itm"], ["elimination"])
    assert (of_blip.model, of_blip.scorers) == (FLICKR, ["blip-itm"])
    assert of_blip.explorers == [Exploring("elimination", unit="token")]
    (of_clip,) = papers_setting.plans(flickr, ["lemon-opt"], ["gcd", "fast-gcd"])
    assert of_clip.scorers == ["lemon-opt"]
    assert [how.name for how in of_clip.explorers] == ["fast-gcd", "gcd"]
    with pytest.raises(SettingsError, match="does not evaluate blip-itm on mm-imdb"):
        papers_setting.plans(imdb, ["blip-itm"])
    with pytest.raises(SettingsError, match="does not evaluate lazy on flickr30k"):
        papers_setting.plans(flickr, explorers=["lazy"])


def test_missing_models_are_named(plan: Plan, hub: Callable) -> None:
    with pytest.raises(ModelUnavailable, match=COCO):
        papers_setting.estimate(papers_setting.plans(plan))


def test_the_published_setting_is_estimated_run_and_resumed(
    plan: Plan, hub: Callable, sizes: Sizes, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub(COCO, random_blip)
    hub(papers_setting.CLIP, random_clip)
    monkeypatch.setattr(papers_setting, "EXPLORERS", (Exploring(unit="token"),))
    sizes(TIMED=1)
    of_blip, of_clip = papers_setting.plans(plan)
    timed = [
        replace(of_blip, scorers=("blip-itc",), noises=("random",)),
        replace(of_clip, scorers=("clip",), noises=("random", "noun")),
    ]
    planned = papers_setting.estimate(timed)
    assert planned.runs == 3
    of_blip_itc, of_clip_alone = (times.trajectories for times in planned.times)
    assert planned.seconds == pytest.approx(40 / 1000 * (of_blip_itc + 2 * of_clip_alone))
    assert "3 runs of 40 pairs will take about" in papers_setting.in_words(planned)
    some = [replace(timed[1], noises=(noise,)) for noise in ("random", "noun")]
    report = papers_setting.evaluate_as_published(some)
    assert [(r.scorer, r.noise) for r in report.results] == [("clip", "random"), ("clip", "noun")]
    text = markdown(report)
    theirs = published_result(6, "ms-coco", "clip", "elimination", "noun", "auc_percent")
    assert str(theirs) in text
    assert "Table 1" in text
    assert "Table 6" in text
    written = {file: file.stat().st_mtime_ns for file in plan.cache.iterdir()}
    again = papers_setting.evaluate_as_published(some)
    assert [r.auc for r in again.results] == [r.auc for r in report.results]
    assert {file: file.stat().st_mtime_ns for file in plan.cache.iterdir()} == written


def split_copy(folder: Path, errors: bool) -> Path:
    """60 drawn pairs with Karpathy's kinds of splits; `errors`: every second caption is recorded
    as a fine-grained error, as the command `noise` writes it."""

    def columns(i: int, text: str) -> dict[str, object]:
        split: dict[str, object] = {"split": ("train", "val", "test")[min(i // 24, 2)]}
        if not errors:
            return split
        wrong = {"wrong": True, "kind": "fine_grained", "kinds": ["noun"], "changed": [[0, 1]]}
        return {**split, "original_caption": text, "noise": wrong if i % 2 else {"wrong": False}}

    return drawn_folder(folder, 60, 9, columns)


def test_lemon_is_fitted_on_validation_pairs_and_banks_training_pairs(tmp_path: Path) -> None:
    path = split_copy(tmp_path / "coco", errors=False)
    pairs = from_dataset(path, None, 50, "random", 0, test_count=8)
    assert pairs.test is not None
    assert pairs.validation is not None
    assert pairs.test.sum() == 8
    source = LabelledSource(pairs, pairs.test, "opt")
    labels, bank = source.labels(), source.training_keys()
    assert labels is not None
    assert bank is not None
    assert set(labels) == set(np.flatnonzero(pairs.validation))
    assert not set(bank.tolist()) & (set(labels) | set(np.flatnonzero(pairs.test)))
    assert set(bank.tolist()) | set(labels) | set(np.flatnonzero(pairs.test)) == set(range(50))


def test_recorded_errors_are_evaluated_beside_the_papers_fine_grained_ones(
    tmp_path: Path,
) -> None:
    """On two devices, here both the processor: one process each, with the same result."""
    clip = str(random_clip(tmp_path / "models"))
    path = split_copy(tmp_path / "coco", errors=True)
    plan = Plan(
        dataset=str(path), pairs=60, seeds=1, device="cpu", cache=tmp_path / "cache",
        noises=("recorded",), test_pairs=12, devices=("cpu", "cpu"),
    )  # fmt: skip
    _, of_clip = papers_setting.plans(plan)
    assert of_clip.noises == ("recorded",)
    alone = replace(of_clip, model=clip, scorers=("clip",), explorers=of_clip.explorers[:1])
    report = papers_setting.evaluate_as_published([alone])
    text = markdown(report)
    assert (
        str(published_result(6, "ms-coco", "clip", "elimination", "fine-grained", "auc_percent"))
        in text
    )
    single = replace(alone, devices=(), cache=tmp_path / "other")
    assert [r.auc for r in papers_setting.evaluate_as_published([single]).results] == [
        r.auc for r in report.results
    ]
