"""Unfinished input survives a redraw."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.test_main_job import pair_of, press

pytestmark = pytest.mark.browser
STAGE = "#traced-stage [data-pair]"


@pytest.fixture
def page(kept_page: Page) -> Page:
    return kept_page


def step(page: Page, number: int) -> None:
    """Change the step as a job's progress does: without the mouse, so that the focus stays."""
    page.evaluate(f"() => document.querySelectorAll('#traced-steps li button')[{number}].click()")


def redraw(page: Page, part: str, by: Callable[[], object]) -> None:
    """Call `by` and wait until the part of the page has been replaced."""
    page.evaluate(f"() => {{ document.querySelector('{part}').dataset.old = '1'; }}")
    by()
    expect(page.locator(f"{part}[data-old]")).to_have_count(0)
    expect(page.locator(part)).to_have_count(1)


def test_a_redraw_keeps_a_correction_being_typed(page: Page) -> None:
    pair = pair_of(page)
    page.keyboard.press("e")
    area = page.locator("#traced-stage details.correction textarea")
    expect(area).to_be_focused()
    # Nothing typed yet: the next letters must not act as shortcuts.
    redraw(page, STAGE, lambda: step(page, 1))
    expect(area).to_be_focused()
    area.fill("")
    page.keyboard.type("add a dub")
    page.keyboard.press("ArrowLeft")
    redraw(page, STAGE, lambda: step(page, 2))
    expect(area).to_be_focused()
    page.keyboard.type("u")
    expect(area).to_have_value("add a duub")
    assert pair_of(page) == pair

    # To another pair and back; then it is saved and no longer a draft.
    page.keyboard.press("Escape")
    press(page, "j")
    expect(area).to_be_hidden()
    page.keyboard.press("e")
    expect(area).to_be_focused()
    expect(area).not_to_have_value(re.compile("duub"))
    page.keyboard.press("Escape")
    press(page, "k")
    assert pair_of(page) == pair
    page.keyboard.press("e")
    expect(area).to_have_value("add a duub")
    press(page, "Control+Enter")
    expect(page.locator("#traced-toast")).to_contain_text("Corrected")
    page.keyboard.press("z")
    expect(page.locator("#traced-toast")).to_contain_text("Undone")
    assert pair_of(page) == pair
    page.keyboard.press("e")
    expect(area).not_to_have_value(re.compile("duub"))


def test_a_redraw_keeps_a_field_being_filled_in(page: Page) -> None:
    def field(name: str) -> str:
        return f"#traced-queue [data-filter={name}]"

    page.locator(field("p_error_from")).focus()
    page.keyboard.type("0.01")
    page.keyboard.press("Tab")  # sends the first; the queue is redrawn during typing
    page.keyboard.type("0.9")
    page.wait_for_url(re.compile(r"p_error_from=0\.01"))
    expect(page.locator(field("p_error_to"))).to_be_focused()
    expect(page.locator(field("p_error_to"))).to_have_value("0.9")
    page.keyboard.type("9")
    expect(page.locator(field("p_error_to"))).to_have_value("0.99")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(r"p_error_from=0\.01.*p_error_to=0\.99"))


def test_a_redraw_keeps_a_selection_in_the_grid(page: Page) -> None:
    def cards(which: str) -> set[str | None]:
        picked = page.locator(f"#traced-stage .pick{which}").all()
        return {card.get_attribute("data-pick") for card in picked}

    page.keyboard.press("g")
    page.locator("#traced-stage .pick").first.click()
    page.locator("#traced-stage .pick").nth(11).locator("input").click(modifiers=["Shift"])
    chosen = cards(":has(:checked)")
    assert len(chosen) == 12
    order = page.locator("#traced-queue [data-filter=order]")
    redraw(page, "#traced-stage .picks", lambda: order.select_option("position"))
    still = chosen & cards("")
    assert still
    expect(page.locator("[data-count]")).to_have_text(f"{len(still)} selected")
    assert cards(":has(:checked)") == still


