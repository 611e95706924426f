"""WCAG A and AA by axe: every page, light and dark, wide and on a tablet."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import BrowserContext, Page

from tests.browser.conftest import ROOT, SIZE, Site, go_to, opened_page
from tests.browser.screenshots import PAGES, SIZES

# In one process: the pages are opened once and examined in each size and look.
pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("axe")]

LOOKS = ("light", "dark")
#: Screenshots of every page in this run, for visual inspection.
SCREENSHOTS = ROOT / "data" / "test-screenshots"
#: Pages that always have a chart in these tests; Gradio shows an empty frame until the chart
#: library is loaded.
CHARTS = {"plane": "#plane-chart"}
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]
#: Rules whose result can differ in dark mode; for all others both modes are the same page.
COLOURS = ["color-contrast", "link-in-text-block"]


#: Each frame of a change from light to dark would be painted by the processor.
WITHOUT_FADING = "*, ::before, ::after { transition: none !important; animation: none !important }"

#: What axe examines: the document, or what is below the header, which is the same on every page.
RUN = """([isWhole, options]) => {
  const panels = [...document.querySelectorAll("#traced-try, [role=tabpanel]")];
  const shown = panels.findLast((panel) => panel.checkVisibility());
  return axe.run(isWhole ? document : shown, options).then((results) => results.violations);
}"""


def violations(page: Page, look: str, is_whole: bool) -> list[str]:
    """One line per violation: the rule, its impact, its message and the element."""
    options = {"runOnly": COLOURS if look == "dark" else RULES, "resultTypes": ["violations"]}
    return [
        f"{rule['id']} ({rule['impact']}): {rule['help']} at {node['target']} {node['html'][:160]}"
        for rule in page.evaluate(RUN, [is_whole, options])
        for node in rule["nodes"]
    ]


def wait_until_drawn(page: Page) -> None:
    """Wait for what a page draws after it has opened: charts load the chart library first."""
    page.wait_for_timeout(800)  # the server's response, which shows or hides charts
    page.wait_for_function(
        "[...document.querySelectorAll('.empty[aria-label]')].every(e => !e.checkVisibility())"
    )


def show(page: Page, look: str) -> None:
    """Switch as the toolbar's button does."""
    page.evaluate("dark => document.body.classList.toggle('dark', dark)", look == "dark")


@pytest.fixture(scope="module")
def findings(profile: BrowserContext, site: Site) -> dict[tuple[str, str], list[str]]:
    """The violations in each size and look: each page is opened once and examined four times."""
    listed: dict[tuple[str, str], list[str]] = {
        (size, look): [] for size in SIZES for look in LOOKS
    }
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    with opened_page(profile, site, "?__theme=light") as page:
        page.evaluate(Axe().axe_script)
        page.add_style_tag(content=WITHOUT_FADING)

        def look_at(title: str, is_whole: bool = False) -> None:
            page.mouse.move(0, 0)  # in another size it would hover over something else
            for size, (width, height) in SIZES.items():
                page.set_viewport_size({"width": width, "height": height})
                for look in LOOKS:
                    show(page, look)
                    page.screenshot(path=SCREENSHOTS / f"{title.lower()}-{size}-{look}.png")
                    lines = violations(page, look, is_whole)
                    listed[size, look] += [f"{title}: {line}" for line in lines]
            page.set_viewport_size({"width": SIZE[0], "height": SIZE[1]})

        for title in PAGES:
            go_to(page, title)
            wait_until_drawn(page)
            if title in CHARTS:
                page.wait_for_selector(f"{CHARTS[title]} .js-plotly-plot")
            look_at(title, is_whole=title == PAGES[0])
        page.keyboard.press("Escape")  # the playground, which lies over the last page
        go_to(page, "review")
        page.keyboard.press("g")
        page.wait_for_selector("#traced-stage .pick")
        look_at("Grid")
        page.keyboard.press("g")
        page.wait_for_selector("#traced-stage [data-pair]")
        page.keyboard.press("?")
        page.wait_for_selector("#traced-help:not([hidden])")
        look_at("Help", is_whole=True)  # with all pages in the document
    return listed


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("look", LOOKS)
def test_every_page_is_accessible(
    findings: dict[tuple[str, str], list[str]], size: str, look: str
) -> None:
    assert not findings[size, look], "\n".join(findings[size, look])
