"""Models by name: downloaded from a hub over HTTP, measured, remembered and removed, never without
a request."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from backend.engine import hub_cache, presets
from backend.engine.presets import PRESETS, Checkpoint, Preset
from backend.engine.scoring.loading import load_scorer
from backend.errors import ModelMissing, ModelUnavailable, NotFound, SettingsError, explain
from backend.jobs.model_download import download
from backend.settings import load_settings
from backend.workspace import Workspace
from db.queries import dataset_queries
from tests.checkpoints import random_clip
from tests.datasets.folders import malformed
from tests.fixtures.hub_server import Hub, PublishedModel, hub_server, set_constants, use_hub
from tests.fixtures.shared import SharedFolder

NAME = "somebody/tiny-clip"
COMMIT = "0123456789abcdef0123456789abcdef01234567"
OTHER = "fedcba9876543210fedcba9876543210fedcba98"


@pytest.fixture(scope="module")
def checkpoint(shared_folder: SharedFolder) -> dict[str, bytes]:
    """The files of a small CLIP in the published form."""
    folder = shared_folder("tiny-clip", random_clip)
    return {path.name: path.read_bytes() for path in sorted((folder / "clip").iterdir())}


@pytest.fixture
def hub(
    checkpoint: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Hub]:
    """A hub with one model and the other files of a real repository, and an empty cache."""
    with hub_server() as server:
        files = {**checkpoint, "README.md": b"# Tiny", "tf_model.h5": b"for TensorFlow"}
        server.models[NAME] = PublishedModel(COMMIT, files)
        use_hub(monkeypatch, server.url, tmp_path / "hub")
        yield server


def pin(monkeypatch: pytest.MonkeyPatch, commit: str) -> None:
    """Make the model of the hub the scorer of the preset *fast*."""
    scorer = Checkpoint(NAME, 1000, 4000, "none", commit)
    fast = Preset("fast", "tests", scorer)
    monkeypatch.setattr(presets, "PRESETS", (fast, *PRESETS[1:]))
    monkeypatch.setitem(presets.BY_NAME, "fast", fast)


def test_a_missing_model_is_refused_without_a_request_to_the_hub(hub: Hub) -> None:
    with pytest.raises(ModelMissing) as refused:
        load_scorer(NAME, None, "cpu")
    assert hub.requests == []
    assert f"models download {NAME}" in explain(refused.value, "terminal")
    assert "page Model" in explain(refused.value, "page")
    with pytest.raises(ModelMissing) as refused:
        load_scorer("Salesforce/blip-itm-base-coco", None, "cpu")
    assert "models download thorough" in explain(refused.value, "terminal")
    with pytest.raises(ModelMissing, match="laion"):
        load_scorer("open_clip:ViT-B-32@laion2b_s34b_b79k", None, "cpu")


def test_a_download_fetches_only_the_files_that_are_loaded(hub: Hub) -> None:
    ticks: list[tuple[int, int]] = []
    report = download(NAME, lambda done, total, message: ticks.append((done, total)))
    assert report.models == ((NAME, COMMIT),)
    assert report.downloaded == ticks[-1][0] == ticks[-1][1] > 10_000
    assert [done for done, _ in ticks] == sorted(done for done, _ in ticks)
    snapshot = hub_cache.snapshot_of(NAME)
    assert snapshot is not None
    assert not {"README.md", "tf_model.h5"} & {path.name for path in snapshot.iterdir()}
    hub.requests.clear()
    scorer = load_scorer(NAME, None, "cpu")
    assert scorer.info.revision == COMMIT[:12]
    assert hub.requests == []


def test_an_incomplete_download_is_reported_with_how_to_complete_it(hub: Hub) -> None:
    """Another program that shares the cache was interrupted before it stored the weights."""
    download(NAME)
    snapshot = hub_cache.snapshot_of(NAME)
    assert snapshot is not None
    (snapshot / "model.safetensors").unlink()
    with pytest.raises(ModelMissing) as refused:
        load_scorer(NAME, None, "cpu")
    shown = explain(refused.value, "terminal")
    assert f"The model '{NAME}' has only been downloaded in part. Download it: " in shown
    assert shown.endswith(f"models download {NAME}")


def test_a_broken_connection_is_resumed(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.file_download.time.sleep", lambda seconds: None)
    set_constants(monkeypatch, DOWNLOAD_CHUNK_SIZE=1 << 16)
    hub.breaks_after = len(hub.models[NAME].files["model.safetensors"]) // 3 + 1
    download(NAME)
    starts = [start for name, start in hub.ranges if name == "model.safetensors"]
    assert len(starts) == 4
    assert starts == sorted(starts)
    assert starts[0] == 0 < starts[1]
    load_scorer(NAME, None, "cpu")


def test_a_file_with_a_wrong_checksum_is_not_kept(hub: Hub) -> None:
    hub.corrupts = True
    with pytest.raises(ModelUnavailable, match=r"model\.safetensors.*checksum"):
        download(NAME)
    assert hub_cache.commit_of(NAME) == ""
    hub.corrupts = False
    download(NAME)
    assert hub_cache.commit_of(NAME) == COMMIT


def test_a_pinned_revision_is_what_is_loaded(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    pin(monkeypatch, COMMIT)
    download("fast")
    hub.models[NAME] = replace(hub.models[NAME], commit=OTHER)  # its author publishes a new commit
    assert load_scorer(NAME, None, "cpu").info.revision == COMMIT[:12]
    hub.requests.clear()
    assert download("fast").downloaded == 0
    assert hub.requests == []


def test_without_a_hub_the_message_says_what_to_copy_where(
    hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_hub(monkeypatch, "http://127.0.0.1:9", hub_cache.cache_folder())
    with pytest.raises(ModelUnavailable) as refused:
        download(NAME)
    text = str(refused.value)
    assert f"hf download {NAME}" in text
    assert "models--somebody--tiny-clip" in text
    assert str(hub_cache.cache_folder()) in text


def test_a_model_unknown_to_the_hub_is_reported(hub: Hub) -> None:
    with pytest.raises(ModelUnavailable, match="no model 'nobody/nothing'"):
        download("nobody/nothing")
    with pytest.raises(NotFound, match="comes with the program"):
        download("embedded")
    with pytest.raises(NotFound, match="not a model of the hub"):
        download("/some/folder")


def test_the_list_shows_installed_models_and_their_costs(hub: Hub, workspace: Workspace) -> None:
    views = {view.name: view for view in workspace.models.list_models()}
    assert list(views) == ["fast", "balanced", "large", "thorough", "multilingual", "vlm",
                           "embedded"]  # fmt: skip
    assert [name for name, view in views.items() if view.is_here] == ["embedded"]
    assert views["embedded"].is_default
    assert views["thorough"].captioner == "Salesforce/blip-image-captioning-base"
    assert all(bool(view.captioner) != bool(view.without_captioner) for view in views.values())
    assert (views["balanced"].revision[:4], views["large"].revision) == ("75de", "main")
    assert all(view.parameters and view.memory and view.licence for view in views.values())
    with pytest.raises(SettingsError, match="Download it first"):
        workspace.models.set_default("fast")
    download(NAME)
    assert workspace.models.set_default(NAME).is_default
    added = workspace.models.list_models()[-1]
    assert (added.name, added.is_here, added.revision) == (NAME, True, COMMIT)
    again = Workspace(load_settings({"data_directory": workspace.settings.data_directory}, {}))
    assert again.settings.model == NAME
    again.store.close()


def test_the_data_of_the_presets_is_consistent() -> None:
    for checkpoint in presets.checkpoints():
        assert len(checkpoint.revision) in (0, 40)
        if not Path(checkpoint.name).is_dir():
            assert checkpoint.download == pytest.approx(
                checkpoint.parameters * checkpoint.width, rel=0.02
            )


def own_model(folder: Path, name: str = "own") -> tuple[Path, int]:
    """A CLIP in a folder, and its number of parameters as torch counts them."""
    made = random_clip(folder / name)
    return made, weights_of(load_scorer(str(made), None, "cpu"))


def weights_of(scorer: Any) -> int:
    return sum(weight.numel() for weight in scorer.model.parameters())


def test_the_size_of_a_local_model_is_read_from_its_files(
    tmp_path: Path, workspace: Workspace
) -> None:
    folder, parameters = own_model(tmp_path)
    view = workspace.models.view(str(folder))
    assert (view.parameters, view.memory) == (parameters, 4 * parameters)
    weights = folder / "model.safetensors"
    (folder / "pytorch_model.bin").write_bytes(weights.read_bytes())  # a second copy is not counted
    assert workspace.models.view(str(folder)).parameters == parameters
    weights.unlink()
    stated = json.loads((folder / "config.json").read_text())
    for precision, width in (("float32", 4), ("float16", 2)):
        (folder / "config.json").write_text(json.dumps({**stated, "dtype": precision}))
        size = (folder / "pytorch_model.bin").stat().st_size
        assert workspace.models.view(str(folder)).parameters == size // width


@pytest.mark.parametrize(
    "damaged", [b"", b"\xff" * 64, b"\4" + bytes(7) + b"null", b"\11" + bytes(7) + b'{"a": 12}']
)
def test_a_damaged_header_has_no_size(tmp_path: Path, workspace: Workspace, damaged: bytes) -> None:
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "model.safetensors").write_bytes(damaged)
    view = workspace.models.view(str(tmp_path))
    assert (view.parameters, view.memory) == (None, None)


def test_removing_the_default_model_resets_the_default(
    hub: Hub, workspace: Workspace, tmp_path: Path
) -> None:
    download(NAME)
    workspace.models.set_default(NAME)
    dataset = workspace.jobs.import_dataset(malformed(tmp_path / "pairs")).dataset_id
    assert workspace.engines.of_dataset(dataset).settings.model == NAME  # at once
    workspace.store.write(dataset_queries.remember_models, dataset, {"model": NAME})
    removal = workspace.models.deletion_preview(NAME)
    assert (removal.datasets, removal.was_default) == (("pairs",), True)
    assert workspace.models.view(NAME).is_here
    assert workspace.models.remove(NAME) == removal
    assert removal.freed > 10_000
    assert workspace.models.default() == "embedded"
    with pytest.raises(NotFound, match="not on this machine"):
        workspace.models.deletion_preview(NAME)
