"""What has the focus or the mouse lights the region of its word on the picture."""

import re
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Request, Route, expect

from tests.browser.conftest import Site, new_page
from tests.browser.test_main_job import pair_of, press
from tests.browser.test_verdicts import wait_until_ready
from tests.fixtures.features import needs

pytestmark = [pytest.mark.browser, needs("regions")]
SHOWN = "#traced-stage .picture :is(.region, .where-note)"
REGION = "#traced-stage .picture .region"


def box_of(page: Page, selector: str) -> tuple[float, float, float, float]:
    """Read at one moment: the outline is replaced when something else about the pair arrives."""
    expect(page.locator(selector)).to_be_visible()
    x, y, width, height = page.evaluate(
        "selector => { const box = document.querySelector(selector).getBoundingClientRect();"
        " return [box.x, box.y, box.width, box.height]; }",
        selector,
    )
    return x, y, width, height


def test_the_region_of_a_suspect_word_is_lit_on_the_picture(page: Page, site: Site) -> None:
    requests: list[str] = []

    def note(request: Request) -> None:
        if "/regions?" in request.url:
            requests.append(request.url)

    page.on("request", note)
    wait_until_ready(page)
    assert not requests, "opening a pair asks for none"
    for _ in range(12):
        page.keyboard.press("w")
        expect(page.locator(SHOWN)).to_have_count(1)
        if page.locator(REGION).count():
            break
        expect(page.locator("#traced-stage .where-note")).to_contain_text("No region")
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
    page.keyboard.press("n")
    page.keyboard.type("look")
    page.keyboard.press("Control+Enter")  # draws the pair anew, under the mouse
    expect(page.locator("#traced-stage .noted")).to_have_text("look")
    expect(page.locator(REGION)).to_have_count(1)
    page.mouse.move(1, 1)
    expect(page.locator(REGION)).to_have_count(0)


def test_a_script_that_never_comes_leaves_a_page_that_says_so(
    profile: BrowserContext, site: Site
) -> None:
    with new_page(profile) as page:
        page.route("**/regions.js", lambda _: None)
        page.goto(site.address)
        wait_until_ready(page)
        page.keyboard.press("o")
        expect(page.locator("#traced-toast .traced-note.warning")).to_be_visible()


def answer_box(route: Route) -> None:
    """Answer instead of the model: a box in the picture's upper left."""
    address = urlsplit(route.request.url)
    place = parse_qs(address.query)
    region = {
        "word": "word", "start": int(place["start"][0]), "end": int(place["end"][0]),
        "box": [19, 38, 38, 58], "picture_size": [192, 192], "weight": 1.0,
    }  # fmt: skip
    route.fulfill(json=[region])


@pytest.fixture
def boxes(page: Page) -> list[str]:
    """The requests for regions, all answered by the same box."""
    requests: list[str] = []

    def answer(route: Route) -> None:
        requests.append(route.request.url)
        answer_box(route)

    page.route("**/regions?*", answer)
    return requests


def to_a_suspect_pair(page: Page) -> None:
    while not page.locator("#traced-stage .word.suspect").count():
        press(page, "j")


def test_look_here_fills_the_view_with_the_region_and_goes_back(
    page: Page, boxes: list[str]
) -> None:
    wait_until_ready(page)
    to_a_suspect_pair(page)
    image, button = "#traced-stage .picture img", page.locator("#traced-stage .look")
    page.locator("#traced-stage .picture").hover()
    page.mouse.wheel(0, -200)
    before = box_of(page, image)
    page.emulate_media(reduced_motion="reduce")
    page.keyboard.press("o")
    expect(page.locator(REGION)).to_have_count(1)
    expect(button).to_have_attribute("aria-pressed", "true")
    looked_at = page.locator("#traced-stage .word.looked-at")
    expect(looked_at).to_have_count(1)  # which of the words the view is of
    assert f"start={looked_at.get_attribute('data-start')}&" in boxes[-1]
    assert page.locator(image).evaluate("(e) => getComputedStyle(e).transitionDuration") == "0s"
    x, y, width, height = box_of(page, "#traced-stage .picture")
    left, top, across, down = box_of(page, REGION)
    assert max(across / width, down / height) == pytest.approx(0.7, abs=0.02)
    assert x <= left
    assert y <= top
    assert left + across <= x + width
    assert top + down <= y + height
    button.click()
    expect(page.locator(REGION)).to_have_count(0)
    expect(looked_at).to_have_count(0)
    assert box_of(page, image) == pytest.approx(before, abs=1.0)
    page.keyboard.press("o")
    expect(page.locator(REGION)).to_have_count(1)
    press(page, "j")
    assert box_of(page, image)[2] <= width + 1, "each pair opens whole"
    expect(page.locator(REGION)).to_have_count(0)
    page.emulate_media(reduced_motion="no-preference")
    to_a_suspect_pair(page)
    page.keyboard.press("o")
    expect(page.locator(image)).to_have_css("transition-duration", "0.25s")


