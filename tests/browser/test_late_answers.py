"""On a slow connection responses may arrive out of order. The page shows the newest."""

import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from playwright.sync_api import APIResponse, Page, Route, expect

from tests.browser.conftest import Site
from tests.browser.test_main_job import pair_of, press
from tests.browser.test_own_pictures import pictures
from tests.browser.test_read_ahead import wait_until_ready

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def site(separate_site: Site) -> Site:
    """A job runs in it."""
    return separate_site


def choose(page: Page, filter: str, value: str) -> None:
    page.locator(f"#traced-queue [data-filter={filter}]").select_option(value)


def chosen(page: Page, filter: str) -> str:
    return page.locator(f"#traced-queue [data-filter={filter}]").input_value()


def hold_first(page: Page, address: str, text: str = "") -> list[tuple[Route, APIResponse]]:
    """Hold back the first response from `address` that contains `text`. It is in the list as soon
    as it has come."""
    held: list[tuple[Route, APIResponse]] = []

    def hold(route: Route) -> None:
        if held:
            route.continue_()
            return
        answer = route.fetch()
        if not held and text in answer.text():  # another may have come meanwhile
            held.append((route, answer))
        else:
            route.fulfill(response=answer)

    page.route(address, hold)
    return held


def release(held: Sequence[tuple[Route, APIResponse]]) -> None:
    ((route, answer),) = held
    route.fulfill(response=answer)


def wait_for(page: Page, kept: Sequence[object]) -> None:
    """Wait until a request or a response has been held back."""
    for _ in range(600):
        page.wait_for_timeout(50)
        if kept:
            return
    pytest.fail("Nothing came.")


def test_the_redraw_at_the_end_of_a_job_keeps_a_newer_filter(page: Page) -> None:
    late = hold_first(page, "**/gradio_api/queue/data*", "data-link")
    page.get_by_role("tab", name="Datasets").click()
    page.locator("#quality-start").click()
    page.get_by_role("tab", name="Review").click()
    wait_for(page, late)
    before = pair_of(page)
    choose(page, "order", "s_0")
    expect(page).to_have_url(re.compile("order=s_0"))
    newest = pair_of(page)
    assert newest != before
    release(late)
    page.wait_for_timeout(500)  # long enough for the address to change back
    expect(page.locator("#traced-stage [data-pair]")).to_have_attribute("data-pair", newest)
    assert chosen(page, "order") == "s_0"
    expect(page).to_have_url(re.compile("order=s_0"))


def test_a_second_filter_does_not_overtake_the_first(page: Page) -> None:
    sent: list[str] = []

    def delay_first(route: Route) -> None:
        sent.append(route.request.post_data or "")
        if len(sent) == 1:
            page.wait_for_timeout(400)
        route.continue_()

    page.route("**/gradio_api/run/predict*", delay_first)
    choose(page, "review", "all")
    choose(page, "order", "s_0")
    expect(page).to_have_url(re.compile("order=s_0"))
    page.wait_for_timeout(500)  # long enough for a late response to be drawn
    assert (chosen(page, "review"), chosen(page, "order")) == ("all", "s_0")
    assert "order=s_0" in page.url


def test_a_redraw_keeps_a_filter_whose_request_is_pending(page: Page) -> None:
    """The next choice is sent together with it."""
    held: list[Route] = []
    page.route("**/gradio_api/run/predict*", lambda route: held.append(route))
    choose(page, "review", "all")
    wait_for(page, held)
    page.evaluate("document.querySelector('#traced-queue [data-link]').dataset.seen = '0'")
    page.wait_for_function(
        "document.querySelector('#traced-queue [data-link]').dataset.seen === '1'"
    )
    assert chosen(page, "review") == "all"
    held[0].continue_()
    page.unroute("**/gradio_api/run/predict*")
    expect(page).to_have_url(re.compile("review=all"))


def test_another_dataset_that_is_not_shown_yet_does_not_reload_the_page(
    page: Page, tmp_path: Path
) -> None:
    """A reload would lose what has been typed on other pages."""
    page.get_by_role("tab", name="Datasets").click()
    page.locator("#import-path").locator("input, textarea").fill(str(pictures(tmp_path / "photos")))
    page.locator("#import-start").click()
    expect(page.locator("#traced-queue [data-dataset='2']")).to_be_attached()
    late = hold_first(page, "**/gradio_api/queue/data*", "data-link")
    page.locator("#import-path").locator("input, textarea").fill("/typed/for/later")
    dataset = page.get_by_label("Dataset", exact=True)
    dataset.click()
    page.get_by_role("option", name=re.compile("pairs")).first.click()
    wait_for(page, late)
    with page.expect_response("**/review/acts"):
        page.get_by_role("tab", name="Review").click()
    page.wait_for_timeout(500)  # long enough for the page to reload
    release(late)
    expect(page.locator("#traced-queue [data-dataset='1']")).to_be_attached()
    page.get_by_role("tab", name="Datasets").click()
    expect(page.locator("#import-path").locator("input, textarea")).to_have_value(
        "/typed/for/later"
    )


def test_a_poll_whose_answer_is_lost_does_not_end_the_polling(page: Page) -> None:
    """Gradio closes its stream when nothing is pending on the server. An event that was sent before
    the page learns of it waits for a stream that only another event opens."""
    page.get_by_role("tab", name="Datasets").click()
    page.wait_for_timeout(500)  # for a poll that has begun
    streams = hold_first(page, "**/gradio_api/queue/data*")
    with page.expect_response("**/gradio_api/queue/join*"):
        page.locator("#specificity-start").click()
    wait_for(page, streams)
    with page.expect_response("**/gradio_api/queue/join*"):  # the poll after a click on a button
        pass
    page.wait_for_timeout(200)
    release(streams)
    expect(page.locator("#traced-jobs-button")).to_contain_text(": done", timeout=60_000)


def test_pairs_prefetched_before_the_guidelines_changed_are_not_shown(page: Page) -> None:
    wait_until_ready(page)
    late = hold_first(page, "**/review/acts")
    page.get_by_role("tab", name="Datasets").click()
    wait_for(page, late)
    page.locator("#guidelines button").first.click()
    page.locator("#guidelines-text textarea").fill("Name all colours.")
    page.locator("#guidelines-save").click()
    expect(page.locator("#guidelines-shown")).to_contain_text("Name all colours.")
    page.get_by_role("tab", name="Review").click()
    with page.expect_response("**/review/acts"):  # the next one
        release(late)
    page.wait_for_timeout(500)  # until what it brings has been prepared
    press(page, "j")
    expect(page.locator("#traced-steps [data-guidelines]")).to_have_count(1)
