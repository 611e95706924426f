"""From a folder of a user's pictures to the first verdict: five clicks."""

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageFilter
from playwright.sync_api import BrowserContext, Locator, Page, expect

from tests.browser.conftest import opened_page, served
from tests.browser.test_verdicts import wait_until_ready
from tests.checkpoints import random_clip

pytestmark = pytest.mark.browser
PICTURES, MOST_CLICKS = 30, 5
#: Milliseconds to score the pictures on a busy machine.
SCORED_WITHIN = 500_000


@pytest.fixture
def page(profile: BrowserContext, scored_pairs: Path, tmp_path: Path) -> Iterator[Page]:
    with served(tmp_path, scored_pairs) as site, opened_page(profile, site) as opened:
        yield opened


def pictures(folder: Path) -> Path:
    """Blurred noise, unlike anything in the training data of the embedded model."""
    folder.mkdir()
    rng = np.random.default_rng(5)
    with (folder / "metadata.jsonl").open("w", encoding="utf-8") as file:
        for number in range(PICTURES):
            noise = Image.fromarray(rng.integers(0, 256, (80, 100, 3), np.uint8))
            noise.filter(ImageFilter.GaussianBlur(6)).save(folder / f"{number}.jpg")
            row = {"file_name": f"{number}.jpg", "caption": f"Clouds over hill {number} at dusk."}
            file.write(json.dumps(row) + "\n")
    return folder


@pytest.mark.timeout(600)
def test_five_clicks_to_the_first_verdict(page: Page, tmp_path: Path) -> None:
    photos, model = pictures(tmp_path / "photos"), random_clip(tmp_path / "model")
    clicks = 0

    def click(what: Locator) -> None:
        nonlocal clicks
        clicks += 1
        what.click()

    click(page.locator("#traced-header [data-page=datasets]"))
    path = page.locator("#import-path").locator("input, textarea")
    click(path)
    path.fill(str(photos))
    click(page.locator("#import-start"))
    # The installed model was not trained on such pictures; another one is chosen.
    embedded = page.locator(".model-card", has_text="embedded")
    expect(embedded.locator("b.bad")).to_have_text("no")
    page.reload()
    suggested = page.locator(".model-card", has=page.locator(":checked"))
    expect(suggested).not_to_contain_text("embedded")
    expect(page.locator("#score-plan b")).to_have_text(suggested.locator("b").first.inner_text())
    chosen = page.locator("#score-model input")
    click(chosen)
    chosen.fill(str(model))
    chosen.press("Enter")
    click(page.locator("#score-start"))
    # Review opens by itself once the pairs are ranked.
    expect(page.locator("#traced-stage .verdicts")).to_be_visible(timeout=SCORED_WITHIN)
    expect(page.locator("#traced-stage .traced-caption").first).to_contain_text("Clouds over hill")
    wait_until_ready(page)
    page.keyboard.press("d")
    expect(page.locator("#traced-queue")).to_contain_text(f"1 of {PICTURES} pairs reviewed")
    assert clicks <= MOST_CLICKS
