"""Notes, guidelines, and renaming and deleting a dataset in the browser."""

import pytest
from playwright.sync_api import Page, expect

from research.scenes import demo
from tests.browser.conftest import Site, go_to, press_at_once
from tests.browser.test_main_job import pair_of, press
from traced_ui.guidelines_page import EXAMPLE

pytestmark = pytest.mark.browser


@pytest.fixture
def page(kept_page: Page) -> Page:
    return kept_page


def test_a_note_is_written_by_keyboard(page: Page) -> None:
    pair = pair_of(page)
    page.keyboard.press("n")
    box = page.locator("#traced-steps details.note textarea")
    expect(box).to_be_focused()
    page.keyboard.type("two dogs? ask Ben")
    page.keyboard.press("Escape")
    expect(box).not_to_be_focused()
    page.keyboard.press("ArrowRight")  # a redraw keeps unfinished input
    expect(page.locator("#traced-steps [aria-current=step] .t")).to_have_text("1")
    expect(box).to_have_value("two dogs? ask Ben")
    page.keyboard.press("n")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#traced-stage .noted")).to_have_text("two dogs? ask Ben")
    assert pair_of(page) == pair
    expect(page.locator("#traced-stage [data-decided]")).to_have_count(0)
    press(page, "u")
    expect(box).to_have_value("")  # of the next pair
    for _ in range(2):
        page.keyboard.press("z")
        expect(page.locator("#traced-toast")).to_contain_text("Undone")
        page.wait_for_load_state()


def test_guidelines_are_written_and_shown_next_to_the_pair(page: Page) -> None:
    go_to(page, "guidelines")
    expect(page.locator("#guidelines-shown h3").first).to_have_text("An example")
    example = page.locator("#guidelines-example")
    example.click()
    expect(page.locator("#guidelines-text textarea")).to_have_value(EXAMPLE)
    expect(page.locator("#guidelines-shown h3").first).to_have_text("As curators see it")
    expect(example).to_be_hidden()  # nothing that is written is overwritten
    page.locator("#guidelines-text textarea").fill("# Colours\n\n*Name* them <b>all</b>")
    page.locator("#guidelines-save").click()
    expect(page.locator("#guidelines-shown h3")).to_have_text(["As curators see it", "Colours"])
    expect(page.locator("#guidelines-message")).to_contain_text("Saved")
    go_to(page, "review")
    press(page, "j")
    box = page.locator("#traced-steps [data-guidelines]")
    expect(box).to_have_count(1)
    page.keyboard.press("i")
    expect(box.locator("h3")).to_be_visible()
    expect(box.locator("em")).to_have_text("Name")
    expect(box).to_contain_text("<b>all</b>")
    page.locator("[data-ready]").evaluate("board => { board.dataset.ready = 0; }")
    press(page, "j")
    expect(box.locator("h3")).to_be_visible()  # still open on the next pair
    page.keyboard.press("i")
    expect(box.locator("h3")).to_be_hidden()
    page.wait_for_function("Number(document.querySelector('[data-ready]')?.dataset.ready) >= 1")
    shown = page.locator("#traced-stage [data-pair]")
    before = pair_of(page)
    press_at_once(page, "i", "j")  # before the browser has reported that it is open
    expect(shown).not_to_have_attribute("data-pair", before)
    expect(box.locator("h3")).to_be_visible()


def test_a_dataset_is_renamed_and_deleted_on_the_page(page: Page, site: Site) -> None:
    demo.write(site.folder / "extra", 4, 1, 64, seed=5)
    before = page.locator("#traced-dataset").input_value()
    go_to(page, "datasets")
    page.locator("#import-path input, #import-path textarea").fill(str(site.folder / "extra"))
    page.locator("#import-start").click()
    expect(page.locator("#traced-dataset option:checked")).to_contain_text("extra")
    go_to(page, "settings")
    page.get_by_text("Delete this dataset").click()
    expect(page.locator("#delete-what-goes")).to_contain_text("No verdict has been given")
    page.locator("#rename-name input, #rename-name textarea").fill("gone soon")
    page.locator("#rename-start").click()
    expect(page.locator("#datasets-overview")).to_contain_text("gone soon")
    expect(page.locator("#delete-what-goes")).to_contain_text("gone soon")
    page.locator("#delete-name input, #delete-name textarea").fill("gone soon")
    page.locator("#delete-start").click()
    expect(page.locator("#dataset-settings-message")).to_contain_text("'gone soon' is deleted")
    expect(page.locator("#datasets-overview")).not_to_contain_text("gone soon")
    expect(page.locator("#traced-dataset")).to_have_value(before)
