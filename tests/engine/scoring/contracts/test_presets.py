"""What a user does with each preset: download it from a hub, score four photographs, get
corrections. The hub serves the published layouts over HTTP."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PIL import Image

from backend.engine.presets import BY_NAME, PRESETS
from backend.settings import load_settings
from backend.workspace import QueueFilter, Workspace
from tests.datasets.folders import image_folder
from tests.engine.language_models import families
from tests.engine.scoring.contracts import checkpoints
from tests.fixtures.features import needs
from tests.fixtures.hub_server import Hub, PublishedModel, hub_server, use_hub
from tests.fixtures.sizes import Sizes
from tests.fixtures.small_cold_start import small_cold_start

__all__ = ["small_cold_start"]  # used by every test

#: The layout of each model that a preset downloads, by its name on the hub.
LAYOUTS: dict[str, Callable[[Path], Path]] = {
    "laion/CLIP-ViT-B-32-256x256-DataComp-s34B-b86K": checkpoints.open_clip_repository,
    "google/siglip2-base-patch16-224": checkpoints.siglip_2,
    "google/siglip2-so400m-patch16-256": checkpoints.siglip_2,
    "Salesforce/blip-itm-base-coco": checkpoints.blip_retrieval,
    "Salesforce/blip-image-captioning-base": checkpoints.blip_captioner,
    "Qwen/Qwen2.5-VL-7B-Instruct": families.qwen2_5_vl,
}
DOWNLOADED = [preset.name for preset in PRESETS if not preset.is_embedded]
#: Those by a vision-language model need its feature.
CASES = [
    pytest.param(name, marks=needs("vision_language"))
    if BY_NAME[name].checkpoints[0].repository.startswith("Qwen/")
    else name
    for name in DOWNLOADED
]
UNPINNED = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture
def hub(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Hub]:
    """A hub with the models of a preset, and an empty cache."""
    preset = BY_NAME[request.node.callspec.params["name"]]
    with hub_server() as server:
        for checkpoint in preset.checkpoints:
            if checkpoint.repository not in LAYOUTS:
                continue  # the embedded models
            folder = tmp_path / "published" / checkpoint.repository
            folder.mkdir(parents=True)
            LAYOUTS[checkpoint.repository](folder)
            files = {path.name: path.read_bytes() for path in sorted(folder.iterdir())}
            commit = checkpoint.revision or UNPINNED
            server.models[checkpoint.repository] = PublishedModel(commit, files)
        use_hub(monkeypatch, server.url, tmp_path / "hub")
        yield server


def photographs(folder: Path) -> Path:
    """Four parts of the two photographs that scikit-learn brings along."""
    from sklearn.datasets import load_sample_images

    captions = ("A temple on a hill.", "A red flower in a garden.")
    rows = []
    parts: dict[str, Image.Image] = {}
    for number, (pixels, caption) in enumerate(
        zip(load_sample_images().images, captions, strict=True)
    ):
        whole = Image.fromarray(pixels)
        for part in range(2):
            name = f"{number}-{part}.jpg"
            parts[name] = whole.crop((100 * part, 20 * part, 100 * part + 220, 20 * part + 320))
            rows.append({"file_name": name, "caption": f"{caption[:-1]}, photograph {part}."})
    image_folder(folder, rows, ())
    for name, picture in parts.items():
        picture.save(folder / name)
    return folder


@pytest.mark.parametrize("name", CASES)
def test_a_preset_is_downloaded_scores_photographs_and_corrects(
    name: str, hub: Hub, tmp_path: Path, sizes: Sizes
) -> None:
    sizes(SUGGEST_ABOVE=0.0)  # random weights: any pair may be wrong
    workspace = Workspace(load_settings({"data_directory": str(tmp_path / "state")}, {}))
    preset = BY_NAME[name]
    report = workspace.models.download(name)
    assert [model for model, _ in report.models] == [c.repository for c in preset.checkpoints]
    commits = [commit for _, commit in report.models]
    assert commits == [checkpoint.revision or UNPINNED for checkpoint in preset.checkpoints]
    hub.requests.clear()
    dataset = workspace.find_or_import(str(photographs(tmp_path / "photographs")))
    scored = workspace.jobs.score(dataset, model=name, trajectories="all")
    assert hub.requests == []  # nothing but `models download` asks the hub
    assert scored.scored == 4
    settings = workspace.engines.of_dataset(dataset).settings
    assert settings.captioner_model == (preset.captioner.name if preset.captioner else None)
    rows = workspace.review.queue_page(QueueFilter(dataset)).rows
    assert any(workspace.review.suggestions(row.pair_id) for row in rows)
    workspace.store.close()


def test_what_a_preset_is_good_for_says_nothing_else_of_its_time() -> None:
    """Times are measured, and have a column of their own. `embedded` is faster than `fast`."""
    measured = [each for each in PRESETS if each.core_seconds is not None]
    fastest = min(measured, key=lambda each: each.core_seconds or 0)
    called = [each.name for each in PRESETS if "fastest" in each.good_for]
    assert called in ([], [fastest.name])
    assert not [each.name for each in PRESETS if re.search(r"\btimes? its time", each.good_for)]
