"""A dataset remembers the models that it was scored with; loaded models share one memory limit."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from backend.datasets.cells import split_proof
from backend.errors import SettingsError, UnknownPictures, explain
from backend.jobs.dataset_models import with_models
from backend.jobs.known_pictures import recognise, sampled
from backend.loaded_models import Engine, ModelCache
from backend.settings import EMBEDDED_CAPTIONER, EMBEDDED_SCORER, Settings, load_settings
from backend.workspace import Workspace
from db.queries import dataset_queries
from db.queries import runs as run_queries
from research.scenes import demo
from tests.checkpoints import random_clip
from tests.datasets.folders import image_folder
from tests.engine.concreteness.test_concreteness import classifier
from tests.fixtures.sizes import Sizes
from tests.research.scenes.other_pictures import generated


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return random_clip(tmp_path_factory.mktemp("models"))


def opened(folder: Path, **options: Any) -> Workspace:
    return Workspace(load_settings({"data_directory": str(folder / "state"), **options}, {}))


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    demo.write(tmp_path / "pairs", 4, 0, 96, seed=5)
    return tmp_path


def model_of_run(workspace: Workspace, dataset: int) -> str:
    with workspace.store.reading() as session:
        run = run_queries.latest_run(session, dataset, "score")
    assert run is not None
    return Path(run.model).name


def test_later_commands_and_pages_use_the_remembered_model(pairs: Path, clip: Path) -> None:
    first = opened(pairs, model=str(clip), explorer="fast-gcd", steps=2, top=4)
    dataset = first.find_or_import(str(pairs / "pairs"))
    first.jobs.score(dataset, suggestions=False)
    first.store.close()
    again = opened(pairs)
    assert again.engines.of_dataset(dataset).settings.model == str(clip)
    assert again.engines.of_dataset(dataset).exploring.steps == 2
    assert again.jobs.score(dataset, suggestions=False).skipped == 4
    pair = again.review.queue_page(_all(dataset)).rows[0]
    assert again.review.check_caption(pair.pair_id, "a dog").s <= 1
    assert again.engines.of_pair(pair.pair_id).scorer.info.kind == "clip"
    again.jobs.score(dataset, suggestions=False, model="embedded")  # a second scorer
    assert model_of_run(again, dataset) == EMBEDDED_SCORER.name
    assert again.engines.of_dataset(dataset).settings.model == str(EMBEDDED_SCORER)
    assert again.review.queue_page(_all(dataset)).rows[0].disagreement is not None
    again.store.close()


def _all(dataset: int) -> Any:
    from backend.workspace import QueueFilter

    return QueueFilter(dataset)


def test_datasets_in_one_workspace_have_separate_models(pairs: Path, clip: Path) -> None:
    demo.write(pairs / "others", 4, 0, 96, seed=6)
    workspace = opened(pairs)
    first, second = (workspace.find_or_import(str(pairs / name)) for name in ("pairs", "others"))
    workspace.jobs.score(first, suggestions=False)
    workspace.jobs.score(second, suggestions=False, model=str(clip))
    for _ in range(2):  # alternately, and each keeps its model
        for dataset, kind in ((first, "blip-itm"), (second, "clip")):
            pair = workspace.review.queue_page(_all(dataset)).rows[0]
            engine = workspace.engines.of_pair(pair.pair_id)
            assert engine is workspace.engines.of_dataset(dataset)
            assert engine.scorer.info.kind == kind
            view = workspace.review.open_pair(pair.pair_id)
            assert view.trajectory is not None
            checked = workspace.review.check_caption(pair.pair_id, pair.caption)
            assert checked.s == pytest.approx(float(view.trajectory.scores[0]), abs=1e-4)
            assert workspace.jobs.score(dataset, suggestions=False).skipped == 4
    assert model_of_run(workspace, first) == EMBEDDED_SCORER.name
    assert model_of_run(workspace, second) == clip.name
    workspace.store.close()


def test_captioner_concreteness_and_precision_are_remembered(pairs: Path, clip: Path) -> None:
    concreteness = str(classifier(pairs / "icc", labels=1))
    first = opened(pairs, model=str(clip), captioner=str(EMBEDDED_CAPTIONER),
                   concreteness=concreteness, precision="bfloat16")  # fmt: skip
    dataset = first.find_or_import(str(pairs / "pairs"))
    first.jobs.score(dataset, suggestions=False)
    first.store.close()
    again = opened(pairs)
    engine = again.engines.of_dataset(dataset)
    kept = engine.settings
    assert kept.captioner_model == str(EMBEDDED_CAPTIONER)
    assert kept.concreteness == concreteness
    assert (kept.precision, engine.scorer.info.precision) == ("bfloat16", "bfloat16")
    unsaid = again.engine.settings
    assert unsaid.concreteness != concreteness
    assert unsaid.precision is None
    again.store.close()


def test_a_dataset_scored_before_datasets_remembered(pairs: Path, clip: Path) -> None:
    workspace = opened(pairs, model=str(clip))
    dataset = workspace.find_or_import(str(pairs / "pairs"))
    workspace.jobs.score(dataset, suggestions=False)
    with workspace.store.writing() as session:
        dataset_queries.remember_models(session, dataset, {})
    workspace.store.close()
    again = opened(pairs)
    assert again.engines.of_dataset(dataset).settings.model == str(clip)
    assert again.jobs.score(dataset, suggestions=False).skipped == 4
    again.store.close()


def settings(options: dict[str, Any], environment: dict[str, str] | None = None) -> Settings:
    return load_settings({"data_directory": "/d", **options}, environment or {})


def test_options_override_remembered_models_and_those_the_environment() -> None:
    stored = {"model": "a/b", "kind": "clip", "captioner": "c/d", "explorer": "gcd"}
    kept = with_models(settings({}, {"TRACED_MODEL": "e/f", "TRACED_EXPLORER": "gcd"}), stored)
    assert (kept.model, kept.kind, kept.captioner, kept.explorer) == ("a/b", "clip", "c/d", "gcd")
    other = with_models(settings({"model": "e/f"}), stored)
    assert (other.model, other.kind, other.captioner) == ("e/f", None, None)
    assert other.explorer == "gcd"
    same = with_models(settings({"model": "a/b", "captioner": "none"}), stored)
    assert (same.kind, same.captioner) == ("clip", "none")
    server = settings({"model": "e/f"}).for_datasets_without_models()
    assert with_models(server, stored).model == "a/b"
    assert with_models(server, {}).model == "e/f"


def test_a_preset_sets_its_captioner_unless_one_is_named() -> None:
    thorough = settings({"model": "thorough"})
    assert thorough.model == "Salesforce/blip-itm-base-coco"
    assert thorough.captioner_model == "Salesforce/blip-image-captioning-base"
    assert settings({"model": "thorough", "captioner": "none"}).captioner_model is None
    assert settings({"model": "fast"}).captioner_model is None
    assert settings({"model": "embedded"}).model == str(EMBEDDED_SCORER)


class Loaded:
    def __init__(self, numbers: int) -> None:
        self.model = torch.nn.Linear(numbers, 1, bias=False)


def test_the_least_recently_used_model_is_released_first() -> None:
    model_cache = ModelCache(4 * 250)
    made: list[str] = []

    def get(name: str, numbers: int = 100) -> Loaded:
        def load() -> Loaded:
            made.append(name)
            return Loaded(numbers)

        loaded: Loaded = model_cache.get(name, load)
        return loaded

    get("a"), get("b"), get("a"), get("c")
    assert made == ["a", "b", "c"]
    get("a")
    assert made == ["a", "b", "c"]
    get("b")
    assert made == ["a", "b", "c", "b"]
    get("huge", 1000)
    assert len(model_cache) == 1
    assert get("huge", 1000) is get("huge", 1000)


def test_engines_with_equal_settings_are_reused_and_all_share_a_lock(tmp_path: Path) -> None:
    engine = Engine(settings({"data_directory": str(tmp_path)}))
    other = engine.with_settings(settings({"data_directory": str(tmp_path), "explorer": "gcd"}))
    assert engine.with_settings(engine.settings) is engine
    assert other is not engine
    assert (other.lock, other.spending) == (engine.lock, engine.spending)
    assert other.scorer is engine.scorer


# ------------------------------------------------------------- pictures unknown to a model


#: Too few to train a detector.
PHOTOGRAPHS = 8
#: Enough for a first detector.
MIXED = 20


def photographs(folder: Path) -> Path:
    """Pictures of kinds that the embedded model was not trained on, with captions."""
    pictures = generated(3, PHOTOGRAPHS)
    names = tuple(f"{number}.png" for number in range(len(pictures)))
    captions = [f"A {kind} of a holiday, with two friends and a dog" for kind, _ in pictures]
    rows = [
        {"file_name": name, "caption": text} for name, text in zip(names, captions, strict=True)
    ]
    image_folder(folder, rows, ())
    for name, (_, image) in zip(names, pictures, strict=True):
        image.save(folder / name)
    return folder


def test_pictures_unknown_to_the_model_are_not_scored(pairs: Path, clip: Path) -> None:
    workspace = opened(pairs)
    dataset = workspace.find_or_import(str(photographs(pairs / "photographs")))
    with pytest.raises(UnknownPictures, match=r"8 of 8 pictures.*the embedded model") as refused:
        workspace.jobs.score(dataset, suggestions=False)
    assert "--anyway" in explain(refused.value, "terminal")
    assert "--" not in explain(refused.value, "page")
    with workspace.store.reading() as session:
        assert run_queries.latest_run(session, dataset, "score") is None
    workspace.jobs.score(dataset, suggestions=False, model=str(clip))
    picture = generated(4, 1)[0][1]
    assert workspace.review.playground(picture, "A dog", dataset).scored_by.startswith("clip")
    with pytest.raises(UnknownPictures):
        workspace.review.playground(picture, "A dog")
    assert workspace.review.playground(picture, "A dog", anyway=True).s_0 <= 1
    workspace.store.close()


def test_a_caption_of_a_picture_unknown_to_the_model_is_not_scored(pairs: Path) -> None:
    workspace = opened(pairs)
    dataset = workspace.find_or_import(str(photographs(pairs / "photographs")))
    first = workspace.review.queue_page(_all(dataset)).rows[0].pair_id
    with pytest.raises(UnknownPictures, match=r"'\d+\.png' is unlike anything that the") as refused:
        workspace.review.check_caption(first, "A dog")
    assert "--" not in explain(refused.value, "page")
    scenes = workspace.find_or_import(str(pairs / "pairs"))
    drawn = workspace.review.queue_page(_all(scenes)).rows[0].pair_id
    assert workspace.review.check_caption(drawn, "A dog").s <= 1
    workspace.jobs.score(dataset, suggestions=False, anyway=True)
    assert workspace.review.check_caption(first, "A dog").s <= 1
    workspace.store.close()


def test_a_decision_to_score_anyway_is_remembered(pairs: Path) -> None:
    folder = photographs(pairs / "photographs")
    workspace = opened(pairs)
    dataset = workspace.find_or_import(str(folder))
    assert workspace.jobs.score(dataset, suggestions=False, anyway=True).scored == PHOTOGRAPHS
    workspace.store.close()
    again = opened(pairs)
    assert again.jobs.score(dataset, suggestions=False).skipped == PHOTOGRAPHS
    assert not recognise(again.store, again.engine, dataset).is_refused
    again.store.close()


def test_new_pictures_of_another_kind_are_noticed_in_a_dataset_that_is_scored(pairs: Path) -> None:
    workspace = opened(pairs)
    dataset = workspace.find_or_import(str(pairs / "pairs"))
    workspace.jobs.score(dataset, suggestions=False)
    table = pairs / "pairs" / "metadata.jsonl"
    for number, (_, image) in enumerate(generated(5, 3)):
        image.save(pairs / "pairs" / "images" / f"new-{number}.png")
        row = {"file_name": f"images/new-{number}.png", "id": f"n{number}", "caption": "A dog"}
        table.write_text(table.read_text() + json.dumps(row) + "\n")
    workspace.jobs.import_dataset(pairs / "pairs")
    with pytest.raises(UnknownPictures, match="3 of 3"):
        workspace.jobs.score(dataset, suggestions=False)
    workspace.store.close()


def test_a_sample_covers_the_whole_stream() -> None:
    names = sampled(f"{number // 2:04}" for number in range(2000))
    assert len(names) == len(set(names)) == 60
    assert max(map(int, names)) > 900
    assert min(map(int, names)) < 100
    assert sampled(iter(["a", "a", "b"])) == ["a", "b"]


def test_a_dataset_opens_at_once_and_its_job_refuses(pairs: Path) -> None:
    workspace = opened(pairs)
    dataset = workspace.prepare(str(photographs(pairs / "photographs")))
    (job,) = workspace.jobs.recent()
    assert workspace.jobs.background.wait(250)
    job = workspace.jobs.job(job.id)
    assert (job.kind, job.dataset_id, job.status) == ("score", dataset, "failed")
    assert job.asks_for_model
    assert "8 of 8 pictures" in job.message
    assert "--" not in job.message
    assert workspace.jobs.last_scoring(dataset) == job
    workspace.jobs.score(dataset, suggestions=False, anyway=True)
    assert workspace.prepare("photographs") == dataset
    assert len(workspace.jobs.recent()) == 1
    drawn = workspace.prepare(str(pairs / "pairs"))
    last = workspace.jobs.last_scoring(drawn)
    assert last is not None
    assert last.id == workspace.jobs.recent()[0].id
    assert workspace.jobs.background.wait(250)
    assert workspace.jobs.recent()[0].status == "done"
    workspace.store.close()


def mixed(folder: Path, foreign: int, more: int = 0) -> Path:
    """Scenes and the given number of pictures of other kinds, which have two captions each."""
    demo.write(folder, MIXED, 0, 96, seed=5)
    table = folder / "metadata.jsonl"
    for number, (_, image) in enumerate(generated(5 + more, foreign)):
        name = f"images/other-{more}-{number}.png"
        image.save(folder / name)
        for text in ("A dog", "A cat"):
            row = {"file_name": name, "id": f"{name} {text}", "caption": text}
            table.write_text(table.read_text() + json.dumps(row) + "\n")
    return folder


def left_out(workspace: Workspace, dataset: int) -> list[str]:
    return [p.file for p in workspace.problems(dataset) if p.kind == "unknown picture"]


def test_single_pictures_unknown_to_the_model_are_left_out(
    pairs: Path, clip: Path, sizes: Sizes
) -> None:
    sizes(BATCH=6)
    workspace = opened(pairs, detector="logistic")
    dataset = workspace.find_or_import(str(mixed(pairs / "mixed", 2)))
    names = ["images/other-0-0.png", "images/other-0-1.png"]
    assert workspace.prepare("mixed") == dataset
    assert workspace.jobs.background.wait(250)
    (started,) = workspace.jobs.recent()
    done = started.result
    assert (started.status, done["scored"], done["unknown"]) == ("done", MIXED, 4)
    rows = workspace.review.queue_page(_all(dataset), None, 40).rows
    assert {split_proof(row.image_path)[0] for row in rows if row.p_error is None} == set(names)
    assert left_out(workspace, dataset) == names
    # They are neither unfinished work nor a reason to refuse: a second run has nothing to do.
    assert workspace.prepare("mixed") == dataset
    assert len(workspace.jobs.recent()) == 1
    again = workspace.jobs.score(dataset, suggestions=False)
    assert (again.scored, again.skipped, again.unknown) == (0, MIXED, 4)
    assert left_out(workspace, dataset) == names
    with pytest.raises(SettingsError, match="scored with this model already"):
        workspace.jobs.estimate(dataset)
    other = next(row.pair_id for row in rows if split_proof(row.image_path)[0] == names[0])
    with pytest.raises(UnknownPictures):
        workspace.review.check_caption(other, "A dog")
    # A model that recognises every picture scores them too, and so does `anyway`.
    by_clip = workspace.jobs.score(dataset, suggestions=False, model=str(clip))
    assert (by_clip.scored, by_clip.unknown) == (MIXED + 4, 0)
    assert left_out(workspace, dataset) == []
    anyway = workspace.jobs.score(dataset, suggestions=False, model="embedded", anyway=True)
    assert (anyway.scored, anyway.skipped, anyway.unknown) == (4, MIXED, 0)
    workspace.store.close()
