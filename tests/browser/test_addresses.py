"""Pages and pairs have addresses with history; Escape leaves a search without sending it."""

import re

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.conftest import Site, go_to, opened_page
from tests.browser.test_jobs_and_pages import hold_first, release, wait_for
from tests.browser.test_main_job import pair_of, press

pytestmark = pytest.mark.browser
SEARCH = "#traced-queue [data-filter=text]"
STAGE = "#traced-stage [data-pair]"


def test_escape_leaves_a_search_and_keeps_the_queue(page: Page) -> None:
    field, pair = page.locator(SEARCH), pair_of(page)
    field.fill("a")
    field.press("Enter")
    page.wait_for_url(re.compile("text=a"))
    page.keyboard.press("/")
    expect(field).to_be_focused()
    page.keyboard.type("zebra")
    page.keyboard.press("Escape")
    expect(field).not_to_be_focused()
    expect(field).to_have_value("a")
    page.keyboard.press("/")
    page.keyboard.press("Escape")  # nothing typed: an empty search would list all pairs
    press(page, "j")  # keys work again; any request sent by Escape has ended
    assert "text=a" in page.url
    assert pair_of(page) != pair


def test_back_and_forward_go_from_pair_to_pair(page: Page) -> None:
    first = pair_of(page)
    page.wait_for_url(re.compile(f"pair={first}"))
    press(page, "j")
    second = pair_of(page)
    page.wait_for_url(re.compile(f"pair={second}"))
    page.go_back()
    expect(page.locator(STAGE)).to_have_attribute("data-pair", first)
    page.wait_for_url(re.compile(f"pair={first}"))
    page.go_forward()
    expect(page.locator(STAGE)).to_have_attribute("data-pair", second)
    # Queues are part of the history, too.
    page.locator(SEARCH).fill("a")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("text=a"))
    page.go_back()
    expect(page.locator(SEARCH)).to_have_value("")
    expect(page.locator(STAGE)).to_have_attribute("data-pair", second)


def test_a_redraw_before_the_response_keeps_the_history(page: Page) -> None:
    """A job may redraw the page while the previous pair is still loading after Back. That must not
    count as a step forward."""
    first = pair_of(page)
    page.wait_for_url(re.compile(f"pair={first}"))
    press(page, "j")
    second = pair_of(page)
    page.wait_for_url(re.compile(f"pair={second}"))
    late = hold_first(page, "**/review/acts")
    page.evaluate("history.back()")
    wait_for(page, late)
    page.evaluate("document.dispatchEvent(new CustomEvent('traced-refresh'))")
    with page.expect_response(lambda answer: '"redraw":true' in (answer.request.post_data or "")):
        release(late)
    expect(page.locator(STAGE)).to_have_attribute("data-pair", first)
    page.go_forward()
    expect(page.locator(STAGE)).to_have_attribute("data-pair", second)


def test_pages_are_addresses(page: Page) -> None:
    go_to(page, "progress")
    page.wait_for_url(re.compile("tab=progress"))
    page.reload()
    expect(page.get_by_role("tab", name="Progress")).to_have_attribute("aria-selected", "true")
    go_to(page, "map")
    page.wait_for_url(re.compile("tab=map"))
    page.go_back()
    expect(page.get_by_role("tab", name="Progress")).to_have_attribute("aria-selected", "true")
    page.go_back()
    expect(page.get_by_role("tab", name="Review")).to_have_attribute("aria-selected", "true")
    expect(page.locator(STAGE)).to_be_visible()


def test_an_address_of_an_earlier_version_leads_to_the_same_page(
    profile: BrowserContext, site: Site
) -> None:
    with opened_page(profile, site) as page:
        page.goto(f"{site.address}/?tab=retrain")
        tab = page.locator("[role=tab][data-page=retrain][data-pages=retrain]")
        expect(tab).to_have_attribute("aria-selected", "true")
    with opened_page(profile, site, "?tab=playground") as page:
        heading = page.get_by_role("heading", name="Try one picture")
        expect(heading).to_be_visible()
        expect(page.locator(STAGE)).to_be_attached()
        page.keyboard.press("Escape")
        expect(heading).to_be_hidden()


def test_rooms_are_one_tab_stop_and_arrow_keys_move_along_them(page: Page) -> None:
    rooms = page.get_by_role("tablist", name="Rooms")
    assert rooms.locator("[role=tab]:not([tabindex='-1'])").count() == 1
    rooms.get_by_role("tab", name="Review").focus()
    page.keyboard.press("ArrowRight")
    expect(rooms.get_by_role("tab", name="Explore")).to_be_focused()
    expect(page.get_by_role("tab", name="Map")).to_have_attribute("aria-selected", "true")
    page.keyboard.press("ArrowLeft")
    expect(page.locator(STAGE)).to_be_visible()


def test_redo_moves_on_and_a_second_verdict_needs_confirmation(page: Page) -> None:
    first = pair_of(page)
    page.wait_for_url(re.compile(f"pair={first}"))
    address = page.url
    press(page, "u")
    second = pair_of(page)
    press(page, "z")
    assert pair_of(page) == first
    press(page, "y")
    assert pair_of(page) == second

    page.goto("about:blank")
    page.goto(address)
    expect(page.locator(STAGE)).to_have_attribute("data-pair", first)
    pressed = page.locator("#traced-stage [data-action=unsure]")
    expect(pressed).to_have_attribute("aria-pressed", "true")
    question = page.get_by_role("alertdialog")
    page.keyboard.press("d")
    expect(question).to_contain_text("not sure")
    page.keyboard.press("Escape")
    expect(question).to_have_count(0)
    expect(pressed).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("d")
    expect(question.get_by_role("button").first).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#traced-toast")).to_contain_text("Removed.")
    page.keyboard.press("z")
    expect(page.locator("#traced-toast")).to_contain_text("Undone")
    page.keyboard.press("z")