def test_fields_show_what_the_queue_is(page: Page) -> None:
    """Even fields that a person has changed before, whose values the browser itself would keep."""
    show = page.locator("#traced-queue [data-filter=review]")
    for chosen in ("all", "decided", "all", "unreviewed"):
        show.select_option(chosen)
        page.wait_for_url(
            re.compile(f"review={chosen}")
            if chosen != "unreviewed"
            else re.compile(r"^(?!.*review=)")
        )
    page.keyboard.press("p")  # similar pictures, among all pairs
    expect(page.locator("#traced-queue .alike")).to_be_visible()
    expect(show).to_have_value("all")
    page.keyboard.press("p")
    expect(page.locator("#traced-queue .alike")).to_have_count(0)
    expect(show).to_have_value("unreviewed")


def test_a_verdict_that_comes_too_late_is_returned_with_its_text(page: Page) -> None:
    """No button still looks selected, and the typed text is not lost."""
    stage = page.locator(STAGE)
    pair, version = pair_of(page), int(stage.get_attribute("data-version") or 0)
    page.keyboard.press("e")
    area = page.locator("#traced-stage details.correction textarea")
    area.fill("what I wrote")
    colleague = page.context.new_page()
    colleague.goto(page.url)
    colleague.wait_for_selector(f'#traced-stage [data-pair="{pair}"]')
    press(colleague, "u")
    colleague.close()

    page.keyboard.press("Control+Enter")
    returned = page.locator("#traced-returned .returned")
    expect(returned).to_contain_text("decided in the meantime")
    expect(returned).to_contain_text("what I wrote")
    returned.get_by_role("button", name="Open this pair").click()
    expect(stage).to_have_attribute("data-version", str(version + 1))  # as it is now
    assert pair_of(page) == pair
    expect(area).to_have_value("what I wrote")
    page.keyboard.press("Escape")
    # A refusal without a redraw: for another pair than the server expects.
    page.evaluate(
        "() => { document.querySelector('#traced-stage [data-pair]').dataset.pair = '999'; }"
    )
    page.keyboard.press("d")
    expect(page.locator("#traced-toast")).to_contain_text("nothing was written")
    expect(page.locator("#traced-stage .saving")).to_have_count(0)
    page.keyboard.press("z")
    expect(page.locator("#traced-toast")).to_contain_text("Undone")


def test_zooming_into_a_picture_also_applies_to_the_next(page: Page) -> None:
    picture = page.locator("#traced-stage .picture")
    image = picture.locator("img")

    def width() -> float:
        box = image.bounding_box()
        assert box is not None
        return box["width"]

    whole = width()
    page.keyboard.press("x")
    expect(picture).to_have_class(re.compile("large"))
    assert width() == pytest.approx(2.5 * whole)
    redraw(page, STAGE, lambda: step(page, 1))
    assert width() == pytest.approx(2.5 * whole)
    press(page, "j")
    expect(picture).to_have_class(re.compile("large"))
    press(page, "k")
    page.keyboard.press("x")
    expect(picture).not_to_have_class(re.compile("large"))

    # By mouse: the wheel zooms at the pointer, a drag pans, and a double click resets.
    box = picture.bounding_box()
    assert box is not None
    middle = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(*middle)
    page.mouse.wheel(0, -400)
    page.wait_for_function(
        f"document.querySelector('#traced-stage .picture img').getBoundingClientRect().width"
        f" > {1.5 * whole}"
    )
    before = image.bounding_box()
    page.mouse.down()
    page.mouse.move(middle[0] + 40, middle[1] + 25, steps=4)
    page.mouse.up()
    after = image.bounding_box()
    assert before is not None
    assert after is not None
    assert after["x"] - before["x"] == pytest.approx(40, abs=1)
    assert after["y"] - before["y"] == pytest.approx(25, abs=1)
    page.mouse.dblclick(*middle)
    expect(picture).not_to_have_class(re.compile("large"))
    assert width() == pytest.approx(whole)


def test_more_filters_stay_open_if_a_redraw_coincides_with_the_click(page: Page) -> None:
    redraw = """() => {
      const queue = document.querySelector("#traced-queue [data-link]");
      queue.querySelector("details.more > summary").click();
      queue.outerHTML = queue.outerHTML.replace('class="more" open=""', 'class="more"')
        .replace('data-seen="1"', "");
    }"""
    more = page.locator("#traced-queue details.more")
    page.evaluate(redraw)
    expect(more).to_have_attribute("open", "")
    page.evaluate(redraw)  # closed, which also survives a redraw
    page.wait_for_timeout(300)
    expect(more).not_to_have_attribute("open", "")
