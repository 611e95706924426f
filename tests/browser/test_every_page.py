"""What holds on every page: WCAG A and AA by axe, focus rings, nothing wider than the window, whole
words on a phone, and a header that stays where it is."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser import picture_sheets as sheets
from tests.browser.conftest import SIZE, Site, box_of, go_to, opened_page
from tests.browser.screenshots import PAGES

pytestmark = pytest.mark.browser
PHONE, TABLET = (390, 844), (820, 1180)
#: A wide and a small screen, one of these at 200 %, and a phone.
EVERY_SIZE = (SIZE, (1280, 720), (720, 450), PHONE)
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
  const [title, dataset] = ["#traced-header h1", "#traced-dataset"]
    .map((name) => document.querySelector(name).getBoundingClientRect());
  if (title.right > dataset.left + 1 && title.bottom > dataset.top + 1) cut.push("header");
  return cut;
}"""
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]
#: Rules whose result can differ in dark mode; for all others both modes are the same page.
COLOURS = ["color-contrast", "link-in-text-block"]
#: Each frame of a change from light to dark would be painted by the processor.
WITHOUT_FADING = "*, ::before, ::after { transition: none !important; animation: none !important }"
#: What axe examines: the document, or what is below the header, which is the same on every page.
RUN_AXE = """([isWhole, isDark, rules]) => {
  document.body.classList.toggle("dark", isDark);  // as the toolbar's button does
  const shown = document.querySelector("#traced-review, #traced-content");
  const options = { runOnly: rules, resultTypes: ["violations"] };
  return axe.run(isWhole ? document : shown, options).then((results) => results.violations
    .flatMap(({ id, help, nodes }) => nodes.map(({ target, html }) =>
      `${isDark ? "dark " : ""}${id}: ${help} ${target} ${html.slice(0, 90)}`)));
}"""
#: Notes each height that the header has, and where the pages below it begin.
WATCH_HEADER = """() => {
  const header = document.querySelector("#traced-header"), places = window.headerPlaces = [];
  new ResizeObserver(() => {
    const place = `${header.offsetHeight} ${document.querySelector("#traced-content").offsetTop}`;
    if (!places.includes(place)) places.push(place);
  }).observe(header);
}"""

#: By how many pixels the header grows with the share of a job.
GROWTH = """() => {
  const header = document.querySelector("#traced-header"), share = header.querySelector(".share");
  const [before, text] = [header.offsetHeight, share.textContent];
  share.textContent = "100 %";
  const after = header.offsetHeight;
  share.textContent = text;
  return after - before;
}"""

#: What each page draws last, of a dataset without verdicts.
DRAWN_LAST = {
    "duplicates": ["#duplicates-page .empty"],
    "export": ["#export-total .decision", "#export-counts table"],
    "guidelines": ["#guidelines-shown .markdown"],
    "models": ["#models-table table"],
    "patterns": ["#blind-spots .empty", "#blind-spots .to-go"],
    "retrain": ["#train-comparison .decision", "#train-missing .to-go"],
    "review": ["#traced-stage .offers", "#traced-chart svg"],
    "settings": ["#datasets-overview table", "#rename-name :enabled"],
    "snapshots": ["#snapshots .decision"],
    "team": ["#team-accounts h3", "#team-page .empty", "#team-share input:enabled"],
    "try": ["#playground-result .word", "#playground-picture img"],
}


@pytest.fixture(scope="module")
def page(profile: BrowserContext, separate_site: Site) -> Iterator[Page]:
    """The page of a dataset with a long name, opened once; its map is drawn, by principal
    components: t-SNE amplifies how a processor rounds until the map is another one."""
    with pytest.MonkeyPatch.context() as patch, separate_site.workspace() as workspace:
        patch.setattr("backend.features.picture_map.layout.FEWEST", sys.maxsize)
        workspace.rename_dataset(1, LONG)
        workspace.jobs.run("map", 1)
    with opened_page(profile, separate_site, "?__theme=light") as opened:
        yield opened


def show(page: Page, name: str) -> None:
    """Open a page and wait until it is drawn: a chart first loads the chart library."""
    go_to(page, name)
    charts = {"map": "map-chart", "progress": "progress-left"}
    if name in charts:
        chart = page.locator(f"#{charts[name]} .js-plotly-plot .main-svg").first
        expect(chart).to_be_visible()
    page.wait_for_function(
        "[...document.querySelectorAll('.empty[aria-label]')].every(e => !e.checkVisibility())"
    )


def violations(page: Page, is_whole: bool = False) -> list[str]:
    """What axe finds, light and dark."""
    page.evaluate(Axe().axe_script)
    page.add_style_tag(content=WITHOUT_FADING)
    dark = page.evaluate(RUN_AXE, [is_whole, True, COLOURS])
    return [*page.evaluate(RUN_AXE, [is_whole, False, RULES]), *dark]


