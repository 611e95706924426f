"""A dataset remembers the models that it was scored with; loaded models share one memory limit."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from backend.datasets.cells import split_proof
from backend.errors import SettingsError, UnknownPictures, explain
from backend.jobs.scoring.dataset_models import with_models
from backend.jobs.scoring.known_pictures import recognise, sample_names
from backend.loaded_models import Engine, ModelCache
from backend.settings import EMBEDDED_CAPTIONER, EMBEDDED_SCORER, Settings, load_settings
from backend.workspace import QueueFilter, Workspace
from db.queries import dataset_queries, run_queries
from db.queries.queue_filter import QueueRow
from research.scenes import demo
from tests.checkpoints import random_clip
from tests.datasets.folders import image_folder
from tests.engine.concreteness.test_concreteness import classifier
from tests.fixtures.features import needs
from tests.fixtures.interrupting import stop_at
from tests.fixtures.sizes import Sizes
from tests.jobs.opening import OpenWorkspace, scoring_of
from tests.research.scenes.other_pictures import generated


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return random_clip(tmp_path_factory.mktemp("models"))


@pytest.fixture
def pairs(tmp_path: Path) -> str:
    demo.write(tmp_path / "pairs", 4, 0, 96, seed=5)
    return str(tmp_path / "pairs")


def model_of_run(workspace: Workspace, dataset: int) -> str:
    return Path(scoring_of(workspace, dataset).model).name


def first_row(workspace: Workspace, dataset: int) -> QueueRow:
    return workspace.review.queue_page(QueueFilter(dataset)).rows[0]


def test_later_commands_and_pages_use_the_remembered_models(
    open_workspace: OpenWorkspace, pairs: str, clip: Path, tmp_path: Path
) -> None:
    concreteness = str(classifier(tmp_path / "icc", labels=1))
    named = {"captioner": str(EMBEDDED_CAPTIONER), "concreteness": concreteness}
    first = open_workspace(model=str(clip), explorer="fast-gcd", steps=2, top=4,
                           precision="bfloat16", **named)  # fmt: skip
    dataset = first.find_or_import(pairs)
    first.jobs.score(dataset, suggestions=False)

    again = open_workspace()
    unsaid, engine = again.engine.settings, again.engines.of_dataset(dataset)
    remembered = engine.settings
    assert (remembered.model, engine.exploring.steps) == (str(clip), 2)
    assert remembered.captioner_model == str(EMBEDDED_CAPTIONER)
    assert remembered.concreteness == concreteness != unsaid.concreteness
    assert (remembered.precision, engine.scorer.info.precision) == ("bfloat16", "bfloat16")
    assert unsaid.precision is None
    assert again.jobs.score(dataset, suggestions=False).skipped == 4
    pair = first_row(again, dataset).pair_id
    assert again.review.check_caption(pair, "a dog").s <= 1
    assert again.engines.of_pair(pair).scorer.info.kind == "clip"
    # Datasets of earlier versions remember none: their run says which.
    again.store.write(dataset_queries.remember_models, dataset, {})
    assert open_workspace().engines.of_dataset(dataset).settings.model == str(clip)

    again.jobs.score(dataset, suggestions=False, model="embedded")  # a second scorer
    assert model_of_run(again, dataset) == EMBEDDED_SCORER.name
    assert again.engines.of_dataset(dataset).settings.model == str(EMBEDDED_SCORER)
    assert first_row(again, dataset).numbers["disagreement"] is not None


def test_datasets_in_one_workspace_have_separate_models(
    workspace: Workspace, pairs: str, clip: Path, tmp_path: Path
) -> None:
    demo.write(tmp_path / "others", 4, 0, 96, seed=6)
    first, second = (workspace.find_or_import(p) for p in (pairs, str(tmp_path / "others")))
    workspace.jobs.score(first, suggestions=False)
    workspace.jobs.score(second, suggestions=False, model=str(clip))
    for _ in range(2):  # alternately, and each keeps its model
        for dataset, kind in ((first, "blip-itm"), (second, "clip")):
            pair = first_row(workspace, dataset)
            engine = workspace.engines.of_pair(pair.pair_id)
            assert engine is workspace.engines.of_dataset(dataset)
            assert engine.scorer.info.kind == kind
            view = workspace.review.open_pair(pair.pair_id)
            assert view.opinion.trajectory is not None
            checked = workspace.review.check_caption(pair.pair_id, pair.caption)
            assert checked.s == pytest.approx(float(view.opinion.trajectory.scores[0]), abs=1e-4)
            assert workspace.jobs.score(dataset, suggestions=False).skipped == 4
    assert model_of_run(workspace, first) == EMBEDDED_SCORER.name
    assert model_of_run(workspace, second) == clip.name


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
#: Enough not to be refused for the pictures of another kind among them.
MIXED = 20


def photographs(folder: Path) -> Path:
    """Pictures of kinds that the embedded model was not trained on, with captions."""
    folder.mkdir()
    rows = []
    for number, (kind, image) in enumerate(generated(3, PHOTOGRAPHS)):
        image.save(folder / f"{number}.png")
        caption = f"A {kind} of a holiday, with two friends and a dog"
        rows.append({"file_name": f"{number}.png", "caption": caption})
    return image_folder(folder, rows, ())


@pytest.fixture
def unknown(workspace: Workspace, tmp_path: Path) -> int:
    """A dataset of photographs."""
    return workspace.find_or_import(str(photographs(tmp_path / "photographs")))


def test_pictures_unknown_to_the_model_are_not_scored(workspace: Workspace, unknown: int) -> None:
    with pytest.raises(UnknownPictures, match=r"8 of 8 pictures.*the embedded model") as refused:
        workspace.jobs.score(unknown, suggestions=False)
    assert "--anyway" in explain(refused.value, "terminal")
    assert "--" not in explain(refused.value, "page")
    with workspace.store.reading() as session:
        assert run_queries.latest_run(session, unknown, "score") is None
    with pytest.raises(UnknownPictures):
        workspace.jobs.estimate(unknown)
    assert workspace.jobs.estimate(unknown, anyway=True).pairs == PHOTOGRAPHS


@needs("playground")
def test_a_picture_unknown_to_the_model_is_not_analysed(
    workspace: Workspace, unknown: int, clip: Path
) -> None:
    from backend.features.playground.checking import analyse

    workspace.jobs.score(unknown, suggestions=False, model=str(clip))
    picture = generated(4, 1)[0][1]
    assert analyse(workspace, picture, "A dog", unknown).scored_by.startswith("clip")
    with pytest.raises(UnknownPictures):
        analyse(workspace, picture, "A dog")
    assert analyse(workspace, picture, "A dog", anyway=True).s_0 <= 1


def test_a_decision_to_score_anyway_is_remembered(
    workspace: Workspace, unknown: int, pairs: str, open_workspace: OpenWorkspace
) -> None:
    first = first_row(workspace, unknown).pair_id
    with pytest.raises(UnknownPictures, match=r"'\d+\.png' is unlike anything that the") as refused:
        workspace.review.check_caption(first, "A dog")
    assert "--" not in explain(refused.value, "page")
    drawn = first_row(workspace, workspace.find_or_import(pairs)).pair_id
    assert workspace.review.check_caption(drawn, "A dog").s <= 1
    report = workspace.jobs.score(unknown, suggestions=False, anyway=True)
    assert report.scored == PHOTOGRAPHS
    assert workspace.review.check_caption(first, "A dog").s <= 1
    # Its chances are no figures; those of pictures that it knows are, also if it was told to.
    assert workspace.review.is_unfamiliar(unknown)
    assert workspace.review.open_pair(first).is_unfamiliar
    familiar = workspace.find_or_import(pairs)
    workspace.jobs.score(familiar, suggestions=False, anyway=True)
    assert not workspace.review.is_unfamiliar(familiar)
    again = open_workspace()
    assert again.jobs.score(unknown, suggestions=False).skipped == PHOTOGRAPHS
    assert again.review.is_unfamiliar(unknown), "also after it was scored again"
    dataset = again.store.read(dataset_queries.get_dataset, unknown)
    assert not recognise(again.store, again.engine, dataset).refusal


def add_pictures(
    folder: Path, count: int, captions: tuple[str, ...] = ("A dog",), called: str = "other"
) -> list[str]:
    """Pictures of other kinds, and their rows; returns their names."""
    names = [f"images/{called}-{number}.png" for number in range(count)]
    with (folder / "metadata.jsonl").open("a") as table:
        for name, (_, image) in zip(names, generated(5, count), strict=True):
            image.save(folder / name)
            for text in captions:
                row = {"file_name": name, "id": f"{name} {text}", "caption": text}
                table.write(json.dumps(row) + "\n")
    return names


def test_new_pictures_of_another_kind_are_noticed_in_a_dataset_that_is_scored(
    workspace: Workspace, pairs: str
) -> None:
    dataset = workspace.find_or_import(pairs)
    workspace.jobs.score(dataset, suggestions=False)
    add_pictures(Path(pairs), 3)
    workspace.jobs.import_dataset(pairs)
    with pytest.raises(UnknownPictures, match="3 of 3"):
        workspace.jobs.score(dataset, suggestions=False)


def test_a_sample_covers_the_whole_stream() -> None:
    names = sample_names(f"{number // 2:04}" for number in range(2000))
    assert len(names) == len(set(names)) == 60
    assert max(map(int, names)) > 900
    assert min(map(int, names)) < 100
    assert sample_names(iter(["a", "a", "b"])) == ["a", "b"]


def test_a_dataset_opens_at_once_and_its_job_refuses(
    workspace: Workspace, pairs: str, tmp_path: Path
) -> None:
    dataset = workspace.prepare(str(photographs(tmp_path / "photographs")))
    (job,) = workspace.jobs.recent()
    assert workspace.jobs.background.wait(250)
    job = workspace.jobs.job(job.id)
    assert (job.kind, job.dataset_id, job.status) == ("score", dataset, "failed")
    assert job.failure == "UnknownPictures"
    assert "8 of 8 pictures" in job.message
    assert "--" not in job.message
    assert workspace.jobs.last_scoring(dataset) == job
    workspace.jobs.score(dataset, suggestions=False, anyway=True)
    assert workspace.prepare("photographs") == dataset
    assert len(workspace.jobs.recent()) == 1
    drawn = workspace.prepare(pairs)
    last = workspace.jobs.last_scoring(drawn)
    assert last is not None
    assert last.id == workspace.jobs.recent()[0].id
    assert workspace.jobs.background.wait(250)
    assert workspace.jobs.recent()[0].status == "done"


def left_out(workspace: Workspace, dataset: int) -> list[str]:
    return [p.file for p in workspace.problems(dataset) if p.kind == "unknown picture"]


def test_single_pictures_unknown_to_the_model_are_left_out(
    open_workspace: OpenWorkspace, tmp_path: Path, clip: Path, sizes: Sizes
) -> None:
    sizes(BATCH=6)
    demo.write(tmp_path / "mixed", MIXED, 0, 64, seed=5)
    names = add_pictures(tmp_path / "mixed", 2, ("A dog", "A cat"))
    workspace = open_workspace(detector="eight signs", trajectories="first-step")
    dataset = workspace.find_or_import(str(tmp_path / "mixed"))
    done = workspace.jobs.score(dataset, suggestions=False)
    assert (done.scored, done.unknown) == (MIXED, 4)
    rows = workspace.review.queue_page(QueueFilter(dataset), None, 40).rows
    assert {split_proof(row.image_path)[0] for row in rows if row.p_error is None} == set(names)
    assert left_out(workspace, dataset) == names
    # They are neither unfinished work nor a reason to refuse: a second run has nothing to do.
    assert workspace.prepare("mixed") == dataset
    assert workspace.jobs.recent() == []
    workspace.jobs.import_dataset(tmp_path / "mixed", name="mixed")
    assert workspace.prepare("mixed") == dataset, "an import forgets none of them"
    assert workspace.jobs.recent() == []
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


def test_a_stopped_job_goes_on_although_the_unknown_pictures_come_last(
    open_workspace: OpenWorkspace, tmp_path: Path, sizes: Sizes
) -> None:
    """By name they follow the others: of what remains they are more than a tenth, of the dataset
    they are not. Nor are the others unknown if these are scored anyway."""
    sizes(BATCH=6)
    demo.write(tmp_path / "mixed", MIXED, 0, 64, seed=5)
    add_pictures(tmp_path / "mixed", 2, called="unlike")
    workspace = open_workspace(detector="eight signs", trajectories="first-step")
    dataset = workspace.find_or_import(str(tmp_path / "mixed"))
    with pytest.raises(KeyboardInterrupt):
        workspace.jobs.score(
            dataset, suggestions=False, progress=stop_at(18, "Comparing pictures and captions")
        )
    done = workspace.jobs.score(dataset, suggestions=False)
    assert (done.skipped > 0, done.scored + done.skipped, done.unknown) == (True, MIXED, 2)
    workspace.jobs.score(dataset, suggestions=False, anyway=True)
    with workspace.store.reading() as session:
        assert not dataset_queries.get_dataset(session, dataset).is_unfamiliar


def test_a_dataset_scored_as_written_says_so_and_stays_until_it_is_scored_again(
    open_workspace: OpenWorkspace, pairs: str, tmp_path: Path
) -> None:
    clip = random_clip(tmp_path / "published")
    (clip / "traced.json").unlink()
    workspace = open_workspace(model=str(clip), trajectories="first-step")
    dataset = workspace.find_or_import(pairs)
    workspace.jobs.score(dataset, suggestions=False, text="as-written")
    with workspace.store.writing() as session:  # as by a release that knew no other reading
        models = dict(dataset_queries.get_dataset(session, dataset).models)
        assert models.pop("text") == "as-written"
        dataset_queries.remember_models(session, dataset, models)
    pair = first_row(workspace, dataset).pair_id

    later = open_workspace()
    engine = later.engines.of_dataset(dataset)
    assert engine.settings.text == "as-written"
    assert later.review.open_pair(pair).opinion.limits
    assert reading_of_run(later, dataset) is None
    assert later.jobs.score(dataset, suggestions=False).scored == 4
    assert reading_of_run(later, dataset) == "clip"
    assert not later.review.open_pair(pair).opinion.limits
    assert later.jobs.score(dataset, suggestions=False).skipped == 4
    assert later.jobs.score(dataset, suggestions=False, text="as-written").scored == 0
    assert reading_of_run(later, dataset) is None
    assert not open_workspace().review.open_pair(pair).opinion.limits
    assert later.jobs.score(dataset, suggestions=False).skipped == 4  # as it was chosen


def reading_of_run(workspace: Workspace, dataset: int) -> object:
    return scoring_of(workspace, dataset).parameters.get("text")


def test_models_that_read_alike_are_loaded_once(open_workspace: OpenWorkspace) -> None:
    session = open_workspace().engine
    other = session.with_settings(replace(session.settings, text="as-written"))
    assert other.scorer is session.scorer


def test_an_unknown_reading_is_refused() -> None:
    with pytest.raises(SettingsError):
        settings({"text": "aloud"})
