"""Jobs and other pages change what pairs look like: the review page follows and keeps its place."""

import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from playwright.sync_api import APIResponse, Page, Route, expect

from tests.browser.conftest import Site, go_to
from tests.browser.test_main_job import pair_of, press
from tests.browser.test_own_pictures import pictures
from tests.browser.test_verdicts import STAGE, wait_until_ready

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def site(separate_site: Site) -> Site:
    """A job runs in it."""
    return separate_site


def hold_first(page: Page, address: str) -> list[tuple[Route, APIResponse]]:
    """Hold back the first response from `address`. It is in the list as soon as it has come."""
    held: list[tuple[Route, APIResponse]] = []

    def hold(route: Route) -> None:
        if held:
            route.continue_()
        else:
            held.append((route, route.fetch()))

    page.route(address, hold)
    return held


def release(held: Sequence[tuple[Route, APIResponse]]) -> None:
    ((route, answer),) = held
    route.fulfill(response=answer)


def wait_for(page: Page, held: Sequence[object]) -> None:
    """Wait until a response has been held back."""
    for _ in range(600):
        page.wait_for_timeout(50)
        if held:
            return
    pytest.fail("Nothing came.")


def test_the_end_of_a_job_redraws_the_page_where_it_is(page: Page) -> None:
    wait_until_ready(page)
    press(page, "j")
    pair = pair_of(page)
    page.keyboard.press("ArrowRight")
    page.evaluate("document.querySelector('#traced-queue .bar').dataset.old = '1'")
    go_to(page, "datasets")
    with page.expect_request(lambda request: '"redraw":true' in (request.post_data or "")):
        page.locator("#quality-start").click()
        expect(page.locator("#traced-jobs-button")).to_contain_text(": done")
    go_to(page, "review")
    assert pair_of(page) == pair
    expect(page.locator("#traced-steps [aria-current=step] .t")).to_have_text("1")


def test_another_dataset_is_chosen_and_other_pages_keep_what_was_typed(
    page: Page, tmp_path: Path
) -> None:
    go_to(page, "datasets")
    page.locator("#import-path").locator("input, textarea").fill(str(pictures(tmp_path / "photos")))
    page.locator("#import-start").click()
    expect(page.locator("#traced-queue [data-dataset='2']")).to_be_attached()
    page.wait_for_url(re.compile("dataset=2"))
    page.reload()  # the server started without it
    dataset = page.get_by_role("combobox", name="Dataset", exact=True)
    expect(dataset).to_have_value(re.compile("photos"))
    page.locator("#import-path").locator("input, textarea").fill("/typed/for/later")
    dataset.click()
    page.get_by_role("option", name=re.compile("pairs")).first.click()
    expect(page.locator("#traced-queue [data-dataset='1']")).to_be_attached()
    expect(page.locator(".toast-body")).to_have_count(0)
    go_to(page, "review")
    expect(page.locator(STAGE)).to_be_visible()
    expect(page).to_have_url(re.compile("dataset=1"))
    go_to(page, "datasets")
    expect(page.locator("#import-path").locator("input, textarea")).to_have_value(
        "/typed/for/later"
    )


def test_a_poll_whose_answer_is_lost_does_not_end_the_polling(page: Page) -> None:
    """Gradio closes its stream when nothing is pending on the server. An event that was sent before
    the page learns of it waits for a stream that only another event opens."""
    go_to(page, "datasets")
    page.wait_for_timeout(500)  # for a poll that has begun
    streams = hold_first(page, "**/gradio_api/queue/data*")
    with page.expect_response("**/gradio_api/queue/join*"):
        page.locator("#specificity-start").click()
    wait_for(page, streams)
    with page.expect_response("**/gradio_api/queue/join*"):  # the poll after a click on a button
        pass
    page.wait_for_timeout(200)
    release(streams)
    expect(page.locator("#traced-jobs-button")).to_contain_text(": done")


def test_pairs_prefetched_before_the_guidelines_changed_are_not_shown(page: Page) -> None:
    wait_until_ready(page)
    late = hold_first(page, "**/review/acts")
    go_to(page, "guidelines")
    wait_for(page, late)
    page.locator("#guidelines-text textarea").fill("Name all colours.")
    page.locator("#guidelines-save").click()
    expect(page.locator("#guidelines-shown")).to_contain_text("Name all colours.")
    go_to(page, "review")
    release(late)
    wait_until_ready(page)
    press(page, "j")
    expect(page.locator("#traced-steps [data-guidelines]")).to_have_count(1)
