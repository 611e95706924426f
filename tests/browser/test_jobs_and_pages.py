"""Jobs and other pages change what pairs look like: the review page follows and keeps its place."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Dialog, Page, expect

from tests.browser.conftest import Site, go_to
from tests.browser.test_main_job import pair_of, press
from tests.browser.test_own_pictures import pictures
from tests.browser.test_verdicts import wait_until_ready

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def site(separate_site: Site) -> Site:
    """A job runs in it."""
    return separate_site


def test_the_end_of_a_job_redraws_the_page_where_it_is(page: Page) -> None:
    wait_until_ready(page)
    press(page, "j")
    pair = pair_of(page)
    page.keyboard.press("ArrowRight")
    with page.context.expect_page() as opened:
        page.evaluate("window.open('datasets?dataset=1')")
    other = opened.value
    with page.expect_request(lambda request: '"redraw":true' in (request.post_data or "")):
        other.locator("#measure-more button").first.click()
        other.locator("#quality-start").click()
        expect(other.locator("#traced-jobs-button")).to_contain_text(": done")
    other.close()
    assert pair_of(page) == pair
    expect(page.locator("#traced-steps [aria-current=step] .t")).to_have_text("1")


def test_a_new_dataset_is_the_one_of_the_page_and_another_is_chosen(
    page: Page, tmp_path: Path
) -> None:
    go_to(page, "datasets")
    page.locator("#import-path").locator("input, textarea").fill(str(pictures(tmp_path / "photos")))
    page.locator("#import-start").click()
    page.wait_for_url(re.compile("dataset=2"))
    dataset = page.get_by_role("combobox", name="Dataset", exact=True)
    expect(dataset.locator("option:checked")).to_contain_text("photos")
    expect(page.locator("#score-start")).to_contain_text("photos")
    page.reload()  # the server started without it
    expect(dataset).to_have_value("2")
    expect(page.locator("#score-start")).to_contain_text("photos")
    go_to(page, "review")
    expect(page.locator("#traced-queue [data-dataset='2']")).to_be_attached()
    dataset.select_option("1")
    expect(page.locator("#traced-queue [data-dataset='1']")).to_be_attached()
    expect(page).to_have_url(re.compile("dataset=1"))
    go_to(page, "progress")
    dataset.select_option("2")
    expect(page).to_have_url(re.compile(r"/progress\?dataset=2"))
    expect(page.locator("#progress-cards")).to_contain_text("not known")
    expect(page.locator(".toast-body")).to_have_count(0)


def test_pairs_prefetched_before_the_guidelines_changed_are_not_shown(page: Page) -> None:
    wait_until_ready(page)
    go_to(page, "guidelines")
    page.locator("#guidelines-text textarea").fill("Name all colours.")
    page.locator("#guidelines-save").click()
    expect(page.locator("#guidelines-shown")).to_contain_text("Name all colours.")
    page.go_back()
    wait_until_ready(page)
    press(page, "j")
    expect(page.locator("#traced-steps [data-guidelines]")).to_have_count(1)


def test_guidelines_that_are_not_saved_are_not_left_by_accident(page: Page) -> None:
    questions: list[str] = []

    def leave(question: Dialog) -> None:
        questions.append(question.type)
        question.accept()

    page.on("dialog", leave)
    go_to(page, "guidelines")
    text = page.locator("#guidelines-text textarea")
    expect(text).to_be_editable()
    text.click()
    page.keyboard.type("Dogs are dogs.")
    go_to(page, "review")
    assert questions == ["beforeunload"]
    go_to(page, "guidelines")
    go_to(page, "review")
    assert questions == ["beforeunload"]