def test_a_step_lights_the_word_that_it_removes(page: Page, boxes: list[str]) -> None:
    wait_until_ready(page)
    to_a_suspect_pair(page)
    step = page.locator('#traced-steps [data-step="1"]')
    step.hover()
    expect(page.locator(REGION)).to_have_count(1)
    word = page.locator('#traced-stage .word[data-gone="1"]')
    assert f"start={word.get_attribute('data-start')}&" in boxes[-1]
    page.mouse.move(1, 1)
    expect(page.locator(REGION)).to_have_count(0)
    step.click()
    expect(page.locator(REGION)).to_have_count(1)
    page.keyboard.press("ArrowRight")
    expect(page.locator('#traced-steps [data-step="2"]')).to_be_focused()
    expect(page.locator(REGION)).to_have_count(1)
    gone = page.locator('#traced-stage .word[data-gone="2"]')
    assert f"start={gone.get_attribute('data-start')}&" in boxes[-1]
    page.locator('#traced-steps [data-step="0"]').focus()
    expect(page.locator(REGION)).to_have_count(0)


def test_a_card_of_the_grid_lights_its_top_suspect(page: Page, boxes: list[str]) -> None:
    wait_until_ready(page)
    page.keyboard.press("g")
    cards = page.locator("#traced-stage .pick[data-suspect]")
    expect(cards.nth(3)).to_be_visible()
    centres = [
        box_of(page, f".pick[data-suspect]:nth-child({n + 1} of [data-suspect]) img")
        for n in range(4)
    ]
    assert not boxes
    for x, y, width, height in centres:  # the mouse crosses the grid
        page.mouse.move(x + width / 2, y + height / 2)
    region = cards.nth(3).locator(".region")
    expect(region).to_have_count(1)
    assert len(boxes) == 1
    card = cards.nth(3)
    pair, place = card.get_attribute("data-pick"), str(card.get_attribute("data-suspect")).split()
    assert boxes[0].endswith(f"/pairs/{pair}/regions?start={place[0]}&end={place[1]}")
    lit = card.locator(".word.lit")
    expect(lit).to_have_class(re.compile("suspect"))
    left, top, across, down = box_of(
        page, ".pick[data-suspect]:nth-child(4 of [data-suspect]) .region"
    )
    x, y, width, height = centres[3]
    side = min(width, height)
    assert left - x - (width - side) / 2 == pytest.approx(side * 19 / 192, abs=1.5)
    assert (top - y - (height - side) / 2, across, down) == pytest.approx(
        (side * 38 / 192, side * 19 / 192, side * 20 / 192), abs=1.5
    )
    page.mouse.move(1, 1)
    expect(page.locator("#traced-stage .region")).to_have_count(0)
    card.locator("input").focus()
    expect(region).to_have_count(1)
    assert len(boxes) == 1, "what was answered is kept"


def test_by_touch_a_word_shows_where_it_is_before_it_is_marked(
    site: Site, browser: Browser
) -> None:
    context = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True)
    page = context.new_page()
    page.route("**/regions?*", answer_box)
    page.goto(site.address)
    wait_until_ready(page)
    to_a_suspect_pair(page)
    word = page.locator("#traced-stage .word.suspect").first
    pressed = word.get_attribute("aria-pressed")
    word.tap()
    expect(page.locator(REGION)).to_have_count(1)
    page.locator("#traced-stage .look").tap()
    expect(page.locator("#traced-stage .picture")).to_have_class(re.compile("large"))
    page.locator("#traced-stage .look").tap()
    expect(page.locator("#traced-stage .picture")).not_to_have_class(re.compile("large"))
    assert word.get_attribute("aria-pressed") == pressed
    word.tap()
    expect(page.locator(REGION)).to_have_count(1)
    word.tap()
    expect(word).not_to_have_attribute("aria-pressed", str(pressed))
    word.tap()
    expect(word).to_have_attribute("aria-pressed", str(pressed))
    context.close()
