"""Models already on this machine are listed from their files, without loading them."""

import json
import sys
from pathlib import Path

import pytest

from backend.engine import hub_cache
from backend.engine.presets import PRESETS
from backend.errors import SettingsError
from backend.jobs.model_manager import MODEL_TYPES, licence_in
from backend.workspace import Workspace
from db.queries import dataset_queries
from tests.fixtures.hub_server import set_constants

NAME = "somebody/tiny-clip"
COMMIT = "fedcba9876543210fedcba9876543210fedcba98"


@pytest.fixture(autouse=True)
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    set_constants(monkeypatch, HF_HUB_CACHE=str(tmp_path / "hub"))


def put_in_cache(name: str, **files: str) -> None:
    """A model of the hub, as downloaded by any program; `__` in a name stands for a dot."""
    folder = hub_cache.folder_of(name)
    snapshot = folder / "snapshots" / COMMIT
    for place in (snapshot, folder / "blobs", folder / "refs"):
        place.mkdir(parents=True)
    (folder / "refs" / "main").write_text(COMMIT)
    for file, text in files.items():
        blob = folder / "blobs" / f"blob-{file}"
        blob.write_text(text)
        (snapshot / file.replace("__", ".")).symlink_to(blob)


def use_in_dataset(workspace: Workspace, name: str, model: str) -> None:
    with workspace.store.writing() as session:
        row = dataset_queries.create_dataset(session, name, "a folder", "a folder")
        dataset_queries.remember_models(session, row.id, {"model": model})


def test_models_that_were_downloaded_are_listed_without_being_loaded(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert len(workspace.models.list_models()) == len(PRESETS)
    clip = json.dumps({"model_type": "clip", "architectures": ["CLIPModel"]})
    captioner = {"model_type": "blip", "architectures": ["BlipForConditionalGeneration"]}
    card = "---\nlicense: cc-by-4.0\n---\n# A model"
    weights = {"model__safetensors": "w" * 1000}
    put_in_cache(NAME, config__json=clip, **weights)
    put_in_cache("else/licensed", config__json=clip, README__md=card, **weights)
    put_in_cache("else/captioner", config__json=json.dumps(captioner), **weights)
    put_in_cache("else/chat", config__json=json.dumps({"model_type": "llama"}), **weights)
    put_in_cache("else/half", config__json=clip)
    put_in_cache("else/broken", config__json="{", **weights)
    put_in_cache("else/list", config__json="[]", **weights)
    put_in_cache("Salesforce/blip-image-captioning-base", config__json=clip, **weights)
    put_in_cache("timm/siglip", open_clip_config__json="{}", open_clip_model__safetensors="w")
    monkeypatch.setitem(sys.modules, "torch", None)  # nothing can be loaded
    views = {view.name: view for view in workspace.models.list_models()[len(PRESETS) :]}
    assert list(views) == ["else/licensed", NAME, "open_clip:hf-hub:timm/siglip"]
    assert all(view.is_here for view in views.values())
    assert (views["else/licensed"].licence, views[NAME].licence) == ("cc-by-4.0", "see its page")
    assert views["else/licensed"].on_disk == 1000 + len(clip) + len(card)
    assert views["open_clip:hf-hub:timm/siglip"].revision == COMMIT
    use_in_dataset(workspace, "b", "timm/siglip")  # by the name used there, and only once
    assert [view.name for view in workspace.models.list_models()[len(PRESETS) :]] == [
        "timm/siglip", "else/licensed", NAME,
    ]  # fmt: skip


def test_models_that_datasets_use_are_listed(workspace: Workspace, tmp_path: Path) -> None:
    folder, lavis = tmp_path / "model", tmp_path / "lavis.pth"
    folder.mkdir()
    lavis.write_text("weights")
    for name, text in (("config.json", "{}"), ("model.safetensors", "weights"),
                       ("README.md", "# Ours\nlicense: no card")):  # fmt: skip
        (folder / name).write_text(text)
    for name, model in (
        ("a", str(folder)), ("b", str(folder)), ("c", "embedded"), ("d", "fast"),
        ("e", f"lavis:blip_itm@{lavis}"), ("f", str(tmp_path / "gone")), ("g", "not/here"),
    ):  # fmt: skip
        use_in_dataset(workspace, name, model)
    views = {view.name: view for view in workspace.models.list_models()[len(PRESETS) :]}
    assert list(views) == [str(folder), f"lavis:blip_itm@{lavis}", "not/here"]
    ours = views[str(folder)]
    assert (ours.is_here, ours.licence, ours.on_disk) == (True, "", 2 + 7 + 23)
    assert views[f"lavis:blip_itm@{lavis}"].on_disk == 7
    assert not views["not/here"].is_here
    (folder / "model.safetensors").unlink()
    assert not workspace.models.view(str(folder)).is_here
    with pytest.raises(SettingsError, match=r"lacks config\.json or weights"):
        workspace.models.set_default(str(folder))


def test_the_types_of_scorers_match_the_families() -> None:
    from backend.engine.scoring.loading import FAMILIES

    assert {name for family in FAMILIES for name in family.model_types} == MODEL_TYPES


@pytest.mark.parametrize(
    ("card", "licence"),
    [
        ("---\nlicense: mit\n---\n", "mit"),
        ("---\ntags:\n- a\nlicense: 'apache-2.0'\n---\n", "apache-2.0"),
        ("---\nlicense: other\nlicense_name: theirs\n---\n", "theirs"),
        ("---\ntags: a\n---\nlicense: mit\n", ""),
        ("license: mit\n", ""),
        ("", ""),
    ],
)
def test_a_licence_is_read_from_the_card(tmp_path: Path, card: str, licence: str) -> None:
    (tmp_path / "README.md").write_text(card)
    assert licence_in(tmp_path) == licence
