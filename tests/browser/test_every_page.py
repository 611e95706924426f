"""What holds on every page: focus rings, nothing wider than the window, whole words on a phone, and
a header that stays where it is."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.conftest import SIZE, Site, go_to, opened_page
from tests.browser.screenshots import PAGES

pytestmark = pytest.mark.browser
PHONE = (390, 844)
#: A name and an address without a space to break at.
LONG = "a" * 120
#: Fields and buttons on the screen whose focus cannot be seen.
WITHOUT_RING = """() => [...document.querySelectorAll("input, textarea, select, button, summary")]
  .filter((field) => field.checkVisibility() && !field.disabled && field.tabIndex >= 0)
  .filter((field) => {
    field.focus({ preventScroll: true });
    if (document.activeElement !== field) return false;
    const { outlineStyle, outlineWidth, boxShadow, opacity } = getComputedStyle(field);
    // A file field is invisible on its button, which has the ring.
    const shown = opacity === "0" ? getComputedStyle(field.parentElement) : { outlineStyle };
    const hasOutline = shown.outlineStyle !== "none" && parseFloat(outlineWidth) > 0;
    return !hasOutline && boxShadow === "none";
  }).map((field) => field.outerHTML.slice(0, 200))"""
#: What reaches beyond the window's right edge, unless it lies in something that scrolls.
TOO_WIDE = """() => {
  const isScrolled = (part) => part && (getComputedStyle(part).overflowX !== "visible"
    || isScrolled(part.parentElement));
  const wide = [...document.querySelectorAll("body *")].filter((part) => part.checkVisibility()
    && part.getBoundingClientRect().right > innerWidth + 1 && !isScrolled(part.parentElement));
  const page = document.documentElement.scrollWidth > innerWidth + 1 ? ["the page"] : [];
  return [...page, ...wide.map((part) => part.outerHTML.slice(0, 160))];
}"""
#: Headings and buttons with a word that is broken over two lines.
BROKEN_WORDS = """() => [
    ...document.querySelectorAll("h1, h2, h3, h4, th, button, label > span, summary"),
  ].filter((part) => part.checkVisibility()).flatMap((part) => {
    const walker = document.createTreeWalker(part, NodeFilter.SHOW_TEXT), broken = [];
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      for (const { index, 0: word } of node.data.matchAll(/[\\p{L}]+/gu)) {
        const range = document.createRange();
        range.setStart(node, index);
        range.setEnd(node, index + word.length);
        const lines = new Set([...range.getClientRects()].map(({ top }) => Math.round(top)));
        const isLong = word.length > 40;
        if (lines.size > 1 && !isLong) broken.push(`${word}: ${part.outerHTML.slice(0, 120)}`);
      }
    }
    return broken;
  })"""
#: Charts in which the bar of buttons covers the legend or the colour scale.
COVERED_LEGENDS = """() => [...document.querySelectorAll(".js-plotly-plot")]
  .filter((chart) => chart.checkVisibility()).flatMap((chart) => {
    const bar = chart.querySelector(".modebar-container .modebar")?.getBoundingClientRect();
    return [...chart.querySelectorAll(".legend, .colorbar")].filter((legend) => {
      const box = legend.getBoundingClientRect();
      return bar?.width && box.left < bar.right - 1 && bar.left < box.right - 1
        && box.top < bar.bottom - 1 && bar.top < box.bottom - 1;
    }).map((legend) => `${chart.closest("[id]").id}: ${legend.getAttribute("class")}`);
  })"""
#: Notes each height that the header has, and where the pages below it begin.
WATCH_HEADER = """() => {
  const header = document.querySelector("#traced-header"), places = window.headerPlaces = [];
  new ResizeObserver(() => {
    const place = `${header.offsetHeight} ${document.querySelector("#traced-tabs").offsetTop}`;
    if (!places.includes(place)) places.push(place);
  }).observe(header);
}"""


@pytest.fixture(scope="module")
def page(profile: BrowserContext, separate_site: Site) -> Iterator[Page]:
    """The page of a dataset with a long name, opened once; its map is drawn."""
    separate_site.run("datasets", "rename", "pairs", LONG)
    separate_site.run("map", LONG)
    with opened_page(profile, separate_site) as opened:
        yield opened


def show(page: Page, name: str) -> None:
    """Open a page and wait until its chart, if it has one, is drawn."""
    go_to(page, name)
    if name in ("map", "plane"):
        expect(page.locator(f"#{name}-chart .js-plotly-plot .main-svg").first).to_be_visible()


def test_every_field_and_button_shows_where_the_focus_is(page: Page) -> None:
    page.set_viewport_size({"width": SIZE[0], "height": SIZE[1]})
    problems = {}
    for name in PAGES:
        show(page, name)
        page.keyboard.press("Tab")  # rings are for those who use keys
        if without := page.evaluate(WITHOUT_RING):
            problems[name] = without
        page.evaluate("document.activeElement.blur()")
    page.keyboard.press("Escape")
    assert problems == {}


def test_nothing_is_wider_than_a_phone_and_no_word_or_legend_is_cut(page: Page) -> None:
    page.set_viewport_size({"width": PHONE[0], "height": PHONE[1]})
    problems = {}
    for name in PAGES:
        show(page, name)
        if name == "datasets":
            page.locator("#import-path").locator("input, textarea").fill(f"/{LONG}/{LONG}")
            page.locator("#import-start").click()
            expect(page.get_by_text("There is no file or folder").first).to_be_visible()
        for rule in (TOO_WIDE, BROKEN_WORDS, COVERED_LEGENDS):
            if wrong := page.evaluate(rule):
                problems[name] = [*problems.get(name, []), *wrong]
    page.keyboard.press("Escape")
    assert problems == {}


def test_the_header_stays_where_it_is_while_a_job_runs(page: Page) -> None:
    for size in (SIZE, PHONE):
        page.set_viewport_size({"width": size[0], "height": size[1]})
        show(page, "map")
        page.evaluate(WATCH_HEADER)
        # The poll that shows the job's end also shows that it ran.
        with page.expect_response("**/gradio_api/queue/join*"):
            page.locator("#map-start").click()
        expect(page.locator("#traced-jobs-button [role=status]")).to_contain_text(": done")
        assert len(page.evaluate("headerPlaces")) == 1
