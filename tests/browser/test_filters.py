"""The drawer of filters: what the queue contains, and groups by mouse and by keyboard."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.test_main_job import pair_of

pytestmark = pytest.mark.browser


@pytest.fixture
def page(kept_page: Page) -> Page:
    return kept_page


def test_groups_are_made_by_clicks_and_typed(page: Page) -> None:
    queue = page.locator("#traced-queue")
    size = queue.locator(".pager span")
    queue.locator("details.more summary").click()
    kinds = queue.locator(".drawer [data-name^='suspect_kind = ']")
    expect(kinds.nth(1)).to_be_visible()
    pair = pair_of(page)
    page.keyboard.press("u")
    expect(page.locator("#traced-toast .traced-note")).to_be_visible()
    assert pair_of(page) == pair, "the drawer covers it: no verdict"
    counts = [int(kinds.nth(i).locator("small").inner_text()) for i in (0, 1)]
    names = [kinds.nth(i).get_attribute("data-name") or "" for i in (0, 1)]
    queue.locator("[data-how][value=any]").check()
    for name in names:
        queue.locator(f".drawer [data-name='{name}']").click()
        expect(queue.locator(f".drawer [data-name='{name}'][data-used=any]")).to_be_visible()
    expect(size).to_have_text(f"{sum(counts)} pairs in this queue")
    groups = queue.locator("[data-filter=where]")
    expect(groups).to_have_value(f"({' or '.join(names)})")
    # By keyboard: bars and values are buttons.
    queue.locator("[data-how][value=none]").check()
    bar = queue.locator(".drawer .histogram").first.locator("button").first
    bar.focus()
    page.keyboard.press("Enter")
    expect(queue.locator(".chips.set li")).to_have_count(2)
    expect(page).to_have_url(re.compile(r"where=.*not\+p_error"))
    page.reload()
    expect(queue.locator(".chips.set li")).to_have_count(2)
    queue.get_by_role("button", name=re.compile("Remove the filter not p_error")).click()
    expect(queue.locator(".chips.set li")).to_have_count(1)
    expect(size).to_have_text(f"{sum(counts)} pairs in this queue")
    queue.locator("details.more summary").click()
    groups.fill(f"not {names[0]} and splt = x")
    page.keyboard.press("Enter")
    expect(page.locator("#traced-toast")).to_contain_text("“splt = x” (character")
    expect(groups).to_have_value(re.compile("splt = x"))
    groups.fill(f"{names[0]} and not {names[1]}")
    page.keyboard.press("Enter")
    expect(size).to_have_text(f"{counts[0]} pairs in this queue")


def test_a_form_about_the_pair_that_is_shown_goes_with_it(page: Page) -> None:
    page.evaluate(
        """document.querySelector("#traced-edit").innerHTML =
        '<form data-form="question"><input data-edit="of" type="hidden" value="1"></form>'"""
    )
    page.locator("#traced-queue .pairs button").nth(1).click()
    expect(page.locator("#traced-edit form")).to_have_count(0)


def test_tags_are_given_by_key_shown_filtered_and_undone(page: Page) -> None:
    queue, stage = page.locator("#traced-queue"), page.locator("#traced-stage")
    name, toast = page.locator("#traced-edit [data-edit=name]"), page.locator("#traced-toast")

    def tag(text: str) -> None:
        # At once: what is typed before the form is there gives no verdict.
        page.keyboard.type(f"t{text}")
        expect(name).to_be_focused()
        expect(name).to_have_value(text)
        page.keyboard.press("Enter")

    expect(stage.locator("[data-pair]")).to_be_visible()
    reviewed = queue.locator(".progress").first.inner_text()
    tag("<b>odd</b>")
    expect(stage.locator(".chip.tag")).to_have_text("<b>odd</b>")
    tag_form = page.locator("#traced-edit form")
    tag_form.locator("h3").click()
    page.keyboard.press("Escape")  # from outside of its fields
    expect(tag_form).to_have_count(0)
    page.keyboard.press("t")
    expect(name).to_be_focused()
    page.keyboard.press("Escape")
    assert queue.locator(".progress").first.inner_text() == reviewed
    page.keyboard.press("z")
    expect(toast).to_contain_text("Undone")
    expect(stage.locator(".chip.tag")).to_have_count(0)

    page.keyboard.press("g")
    for card in (0, 1):
        stage.locator(".pick input").nth(card).check()
    tag("twice")
    expect(stage.locator(".pick .chip.tag")).to_have_text(["twice", "twice"])
    tag_form.locator("[data-fill=twice]").click()
    expect(name).to_have_value("twice")
    tag_form.locator("summary").click()
    tag_form.locator("[data-edit=new]").fill("double")
    tag_form.locator("[data-bulk=rename]").click()
    expect(stage.locator(".pick .chip.tag")).to_have_text(["double", "double"])
    page.locator("#traced-edit [data-bulk=close]").click()
    queue.locator("details.more summary").click()
    queue.locator(".drawer [data-name='tag = double']").click()
    expect(stage.locator(".pick")).to_have_count(2)
    expect(queue.locator(".pager span")).to_have_text("2 pairs in this queue")
    page.keyboard.press("z")  # nothing has this tag any more
    expect(toast).to_contain_text("The filters were cleared")
    expect(stage.locator(".pick").nth(2)).to_be_visible()
    page.keyboard.press("z")
    expect(stage.locator(".chip.tag")).to_have_count(0)
