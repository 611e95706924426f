"""The end of a review: what was found, and what comes next."""

import pytest
from playwright.sync_api import Page, expect

from backend.workspace import QueueFilter
from tests.browser.conftest import PAIRS, Site
from tests.browser.test_every_page import EVERY_SIZE, TOO_WIDE

pytestmark = pytest.mark.browser
END = "#traced-stage .finish"


@pytest.fixture(scope="module")
def site(separate_site: Site) -> Site:
    """All its pairs are decided."""
    return separate_site


def test_the_last_verdict_leads_to_what_was_found_and_to_the_export(page: Page, site: Site) -> None:
    with site.workspace() as workspace:
        rows = workspace.review.queue_page(QueueFilter(1), limit=PAIRS).rows
        for index, row in enumerate(rows[:-1]):
            decision = "drop" if index % 2 else "correct"
            workspace.review.decide(row.pair_id, row.verdict_version, decision)
    page.goto(f"{site.address}/?dataset=1")
    shown = page.locator("#traced-stage [data-pair]")
    expect(shown).to_be_visible()
    page.keyboard.press("a")
    expect(page.locator(END)).to_be_visible()
    expect(page.locator(END)).to_contain_text(f"{PAIRS // 2 - 1} removed")
    for width, height in EVERY_SIZE:
        page.set_viewport_size({"width": width, "height": height})
        page.evaluate("() => new Promise(requestAnimationFrame)")
        assert page.evaluate(TOO_WIDE) == []
        sentence, following = (
            page.locator(f"{END} {part}").bounding_box() for part in ("p:not(.next)", ".next")
        )
        assert sentence is not None
        assert following is not None
        assert sentence["y"] + sentence["height"] <= following["y"]
    page.set_viewport_size({"width": 1440, "height": 900})
    page.keyboard.press("z")  # also the last verdict can be taken back
    expect(shown).to_be_visible()
    page.keyboard.press("a")
    page.locator(END).get_by_role("link", name="Progress").click()
    page.wait_for_url("**/progress**")
    expect(page.locator("#progress-cards .finish")).to_be_visible()
    page.locator("#progress-cards .finish").get_by_role("link", name="Export").click()
    page.wait_for_url("**/export**")
