"""Pages and pairs have addresses with history; Escape leaves a search without sending it."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Site, go_to, held, wait_until
from tests.browser.test_main_job import pair_of, press
from tests.browser.test_verdicts import decisions, take_back, wait_until_ready, wait_until_saved

pytestmark = pytest.mark.browser
SEARCH = "#traced-queue [data-filter=text]"
STAGE = "#traced-stage [data-pair]"
#: Reloads the page in the moment in which its queue is another one.
RELOAD_AT_ONCE = """() => {
  const queue = document.querySelector("#traced-queue");
  const shown = () => queue.querySelector("[data-link]").dataset.link;
  const before = shown();
  new MutationObserver(() => {
    if (shown() !== before) location.reload();
  }).observe(queue, { subtree: true, childList: true, attributes: true });
  document.querySelector("[data-action=drop-filter]").click();
}"""


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


def test_a_reload_opens_what_was_shown_however_short(page: Page) -> None:
    for text in ("a", "zzzz"):
        page.locator(SEARCH).fill(text)
        page.keyboard.press("Enter")
        expect(page.locator("#traced-queue [data-action=drop-filter]")).to_contain_text(text)
        page.reload()
        expect(page.locator(SEARCH)).to_have_value(text)
    with page.expect_navigation():
        page.evaluate(f"() => {{ setTimeout({RELOAD_AT_ONCE}); }}")  # else the answer may be lost
    expect(page.locator(STAGE)).to_be_visible()
    expect(page.locator(SEARCH)).to_have_value("")
    assert "text=" not in page.url


def test_a_redraw_before_the_response_keeps_the_history(page: Page) -> None:
    """A job may redraw the page while the previous pair is still loading after Back. That must not
    count as a step forward."""
    first = pair_of(page)
    page.wait_for_url(re.compile(f"pair={first}"))
    press(page, "j")
    second = pair_of(page)
    page.wait_for_url(re.compile(f"pair={second}"))
    with (
        page.expect_response(lambda answer: '"redraw":true' in (answer.request.post_data or "")),
        held(page, "**/review/acts"),
    ):
        with page.expect_request("**/review/acts"):
            page.evaluate("history.back()")
        page.evaluate("document.dispatchEvent(new CustomEvent('traced-refresh'))")
    expect(page.locator(STAGE)).to_have_attribute("data-pair", first)
    page.go_forward()
    expect(page.locator(STAGE)).to_have_attribute("data-pair", second)


def test_pages_are_addresses_and_review_opens_where_it_was_left(page: Page) -> None:
    page.locator(SEARCH).fill("a")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("text=a"))
    press(page, "j")
    second = pair_of(page)
    page.wait_for_url(re.compile(f"pair={second}"))
    go_to(page, "progress")
    page.reload()
    expect(page.get_by_role("link", name="Progress")).to_have_attribute("aria-current", "page")
    expect(page).to_have_title(re.compile("Progress"))
    go_to(page, "map")
    page.go_back()
    expect(page).to_have_url(re.compile(r"/progress\?dataset=1"))
    go_to(page, "review")
    expect(page.locator(STAGE)).to_have_attribute("data-pair", second)
    expect(page.locator(SEARCH)).to_have_value("a")
    press(page, "k")  # and its history goes on
    first = pair_of(page)
    assert first != second
    page.wait_for_url(re.compile(f"pair={first}"))
    page.go_back()
    expect(page.locator(STAGE)).to_have_attribute("data-pair", second)


def test_verdicts_that_are_not_saved_when_review_is_left_are_saved(page: Page, site: Site) -> None:
    wait_until_ready(page)
    before, pairs = decisions(site), []
    page.route("**/review/acts", lambda _: None)  # no answer comes
    for _ in range(3):
        pairs.append(pair_of(page))
        press(page, "u")
    page.unroute_all(behavior="ignoreErrors")
    go_to(page, "progress")
    given = {**before, **dict.fromkeys(pairs, "unsure")}
    wait_until(page, lambda: decisions(site) == given)
    go_to(page, "review")  # where they are sent again, because no answer came
    wait_until_saved(page)
    expect(page.locator("#traced-returned .returned")).to_be_hidden()
    take_back(page, site, before)


def test_rooms_are_one_tab_stop_and_arrow_keys_move_along_them(page: Page) -> None:
    names = page.get_by_role("navigation", name="Rooms")
    assert names.locator("a:not([tabindex='-1'])").count() == 1
    names.get_by_role("link", name="Review").focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("ArrowRight")
    expect(names.get_by_role("link", name="Explore")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("/map"))


def test_a_second_verdict_needs_confirmation(page: Page) -> None:
    first = pair_of(page)
    page.wait_for_url(re.compile(f"pair={first}"))
    address = page.url
    press(page, "u")
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
