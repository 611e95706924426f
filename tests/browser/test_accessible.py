"""WCAG A and AA by axe: every page, light and dark, wide and on a tablet."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page

from tests.browser.conftest import ROOT, Site
from tests.browser.screenshots import PAGES, SIZES

pytestmark = pytest.mark.browser

#: Every page as it looked in this run, for people to look at.
SCREENSHOTS = ROOT / "data" / "test-screenshots"
#: Pages that always have a chart here; Gradio shows an empty frame until its library is loaded.
CHARTS = {"Plane": "#plane-chart"}
OPTIONS = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"], "resultTypes": ["violations"]}


def violations(page: Page) -> list[str]:
    """One line a finding: the rule, how bad, what it says, where."""
    broken_rules = Axe().run(page, options=OPTIONS).response["violations"]
    return [
        f"{rule['id']} ({rule['impact']}): {rule['help']} at {node['target']} {node['html'][:160]}"
        for rule in broken_rules
        for node in rule["nodes"]
    ]


def wait_until_drawn(page: Page) -> None:
    """Wait for what a page draws after it has come up: its charts load the chart library first."""
    page.wait_for_timeout(800)  # the page's own answer, which shows or hides its charts
    page.wait_for_function(
        "[...document.querySelectorAll('.empty[aria-label]')].every(e => !e.checkVisibility())"
    )


@pytest.mark.parametrize("look", ["light", "dark"])
@pytest.mark.parametrize("size", list(SIZES))
def test_no_page_shuts_anybody_out(browser: Browser, site: Site, size: str, look: str) -> None:
    width, height = SIZES[size]
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    page = browser.new_page(viewport={"width": width, "height": height})
    page.goto(f"{site.address}/?__theme={look}")
    page.wait_for_selector("#traced-stage [data-pair]", timeout=60_000)
    by_page: dict[str, list[str]] = {}
    for title in PAGES:
        page.get_by_role("tab", name=title).click()
        wait_until_drawn(page)
        if title in CHARTS:
            page.wait_for_selector(f"{CHARTS[title]} .js-plotly-plot")
        page.screenshot(path=SCREENSHOTS / f"{title.lower()}-{size}-{look}.png")
        if wrong := violations(page):
            by_page[title] = wrong
    page.get_by_role("tab", name="Review").click()
    page.keyboard.press("g")
    page.wait_for_selector("#traced-stage .pick")
    page.screenshot(path=SCREENSHOTS / f"grid-{size}-{look}.png")
    if wrong := violations(page):
        by_page["Grid"] = wrong
    page.keyboard.press("g")
    page.wait_for_selector("#traced-stage [data-pair]")
    page.keyboard.press("?")
    page.wait_for_selector("#traced-help:not([hidden])")
    if wrong := violations(page):
        by_page["Help"] = wrong
    page.close()
    assert not by_page, "\n".join(
        f"{title}: {line}" for title in by_page for line in by_page[title]
    )