@pytest.mark.timeout(900)  # it sets up the site, and looks at 112 pictures
def test_each_page_fits_at_any_size_looks_as_before_and_is_accessible(
    page: Page, pytestconfig: pytest.Config, tmp_path: Path
) -> None:
    """Each page at every size, light and dark: nothing wider than the window, no word or legend
    cut, and what is on the screen as in `tests/browser/sheets`, which `--retake` replaces. At the
    widest it is accessible and shows where the focus is.

    The first test of the file: what the others leave behind would be in the pictures.
    """
    is_retake = pytestconfig.getoption("retake")
    is_compared = is_retake or sheets.has_same_fonts(page)
    if is_retake:
        sheets.save_probe(page)
    problems: dict[str, list[str]] = {}
    changed: list[str] = []
    for name in PAGES:
        show(page, name)
        for part in DRAWN_LAST.get(name, []):
            page.wait_for_selector(part, state="attached")
        page.add_style_tag(content=sheets.QUIET)
        if name == "datasets":
            page.locator("#import-path").locator("input, textarea").fill(f"/{LONG}/{LONG}")
            page.locator("#import-start").click()
            expect(page.get_by_text("There is no file or folder").first).to_be_visible()
        sheet = sheets.Sheet(name, is_retake)
        for width, height in EVERY_SIZE:
            page.set_viewport_size({"width": width, "height": height})
            page.evaluate("() => new Promise(requestAnimationFrame)")
            for rule in (TOO_WIDE, BROKEN_WORDS, COVERED_LEGENDS):
                if wrong := page.evaluate(rule):
                    problems.setdefault(f"{name}, {width} wide", []).extend(wrong)
            if is_compared:
                sheet.take(page)
        if is_retake:
            sheet.save()
        elif file := sheet.differences(tmp_path):
            changed.append(str(file))
        page.set_viewport_size({"width": SIZE[0], "height": SIZE[1]})
        barriers = violations(page, is_whole=name in (PAGES[0], PAGES[-1]))
        page.evaluate("document.body.classList.remove('dark')")
        page.keyboard.press("Tab")  # rings are for those who use keys
        barriers += page.evaluate(WITHOUT_RING)
        if barriers:
            problems[name] = barriers
        page.evaluate("document.activeElement.blur()")
    hint = "Look at the files named here. If the pages should look so: pytest --retake"
    assert (problems, changed) == ({}, []), hint
    if not is_compared:
        pytest.skip("The fonts differ from those of the stored pictures: looks are not compared.")


def test_what_opens_on_the_review_page_is_accessible(page: Page) -> None:
    page.set_viewport_size({"width": SIZE[0], "height": SIZE[1]})
    page.keyboard.press("Escape")
    go_to(page, "review")
    problems = {"cut off": page.evaluate(CUT)}
    drawer = page.locator("#traced-queue details.more")
    drawer.locator("summary").click()
    value = drawer.locator(".word [data-action=narrow]").first
    for pressed in ("true", "false"):
        value.click()
        expect(value).to_have_attribute("aria-pressed", pressed)
        problems[f"drawer, pressed {pressed}"] = violations(page)
    drawer.locator("summary").click()
    page.keyboard.press("g")
    page.wait_for_selector("#traced-stage .pick")
    problems["grid"] = violations(page)
    page.keyboard.press("g")
    page.wait_for_selector("#traced-stage [data-pair]")
    page.keyboard.press("?")
    page.wait_for_selector("#traced-help:not([hidden])")
    problems["help"] = violations(page, is_whole=True)
    page.keyboard.press("Escape")
    page.set_viewport_size({"width": TABLET[0], "height": TABLET[1]})
    problems["tablet"] = violations(page, is_whole=True)
    assert not any(problems.values()), problems


def test_a_phone_shows_what_a_verdict_needs_and_the_queue_in_a_drawer(page: Page) -> None:
    page.set_viewport_size({"width": PHONE[0], "height": PHONE[1]})
    go_to(page, "review")
    page.evaluate("scrollTo(0, 0)")
    for part in (".picture img", ".traced-caption", ".verdicts button >> nth=0",
                 ".verdicts button >> nth=-1", ".toolbar button >> nth=-1"):  # fmt: skip
        box = box_of(page.locator(part).first)
        assert 0 <= box.x <= box.right <= PHONE[0], part
        assert 0 <= box.y <= box.bottom <= PHONE[1], part
    queue, button = page.locator("#traced-queue"), page.locator(".tool-queue")
    expect(queue).to_be_hidden()
    button.click()
    expect(queue).to_be_visible()
    expect(button).to_have_attribute("aria-expanded", "true")
    assert page.evaluate(CUT) == []
    page.keyboard.press("Escape")
    expect(queue).to_be_hidden()
    expect(button).to_be_focused()
    button.click()
    second_pair = queue.locator(".pairs button").nth(1)
    pair = second_pair.get_attribute("data-target")
    second_pair.click()
    expect(queue).to_be_hidden()
    expect(page.locator("#traced-stage [data-pair]")).to_have_attribute("data-pair", str(pair))
    # On a wide screen the queue is always visible and needs no button.
    page.set_viewport_size({"width": 1280, "height": 720})
    expect(queue).to_be_visible()
    expect(button).to_be_hidden()
    assert page.evaluate(CUT) == []


def test_the_header_stays_where_it_is_while_a_job_runs(page: Page) -> None:
    for size in (SIZE, PHONE):
        page.set_viewport_size({"width": size[0], "height": size[1]})
        show(page, "map")
        page.evaluate(WATCH_HEADER)
        # The poll that shows the job's end also shows that it ran.
        with page.expect_response("**/gradio_api/run/predict*"):
            page.locator("#map-start").click()
        expect(page.locator("#traced-jobs-button [role=status]")).to_contain_text(": done")
        assert len(page.evaluate("headerPlaces")) == 1
        # A job that lasts has a share, up to the longest.
        assert page.evaluate(GROWTH) == 0
