"""The Models page used by mouse, and the models that the playground offers for a photograph."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from backend.engine.presets import PRESETS
from tests.browser.conftest import Site, go_to
from tests.checkpoints import random_clip
from tests.research.scenes.other_pictures import generated
from traced_ui.models_page import size

pytestmark = pytest.mark.browser
NAME, COMMIT = "somebody/tiny-clip", "0123456789abcdef0123456789abcdef01234567"


def row(page: Page, model: str) -> Locator:
    return page.locator("#models-table tbody tr", has=page.get_by_text(model, exact=True))


def choose(page: Page, model: str) -> None:
    page.locator("#models-choice input").click()
    page.get_by_role("option", name=model, exact=True).click()


@pytest.fixture
def model(site: Site, tmp_path: Path) -> Iterator[str]:
    """A small CLIP in the cache of the hub's client."""
    folder = site.folder / "hub" / f"models--{NAME.replace('/', '--')}"
    for part in ("refs", "snapshots"):
        (folder / part).mkdir(parents=True)
    random_clip(tmp_path).rename(folder / "snapshots" / COMMIT)
    (folder / "refs" / "main").write_text(COMMIT)
    yield NAME
    shutil.rmtree(folder, ignore_errors=True)


def test_models_are_listed_measured_chosen_and_removed(page: Page, site: Site, model: str) -> None:
    go_to(page, "models")
    message = page.locator("#models-message")
    for preset in PRESETS:
        shown = row(page, preset.name)
        for text in (preset.good_for, preset.scorer.licence):
            expect(shown).to_contain_text(text)
        expect(shown).to_contain_text(size(preset.download) if preset.download else "none")
    expect(row(page, model)).to_contain_text("million")

    choose(page, "fast")
    page.locator("#models-download").click()
    for text in (
        "hf download laion/CLIP-ViT-B-32-256x256-DataComp-s34B-b86K",
        "models--laion--CLIP-ViT-B-32-256x256-DataComp-s34B-b86K",
        str(site.folder / "hub"),
    ):
        expect(message).to_contain_text(text)

    choose(page, model)
    expect(row(page, model)).to_contain_text("not measured")
    page.locator("#models-probe").click()
    expect(message).to_contain_text(f"'{model}' takes", timeout=120_000)
    expect(row(page, model)).not_to_contain_text("not measured")
    page.locator("#models-default").click()
    expect(row(page, model).locator(".chip")).to_have_text("for new datasets")

    sure = page.locator("#models-remove-sure")
    expect(sure).to_be_hidden()
    page.locator("#models-remove").click()
    expect(page.locator("#models-what-goes")).to_contain_text(f"Remove '{model}'")
    page.locator("#models-keep").click()
    expect(sure).to_be_hidden()
    expect(row(page, model)).to_contain_text("yes")
    page.locator("#models-remove").click()
    sure.click()
    expect(message).to_contain_text("The model for new datasets is the embedded one again.")
    expect(sure).to_be_hidden()
    expect(row(page, model).locator("td").last).to_have_text("no")
    expect(row(page, "embedded").locator(".chip")).to_have_text("for new datasets")


def test_a_photograph_in_the_playground_is_checked_by_an_offered_model(
    page: Page, site: Site, model: str, tmp_path: Path
) -> None:
    generated(4, 1)[0][1].save(tmp_path / "holiday.png")
    go_to(page, "playground")
    picture = page.locator("#playground-picture input[type=file]")
    picture.set_input_files(tmp_path / "holiday.png")
    expect(page.locator("#playground-picture img")).to_be_visible()
    page.locator("#playground-caption textarea").fill("A dog on a beach")
    page.locator("#playground-run").click()
    refused = page.locator("#playground-result .refused")
    expect(refused).to_contain_text("the embedded model was trained on", timeout=120_000)
    expect(refused).to_contain_text("605 MB to download · roughly")
    refused.get_by_role("button", name=model).click()
    expect(page.locator("#playground-result .facts")).to_contain_text("clip", timeout=120_000)
    expect(page.get_by_label("Model", exact=True)).to_have_value(model)
    expect(page.locator("#playground-stale")).to_be_hidden()
