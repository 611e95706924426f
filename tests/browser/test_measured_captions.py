"""Support and specificity: measured by a click, then used to find pairs."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Site, go_to
from tests.browser.test_main_job import pair_of
from tests.fixtures.features import needs

pytestmark = pytest.mark.browser


@pytest.fixture
def page(kept_page: Page) -> Page:
    return kept_page


#: The timeout of a job that may have to wait for the job started with the server.
JOB = 200_000


@pytest.fixture(scope="module")
def site(separate_site: Site) -> Site:
    """What is measured here would change what other tests see."""
    return separate_site


def order(page: Page, name: str) -> None:
    go_to(page, "review")
    page.locator("#traced-queue [data-filter=order]").select_option(name)
    expect(page).to_have_url(re.compile(f"order={name}"))


def test_phrases_are_measured_and_captions_with_little_support_come_first(page: Page) -> None:
    go_to(page, "datasets")
    page.locator("#measure-more button").first.click()
    page.locator("#support-start").click()
    expect(page.locator("#job-status")).to_contain_text("measured now", timeout=JOB)
    order(page, "support")
    phrases = page.locator("#traced-steps [data-phrases]")
    expect(phrases).to_have_count(1)
    page.keyboard.press("h")
    expect(phrases).to_have_attribute("open", "")
    expect(phrases).to_contain_text(re.compile(r"\(support\): [-−]?\d"))
    expect(phrases.locator(".chip, .phrase").first).to_be_visible()


@needs("selection")
def test_what_a_selection_would_keep_is_counted_on_export(page: Page) -> None:
    go_to(page, "export")
    page.get_by_text("Select for training, in two stages").click()
    page.locator("#use-stages input").check()
    page.get_by_label("match alone").check()
    expect(page.locator("#stage-links")).to_contain_text(re.compile(r"\d+ of \d+"))


def test_generic_captions_come_first_and_show_the_pictures_they_fit_better(page: Page) -> None:
    go_to(page, "datasets")
    page.locator("#measure-more button").first.click()
    page.locator("#specificity-start").click()
    expect(page.locator("#job-status")).to_contain_text("is done", timeout=JOB)
    order(page, "specificity")
    sentence = page.locator("#traced-steps .specificity")
    expect(sentence).to_have_count(1)
    page.locator("#traced-steps summary", has_text="Looks like").click()
    expect(sentence).to_contain_text(re.compile(r"fits \d+ similar pictures? as well or better"))
    before = pair_of(page)
    other = sentence.locator(".strip [data-action=open]").first
    target = other.get_attribute("data-target")
    assert target not in (None, before)
    other.click()
    expect(page.locator("#traced-stage [data-pair]")).to_have_attribute("data-pair", str(target))
