"""A suspect word that has the focus or the mouse lights its region on the picture."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Site
from tests.browser.test_main_job import pair_of, press
from tests.browser.test_verdicts import wait_until_ready

pytestmark = pytest.mark.browser
SHOWN = "#traced-stage .picture :is(.region, .where-note)"
REGION = "#traced-stage .picture .region"


def box_of(page: Page, selector: str) -> tuple[float, float, float, float]:
    box = page.locator(selector).bounding_box()
    assert box is not None
    return box["x"], box["y"], box["width"], box["height"]


def test_the_region_of_a_suspect_word_is_lit_on_the_picture(page: Page, site: Site) -> None:
    requests: list[str] = []
    page.on(
        "request", lambda request: requests.append(request.url) if "regions" in request.url else 0
    )
    wait_until_ready(page)
    assert not requests, "opening a pair asks for none"
    for _ in range(12):
        page.keyboard.press("w")
        expect(page.locator(SHOWN)).to_have_count(1)
        if page.locator(REGION).count():
            break
        expect(page.locator("#traced-stage .where-note")).to_contain_text("speaks for")
        page.keyboard.press("Escape")
        expect(page.locator(SHOWN)).to_have_count(0)
        press(page, "j")
    (region,) = page.request.get(requests[-1]).json()
    pair = page.request.get(f"{site.address}/api/v1/pairs/{pair_of(page)}").json()
    assert region["word"] == page.locator("#traced-stage .word:focus").inner_text()
    assert pair["caption"][region["start"] : region["end"]] == region["word"]

    width, height = (
        int(side)
        for side in str(page.locator("#traced-stage .picture").get_attribute("data-size")).split()
    )
    left, top, right, bottom = region["box"]
    x, y, across, down = box_of(page, "#traced-stage .picture .seen")
    assert box_of(page, REGION) == pytest.approx(
        (x + across * left / width, y + down * top / height,
         across * (right - left) / width, down * (bottom - top) / height), abs=1.0,
    )  # fmt: skip
    image = box_of(page, "#traced-stage .picture img")
    assert image[0] - 1 <= x
    assert x + across <= image[0] + image[2] + 1

    before = box_of(page, REGION)
    page.keyboard.press("x")
    after = box_of(page, REGION)
    assert after[2:] == pytest.approx((2.5 * before[2], 2.5 * before[3]), rel=0.02)
    page.keyboard.press("x")

    number = len(requests)
    page.keyboard.press("Escape")
    expect(page.locator(REGION)).to_have_count(0)
    word = page.locator(f'#traced-stage .word.suspect[data-start="{region["start"]}"]')
    word.hover()
    expect(page.locator(REGION)).to_have_count(1)
    assert len(requests) == number, "what was answered is kept"
    page.mouse.move(1, 1)
    expect(page.locator(REGION)).to_have_count(0)
