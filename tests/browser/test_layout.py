"""Layout at common screen sizes: nothing overlaps, is cut off or overflows the page."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.conftest import Site, opened_page

pytestmark = pytest.mark.browser
PHONE = (390, 844)
#: Selected options that are wider than their box, and headings that overlap.
CUT = """() => {
  const cut = [...document.querySelectorAll("#traced-queue select")].filter((select) => {
    if (!select.checkVisibility()) return false;
    const ruler = document.createElement("span"), style = getComputedStyle(select);
    ruler.textContent = select.selectedOptions[0].textContent;
    ruler.style.cssText = `font: ${style.font}; position: absolute; white-space: nowrap`;
    document.body.append(ruler);
    const sides = parseFloat(style.paddingLeft) + parseFloat(style.paddingRight);
    const room = select.clientWidth - sides;
    const needed = ruler.getBoundingClientRect().width;
    ruler.remove();
    return needed > room + 1;
  }).map((select) => select.dataset.filter);
  const [title, chosen] = ["#traced-header h1", "#traced-dataset"]
    .map((name) => document.querySelector(name).getBoundingClientRect());
  if (title.right > chosen.left + 1 && title.bottom > chosen.top + 1) cut.push("header");
  if (document.documentElement.scrollWidth > innerWidth) cut.push("page");
  return cut;
}"""


def test_a_phone_shows_what_a_verdict_needs_and_the_queue_in_a_drawer(
    profile: BrowserContext, site: Site
) -> None:
    with opened_page(profile, site, size=PHONE) as page:
        for part in (".picture img", ".traced-caption", ".verdicts button >> nth=0",
                     ".verdicts button >> nth=-1", ".toolbar button >> nth=-1"):  # fmt: skip
            box = page.locator(part).first.bounding_box()
            assert box is not None
            assert 0 <= box["x"] <= PHONE[0] - box["width"], part
            assert 0 <= box["y"] <= PHONE[1] - box["height"], part
        queue, button = page.locator("#traced-queue"), page.locator(".tool-queue")
        expect(queue).to_be_hidden()
        button.click()
        expect(queue).to_be_visible()
        expect(button).to_have_attribute("aria-expanded", "true")
        page.keyboard.press("Escape")
        expect(queue).to_be_hidden()
        expect(button).to_be_focused()
        button.click()
        # Choosing a pair shows it.
        chosen = queue.locator(".pairs button").nth(1)
        pair = chosen.get_attribute("data-target")
        chosen.click()
        expect(queue).to_be_hidden()
        expect(page.locator("#traced-stage [data-pair]")).to_have_attribute("data-pair", str(pair))
        # On a wide screen the queue is always visible and needs no button.
        page.set_viewport_size({"width": 1280, "height": 720})
        expect(queue).to_be_visible()
        expect(button).to_be_hidden()


@pytest.fixture(scope="module", params=["light", "dark"])
def themed(request: pytest.FixtureRequest, profile: BrowserContext, site: Site) -> Iterator[Page]:
    """A page in one theme for all sizes."""
    with opened_page(profile, site, f"?__theme={request.param}") as page:
        yield page


@pytest.mark.parametrize("size", [(1440, 900), (1280, 720), PHONE], ids=str)
def test_nothing_is_cut_off(themed: Page, size: tuple[int, int]) -> None:
    themed.set_viewport_size({"width": size[0], "height": size[1]})
    if size == PHONE:
        themed.locator(".tool-queue").click()
    assert themed.evaluate(CUT) == []
